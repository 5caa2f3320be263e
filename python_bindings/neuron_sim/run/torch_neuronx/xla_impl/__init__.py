"""torch_neuronx.xla_impl: `ops.nki_jit` of kernels, `custom_op`, and `data_parallel`."""

from importlib import import_module as _import_module
from typing import Any


def __getattr__(name: str) -> Any:
    if name in ("custom_op", "data_parallel"):  # these need torch
        return _import_module(f"{__name__}.{name}")
    raise AttributeError(f"torch_neuronx.xla_impl.{name} is not there: nothing documents it.")
