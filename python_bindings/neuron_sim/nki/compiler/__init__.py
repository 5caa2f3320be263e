"""nki.compiler: compiler names that kernels of the new language still use.

The first releases of the new language took the decorators and allocators over from the old one; the
driver of the vendor's compiler is not here.
"""

from ..exports import public_names as _public_names
from ..missing import missing_symbol as _missing_symbol
from . import frontend, target
from .allocation import psum, sbuf
from .decorators import (
    allocation_scope,
    enable_stack_allocator,
    force_auto_alloc,
    multi_buffer,
    no_reorder,
    skip_middle_end_transformations,
)

__all__ = [*_public_names(globals()), "frontend", "target"]

#: Parts of the vendor's compiler itself: they make files for the chip.
_NOT_HERE = frozenset({"KernelSpec", "driver", "kernel_builder", "ncc_driver", "parallel_compile"})


def __getattr__(name: str):
    raise _missing_symbol("nki.compiler", name, _NOT_HERE, __all__)
