"""Which operators of PyTorch ran on the device, and which on the CPU, since the import of
torch_neuronx or clear_op_tracking().

Names are without overload, "aten::add", once each. A program of torch.compile is one operator,
"neuron_sim::graph".
"""

from __future__ import annotations

from neuron_sim import _C
from neuron_sim.torch_backend.fallback import fallbacks, reset_fallback_counts

_tally = _C.start_tally(False)


def get_executed_ops() -> list[str]:
    """The operators that launched a kernel on the device, in alphabetical order."""
    names = _C.read_tally(_tally)["operators"]
    return sorted({_without_overload(name) for name in names if "::" in name})


def get_fallback_ops() -> list[str]:
    """The operators that ran on the CPU, in alphabetical order."""
    return sorted({_without_overload(fallback.op) for fallback in fallbacks()})


def clear_op_tracking() -> None:
    """Forgets both, and torch.neuron.fallbacks()."""
    global _tally
    _C.finish_tally(_tally)
    _tally = _C.start_tally(False)
    reset_fallback_counts()


def _without_overload(name: str) -> str:
    return name.partition(".")[0]
