"""The parts of a tensor's access pattern that the base class does not handle."""

from neuron_sim import _core

NotOnePattern = _core.NotOnePattern
"""A tensor that no single access pattern describes, a ValueError: see splitting."""


def at_register(tensor, view):
    """The view with an address that is known when the kernel runs.

    It comes from a register, or from a tile of one element that is loaded into one right before.
    """
    source, scale = tensor.register
    number = getattr(source, "index", None)
    if hasattr(source, "storage"):
        trace = tensor.storage.trace
        number = trace.control.scratch_register()
        trace.builder.register_load(number, source.access)
    return view.at_register(number, scale)


def same_access(a, b) -> bool:
    """Whether two tensors of one storage are the same elements in the same order."""
    return (
        a.shape == b.shape
        and a.steps == b.steps
        and a.dtype is b.dtype
        and _same(a.start, b.start)
        and _same(a.partition, b.partition)
    )


def _same(a, b) -> bool:
    if type(a) is int or type(b) is int:
        return type(a) is type(b) and a == b
    return a.constant == b.constant and a.terms == b.terms
