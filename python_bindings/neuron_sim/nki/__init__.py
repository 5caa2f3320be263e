"""neuron_sim.nki: the new NKI language (`import neuron_sim.nki as nki`).

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a)
        ...
        return out

A kernel called with NumPy arrays or CPU tensors runs on the simulated core and returns the same
kind; `kernel.traced(...)` gives its program, and its time, without running it. The old language is
neuron_sim.neuronxcc.nki. Importing this imports no torch.
"""

from importlib import import_module as _import_module

from . import dtype, language, typing
from . import lowering as _lowering
from .kernel import Kernel, jit, simulate
from .measured import baremetal, benchmark, profile
from .missing import missing_symbol as _missing_symbol

__all__ = [
    "Kernel",
    "baremetal",
    "benchmark",
    "dtype",
    "jit",
    "language",
    "profile",
    "simulate",
    "typing",
]


#: Packages of the vendor's wheel around its compiler.
_NOT_HERE = frozenset({"framework", "runtime", "utils"})


def __getattr__(name: str):
    """Subpackages are imported on first use."""
    if name in ("isa", "collectives", "compiler", "measurement", "simulator"):
        return _import_module(f"{__name__}.{name}")
    if not name.startswith("_") and hasattr(language, name):
        raise AttributeError(f"module 'nki' has no attribute '{name}'; it is nki.language.{name}.")
    raise _missing_symbol("nki", name, _NOT_HERE, __all__)
