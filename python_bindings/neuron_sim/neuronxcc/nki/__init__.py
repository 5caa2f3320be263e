"""neuronxcc.nki: the old NKI language (SDK up to 2.26).

Functions decorated with `jit` run on the simulated NeuronCore when they are called with NumPy
arrays or CPU tensors; inside another kernel their instructions become a part of it.
"""

from importlib import import_module as _import_module

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


def __getattr__(name: str):
    """Subpackages that few kernels use are imported on first use."""
    if name == "nccl":
        return _import_module(f"{__name__}.nccl")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
