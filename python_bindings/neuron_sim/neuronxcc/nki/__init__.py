"""neuronxcc.nki: the old NKI language (SDK up to 2.26).

Functions decorated with `jit` run on the simulated NeuronCore when they are called with NumPy
arrays or CPU tensors; inside another kernel their instructions become a part of it.
"""

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
