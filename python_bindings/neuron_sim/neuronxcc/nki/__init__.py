"""neuronxcc.nki: the old NKI language (SDK up to 2.26).

Functions decorated with `jit` run on the simulated NeuronCore when they are called with NumPy
arrays or CPU tensors; inside another kernel their instructions become part of it.
"""

from importlib import import_module as _import_module

from neuron_sim.nki.missing import missing_symbol as _missing_symbol
from neuron_sim.nki.tracing.dtypes import DType as dtype

from . import compiler, language, typing
from .kernel import Kernel, jit, simulate_kernel, trace
from .measured import baremetal, benchmark, profile
from .typing import tensor

__all__ = [
    "Kernel",
    "baremetal",
    "benchmark",
    "compiler",
    "dtype",
    "jit",
    "language",
    "profile",
    "simulate_kernel",
    "tensor",
    "trace",
    "typing",
]

#: In the vendor's package or public kernels, but not here; some are of nki.language.
_NOT_HERE = frozenset({"_pre_prod_kernels", "_private", "_private_kernels", "compile"})


def __getattr__(name: str):
    """Subpackages that few kernels use are imported on first use."""
    if name in ("isa", "kernels", "nccl"):
        return _import_module(f"{__name__}.{name}")
    if not name.startswith("_") and hasattr(language, name):
        raise AttributeError(
            f"module 'neuronxcc.nki' has no attribute '{name}'; "
            f"it is neuronxcc.nki.language.{name}."
        )
    raise _missing_symbol("neuronxcc.nki", name, _NOT_HERE, __all__)
