"""A model and its inputs, from a name, a configuration file or a function."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from neuron_sim.model.decoder_shape import DecoderShape
from neuron_sim.model.networks import IMAGE_SIZE, NETWORKS

_CONFIGURATIONS = Path(__file__).with_name("configurations.json")


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
    return sorted([*_configurations(), *NETWORKS])


def decoder_shape(model: str) -> DecoderShape:
    """Of a name of `names()` or of a configuration file of `transformers`; ValueError as
    DecoderShape.of(), and for other models."""
    if model.endswith(".json"):
        fields = _read_configuration(Path(model))
    else:
        configurations = _configurations()
        name = model.rsplit("/", 1)[-1].lower()
        if name not in configurations:
            raise ValueError(
                f"'{model}' is not a known decoder; name a configuration file, or one of "
                f"{', '.join(sorted(configurations))}."
            )
        fields = configurations[name]
    return DecoderShape.of(_config(fields, model), model)


def load(request: Request) -> Workload:
    """Builds the model with random weights.

    ValueError for a model that is not known, a file without a configuration, a function that
    returns something else, or a size that is not positive; ImportError without `transformers`
    where it is needed.
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


def _configurations() -> dict[str, dict[str, Any]]:
    return json.loads(_CONFIGURATIONS.read_text())


def _build(request: Request) -> Workload:
    if request.model.endswith(".json"):
        return _from_configuration(_read_configuration(Path(request.model)), request)
    if ":" in request.model:
        return _from_function(request)
    name = request.model.rsplit("/", 1)[-1].lower()
    if name in NETWORKS:
        size = request.image or IMAGE_SIZE
        return Workload(NETWORKS[name](), _images(request.batch, 3, size))
    configurations = _configurations()
    if name not in configurations:
        raise ValueError(
            f"'{request.model}' is not a known model; name a configuration file, "
            f"module:function, or one of {', '.join(names())}."
        )
    return _from_configuration(configurations[name], request)


def _read_configuration(file: Path) -> dict[str, Any]:
    try:
        configuration = json.loads(file.read_text())
    except ValueError as error:
        raise ValueError(f"{file} is not JSON: {error}.") from None
    if not isinstance(configuration, dict) or "model_type" not in configuration:
        raise ValueError(f"{file} is not a configuration of transformers: it has no 'model_type'.")
    return configuration


def _from_function(request: Request) -> Workload:
    module_name, _, function_name = request.model.partition(":")
    sys.path.insert(0, "")  # as `python -m`: modules of the working directory
    try:
        function: Callable[[], Any] | None = getattr(
            importlib.import_module(module_name), function_name, None
        )
    finally:
        sys.path.remove("")
    if not callable(function):
        raise ValueError(f"module '{module_name}' has no function '{function_name}'.")
    result = function()
    module, inputs = result if isinstance(result, tuple) and len(result) == 2 else (result, None)
    if not isinstance(module, nn.Module):
        raise ValueError(
            f"{request.model} returned an object of type {type(module).__name__}; it must return "
            "a torch.nn.Module, or one and the tuple of its inputs."
        )
    if inputs is not None:
        return Workload(module, tuple(inputs))
    return Workload(module, _images(request.batch, 3, request.image or IMAGE_SIZE))


def _config(configuration: dict[str, Any], model: str) -> Any:
    """The configuration object of transformers."""
    try:
        import transformers  # optional: needed for its models only
    except ImportError:
        raise ImportError(
            f"'{model}' is built by the package 'transformers', which is not installed."
        ) from None
    fields = dict(configuration)
    model_type = fields.pop("model_type")
    if model_type not in transformers.CONFIG_MAPPING:
        raise ValueError(
            f"'{model}' has the model_type '{model_type}', which transformers "
            f"{transformers.__version__} does not know."
        )
    return transformers.AutoConfig.for_model(model_type, **fields)


def _from_configuration(configuration: dict[str, Any], request: Request) -> Workload:
    config = _config(configuration, request.model)
    import transformers  # optional

    if request.image is not None and hasattr(config, "image_size"):
        config.image_size = request.image
    architecture = (config.architectures or ["AutoModel"])[0]
    if architecture == "AutoModel":
        module = transformers.AutoModel.from_config(config)
    elif hasattr(transformers, architecture):
        module = getattr(transformers, architecture)(config)
    else:
        raise ValueError(
            f"'{request.model}' has the architecture '{architecture}', which transformers "
            f"{transformers.__version__} does not have."
        )
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
