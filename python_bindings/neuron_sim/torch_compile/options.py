"""The options of the backend: this project's, and those that the vendor documents (torch/compile/
reference-torch-compile, torch/reference/env-vars)."""

from __future__ import annotations

import os
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch

from neuron_sim.settings import device_name, semantics

_CAST_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
_KNOWN = {"auto_cast": ("none", "matmult"), "auto_cast_type": tuple(_CAST_TYPES)}
_FLAGS = {"--auto-cast": "auto_cast", "--auto-cast-type": "auto_cast_type"}


@dataclass(frozen=True)
class Options:
    """The options of the backend."""

    fuse: bool = True
    """Whether pointwise kernels are fused, with each other and with linear layers."""
    passes: dict[str, int] = field(default_factory=dict)
    """Settings of the compiler's passes that differ from the default, e.g. {"schedule": 0}."""
    left_out: Sequence[str] | None = None
    """Passes that order a graph's kernels, to leave out: CompiledGraph.left_out of a graph that is
    alike. None: each is weighed, by one more compilation."""
    auto_cast: str = "none"
    """"matmult": products of float32 operands multiply in `auto_cast_type`; as the vendor's
    compiler option of that name. Sums and results stay float32."""
    auto_cast_type: str = "bf16"
    """"bf16" or "fp16"."""
    exact_transposes: bool = False
    """Whether operands of products are transposed bit by bit on trn1 too, whose Tensor engine
    multiplies them by an identity, so that a NaN or infinity spreads over its tile."""
    model_name: str | None = None
    """The name of its graphs; set_model_name()'s without it."""
    fallback_execution: bool | None = None
    """Whether a graph that cannot be compiled runs operator by operator (else it is a
    RuntimeError). None: unless TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION is 1."""
    compiler_args: str | Sequence[str] = ()
    """Flags of the vendor's compiler. --auto-cast and --auto-cast-type have the options' meaning; a
    warning says which others are without effect."""
    retain_device: bool | None = None
    """Whether results are on the host where the inputs were. None: if
    TORCH_NEURONX_RETAIN_DEVICE_MODE is 1."""

    @classmethod
    def of(cls, given: dict[str, Any]) -> Options:
        """ValueError for an option that does not exist."""
        where = f"torch.compile(backend='{device_name()}')"
        names = [each.name for each in fields(cls)]
        unknown = [repr(name) for name in given if name not in names]
        if unknown:
            raise ValueError(
                f"{where} has no option {', '.join(unknown)}; there are "
                + " and ".join(map(repr, names))
            )
        options = cls(**{**_of_flags(given.get("compiler_args", ())), **given})
        for name, known in _KNOWN.items():
            value = getattr(options, name)
            if value not in known:
                raise ValueError(
                    f"{where} has no {name} {value!r}; there are " + " and ".join(map(repr, known))
                )
        return replace(
            options,
            fuse=bool(options.fuse),
            passes={name: int(value) for name, value in options.passes.items()},
            exact_transposes=bool(options.exact_transposes),
        )

    @property
    def product_dtype(self) -> torch.dtype | None:
        """The dtype in which float32 operands multiply; None for their own."""
        return _CAST_TYPES[self.auto_cast_type] if self.auto_cast == "matmult" else None

    @property
    def falls_back(self) -> bool:
        """Whether graphs that cannot be compiled run operator by operator."""
        if self.fallback_execution is not None:
            return bool(self.fallback_execution)
        return os.environ.get("TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION") != "1"

    @property
    def retains_device(self) -> bool:
        """Whether results of inputs on the host go there."""
        if self.retain_device is not None:
            return bool(self.retain_device)
        return os.environ.get("TORCH_NEURONX_RETAIN_DEVICE_MODE") == "1"


def _of_flags(arguments: str | Sequence[str]) -> dict[str, str]:
    """The options that flags of the vendor's compiler set; those of NEURON_CC_FLAGS come first
    where the device follows the vendor. A warning names the others."""
    flags = shlex.split(arguments) if isinstance(arguments, str) else list(arguments)
    if semantics() == "vendor":
        flags = shlex.split(os.environ.get("NEURON_CC_FLAGS", "")) + flags
    options: dict[str, str] = {}
    ignored: list[str] = []
    rest = iter(flags)
    for flag in rest:
        name, has_value, value = flag.partition("=")
        if name not in _FLAGS:
            ignored.append(flag)
            continue
        value = value if has_value else next(rest, "")
        if value in _KNOWN[_FLAGS[name]]:
            options[_FLAGS[name]] = value
        else:
            ignored.append(f"{name}={value}")
    if ignored:
        warnings.warn(
            f"flags of the vendor's compiler that this device does not have: {' '.join(ignored)}",
            stacklevel=2,
        )
    return options
