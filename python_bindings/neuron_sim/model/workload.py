"""A model and its inputs, from a name, a configuration file or a function."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from neuron_sim.model.configurations import (
    base_name,
    configuration_of,
    configurations,
    is_file,
    read_configuration,
)
from neuron_sim.model.networks import IMAGE_SIZE, NETWORKS
from neuron_sim.terminal.exit_codes import ProgramError, failures_of

if TYPE_CHECKING:
    from neuron_sim.model.causal_model import CausalLanguageModel


@dataclass(frozen=True)
class Request:
    """What to time: a model, and the sizes of its inputs."""

    model: str
    """A name of `names()`, with or without its organisation ("google/vit-base-patch16-224"); a
    JSON file with a configuration of `transformers`; or `module:function` for a function that
    returns a torch.nn.Module, or a module and the tuple of its inputs."""
    batch: int = 1
    sequence: int = 128
    """Tokens per sequence of a model of text."""
    image: int | None = None
    """Height and width of images; None: as configured."""


@dataclass(frozen=True)
class Workload:
    """A module in eval mode, float32, on the CPU, and its inputs."""

    module: nn.Module
    inputs: tuple[Tensor, ...]


def names() -> list[str]:
    """The models that need no file, sorted."""
    return sorted([*configurations(), *NETWORKS])


def language_model(model: str) -> CausalLanguageModel:
    """What generates, of a name of `names()` or of a configuration file of `transformers`;
    ValueError as CausalLanguageModel, and for other models."""
    fields = configuration_of(model)
    if fields is None:
        known = ", ".join(sorted(n for n, c in configurations().items() if _generates(c)))
        raise ValueError(
            f"'{model}' is not a known decoder; name a configuration file, or one of {known}."
        )
    config = _config(fields, model)
    from neuron_sim.model.causal_model import CausalLanguageModel  # needs transformers

    with _refusals_of(model):
        return CausalLanguageModel(config, model)


def _generates(configuration: dict[str, Any]) -> bool:
    """Whether one of configurations() is of a causal language model, as those of programs are."""
    (architecture,) = configuration.get("architectures", ["CausalLM"])
    return architecture.endswith(("CausalLM", "LMHeadModel"))


def load(request: Request) -> Workload:
    """Builds the model with random weights.

    ValueError for a model that is not known, a file without a configuration, a function that
    returns something else, or a size that is not positive; ProgramError for a function that
    raises; ImportError without `transformers` where it is needed.
    """
    for name in ("batch", "sequence"):
        _check_positive(name, getattr(request, name))
    if request.image is not None:
        _check_positive("image", request.image)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        workload = _build(request)
    return Workload(workload.module.eval(), workload.inputs)


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise ValueError(f"--{name} is {value}; it must be at least 1.")


def _build(request: Request) -> Workload:
    if is_file(request.model):
        return _from_configuration(read_configuration(Path(request.model)), request)
    if ":" in request.model:
        return _from_function(request)
    name = base_name(request.model)
    if name in NETWORKS:
        size = request.image or IMAGE_SIZE
        return Workload(NETWORKS[name](), _images(request.batch, 3, size))
    configuration = configuration_of(name)
    if configuration is None:
        raise ValueError(
            f"'{request.model}' is not a known model; name a configuration file, "
            f"module:function, or one of {', '.join(names())}."
        )
    return _from_configuration(configuration, request)


def _from_function(request: Request) -> Workload:
    module_name, _, function_name = request.model.partition(":")
    function: Callable[[], Any] | None = getattr(
        _imported(module_name, request.model), function_name, None
    )
    if not callable(function):
        raise ValueError(f"module '{module_name}' has no function '{function_name}'.")
    with failures_of(request.model):
        result = function()
    module, inputs = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    if not isinstance(module, nn.Module):
        raise ValueError(
            f"{request.model} returned an object of type {type(module).__name__}; it must return "
            "a torch.nn.Module, or one and the tuple of its inputs."
        )
    if inputs is not None:
        if not isinstance(inputs, (tuple, list)) or not all(isinstance(i, Tensor) for i in inputs):
            raise ValueError(
                f"{request.model} returned inputs of type {type(inputs).__name__}; they must be a "
                "tuple of tensors."
            )
        return Workload(module, tuple(inputs))
    return Workload(module, _images(request.batch, 3, request.image or IMAGE_SIZE))


def _imported(module_name: str, model: str) -> ModuleType:
    sys.path.insert(0, "")  # as `python -m`: modules of the working directory
    try:
        with failures_of(model):
            return importlib.import_module(module_name)
    except ProgramError as error:
        cause = error.__cause__
        if isinstance(cause, ModuleNotFoundError) and cause.name == module_name:
            raise ValueError(f"there is no module '{module_name}'.") from None
        raise
    finally:
        sys.path.remove("")


def _config(configuration: dict[str, Any], model: str) -> Any:
    """The configuration object of transformers."""
    try:
        import transformers  # optional: needed for its models only
    except ImportError:
        raise ModuleNotFoundError(
            f"'{model}' is built by the package 'transformers', which is not installed.",
            name="transformers",
        ) from None
    fields = dict(configuration)
    model_type = fields.pop("model_type")
    if not isinstance(model_type, str) or model_type not in transformers.CONFIG_MAPPING:
        raise ValueError(
            f"'{model}' has the model_type '{model_type}', which transformers "
            f"{transformers.__version__} does not know."
        )
    with _refusals_of(model):
        return transformers.AutoConfig.for_model(model_type, **fields)


@contextlib.contextmanager
def _refusals_of(model: str) -> Iterator[None]:
    """Whatever a configuration makes transformers raise is a ValueError."""
    import transformers  # optional

    try:
        yield
    except Exception as error:  # classes of its own, KeyError, ZeroDivisionError, ...
        sentence = " ".join(str(error).split())[:300]
        raise ValueError(
            f"'{model}' is refused by transformers {transformers.__version__}: "
            f"{type(error).__name__}: {sentence}"
        ) from error


def _from_configuration(configuration: dict[str, Any], request: Request) -> Workload:
    config = _config(configuration, request.model)
    import transformers  # optional

    if request.image is not None and hasattr(config, "image_size"):
        config.image_size = request.image
    architecture = (config.architectures or ["AutoModel"])[0]
    made: Any = getattr(transformers, architecture, None)
    if architecture != "AutoModel" and not (isinstance(made, type) and issubclass(made, nn.Module)):
        raise ValueError(
            f"'{request.model}' has the architecture '{architecture}', which transformers "
            f"{transformers.__version__} does not have."
        )
    with _refusals_of(request.model):
        if architecture == "AutoModel":
            module = transformers.AutoModel.from_config(config)
        else:
            module = made(config)
    return Workload(module, _inputs(module, config, request))


def _inputs(module: Any, config: Any, request: Request) -> tuple[Tensor, ...]:
    if module.main_input_name == "pixel_values":
        size = request.image or getattr(config, "image_size", None) or IMAGE_SIZE
        return _images(request.batch, config.num_channels, size)
    if module.main_input_name != "input_ids":
        raise ValueError(
            f"'{request.model}' takes '{module.main_input_name}', for which no inputs can be "
            "made up; use module:function and return a module and its inputs."
        )
    longest = getattr(config, "max_position_embeddings", None)
    if longest is not None and request.sequence > longest:
        raise ValueError(
            f"--sequence is {request.sequence}; '{request.model}' has at most {longest} positions."
        )
    # Without a mask: models attend to all tokens.
    return (torch.randint(1, config.vocab_size, (request.batch, request.sequence)),)


def _images(batch: int, channels: int, size: int) -> tuple[Tensor]:
    return (torch.randn(batch, channels, size, size),)
