"""nki.language (nl): tensors, loops, movement; operators are in operators.py."""

from ..launch.tile_size import tile_size
from ..tracing.buffers import Buffer as MemoryRegion
from ..tracing.buffers import hbm, private_hbm, psum, sbuf, shared_hbm
from ..tracing.creation import ParDim as par_dim
from ..tracing.dtypes import DType as DType
from ..tracing.dtypes import (
    bfloat16,
    bool_,
    float4_e2m1fn_x4,
    float8_e4m3,
    float8_e4m3fn,
    float8_e4m3fn_x4,
    float8_e5m2,
    float8_e5m2_x4,
    float8_e8m0fnu,
    float16,
    float32,
    int8,
    int16,
    int32,
    tfloat32,
    uint8,
    uint16,
    uint32,
)
from ..tracing.grid import num_programs, program_id, program_ndim
from ..tracing.indexing import DynamicSlice as ds
from ..tracing.loops import dynamic_range, fori_loop, static_range, while_loop
from ..tracing.loops import static_range as affine_range
from ..tracing.loops import static_range as sequential_range
from ..tracing.tensor import Tensor as NkiTensor
from .creation import (
    empty_like,
    full,
    full_like,
    ndarray,
    ones,
    ones_like,
    shared_constant,
    shared_identity_matrix,
    zeros,
    zeros_like,
)
from .movement import copy, device_print, load, load_transpose2d, store
from .objects import NKIObject
from .order import no_reorder

bool = bool_

__all__ = [
    "DType",
    "MemoryRegion",
    "NKIObject",
    "NkiTensor",
    "affine_range",
    "bfloat16",
    "bool",
    "bool_",
    "copy",
    "device_print",
    "ds",
    "dynamic_range",
    "empty_like",
    "float16",
    "float32",
    "float4_e2m1fn_x4",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e4m3fn_x4",
    "float8_e5m2",
    "float8_e5m2_x4",
    "float8_e8m0fnu",
    "fori_loop",
    "full",
    "full_like",
    "hbm",
    "int16",
    "int32",
    "int8",
    "load",
    "load_transpose2d",
    "ndarray",
    "no_reorder",
    "num_programs",
    "ones",
    "ones_like",
    "par_dim",
    "private_hbm",
    "program_id",
    "program_ndim",
    "psum",
    "sbuf",
    "sequential_range",
    "shared_constant",
    "shared_hbm",
    "shared_identity_matrix",
    "static_range",
    "store",
    "tfloat32",
    "tile_size",
    "uint16",
    "uint32",
    "uint8",
    "while_loop",
    "zeros",
    "zeros_like",
]


def __getattr__(name: str):
    """Operators are imported on first use; an unknown name is an error that names it."""
    if not name.startswith("_"):
        from importlib import import_module  # not a name of the language

        operators = import_module(f"{__name__}.operators")
        if hasattr(operators, name):
            value = getattr(operators, name)
            globals()[name] = value
            return value
        names = [*__all__, *operators.__all__]
    else:
        names = __all__
    from ..isa.missing import missing_symbol  # only for the error

    raise missing_symbol("nki.language", name, frozenset(), names)
