"""Blocks whose instructions keep their order."""

from contextlib import contextmanager

from ..tracing import current


@contextmanager
def no_reorder():
    """Instructions of the block start one after the other, each when the previous one is complete.

    An engine keeps its own order without waiting. The block includes functions called from it and
    unrolled loops; loops on chip are an error in it, but it may be inside one.
    """
    trace = current()
    builder = trace.builder
    first = builder.instruction_count
    trace.control.ordered += 1
    yield
    trace.control.ordered -= 1
    builder = trace.builder
    for number in range(first + 1, builder.instruction_count):
        builder.add_edge(number, number - 1)
