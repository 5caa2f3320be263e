"""neuronxcc.nki.language (nl): tensors, indices, loops, movement; operators are in operators.py."""

from neuron_sim.nki.launch.tile_size import tile_size
from neuron_sim.nki.tracing.buffers import hbm, private_hbm, psum, sbuf, shared_hbm
from neuron_sim.nki.tracing.creation import ParDim as par_dim
from neuron_sim.nki.tracing.dtypes import (
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
from neuron_sim.nki.tracing.grid import nc, num_programs, program_id, program_ndim, spmd_dim
from neuron_sim.nki.tracing.loops import affine_range, sequential_range, static_range
from neuron_sim.nki.tracing.movement import load_transpose2d
from neuron_sim.nki.tracing.tensor import Tensor as tensor

from . import constants
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
from .indices import arange, ds, mgrid
from .movement import copy, load, store
from .numbers import finfo, fp32, static_cast
from .printing import device_print

__all__ = [
    "affine_range",
    "arange",
    "bfloat16",
    "bool_",
    "constants",
    "copy",
    "device_print",
    "ds",
    "empty_like",
    "finfo",
    "float16",
    "float32",
    "float4_e2m1fn_x4",
    "float8_e4m3",
    "float8_e4m3fn",
    "float8_e4m3fn_x4",
    "float8_e5m2",
    "float8_e5m2_x4",
    "float8_e8m0fnu",
    "fp32",
    "full",
    "full_like",
    "hbm",
    "int16",
    "int32",
    "int8",
    "load",
    "load_transpose2d",
    "mgrid",
    "nc",
    "ndarray",
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
    "spmd_dim",
    "static_cast",
    "static_range",
    "store",
    "tensor",
    "tfloat32",
    "tile_size",
    "uint16",
    "uint32",
    "uint8",
    "zeros",
    "zeros_like",
]


_NOT_HERE = frozenset(
    {"bfp16", "gemm_grid", "gemm_stationary_grid"}
)  # in the vendor's module but not here


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
    from neuron_sim.nki.isa.missing import missing_symbol  # only for the error

    raise missing_symbol("neuronxcc.nki.language", name, _NOT_HERE, names)
