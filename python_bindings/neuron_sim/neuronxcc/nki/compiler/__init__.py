"""neuronxcc.nki.compiler: direct allocation, and decorators that steer the compiler."""

from neuron_sim.nki.compiler.allocation import psum, sbuf
from neuron_sim.nki.compiler.decorators import (
    allocation_scope,
    enable_stack_allocator,
    force_auto_alloc,
    multi_buffer,
    no_reorder,
    skip_middle_end_transformations,
)
from neuron_sim.nki.exports import public_names as _public_names
from neuron_sim.nki.missing import missing_symbol as _missing_symbol

__all__ = _public_names(globals())


def __getattr__(name: str):
    raise _missing_symbol("neuronxcc.nki.compiler", name, frozenset({"backends"}), __all__)
