"""neuronxcc.nki.language (nl): tensors, indices, loops, movement; operators are in operators.py."""

from neuron_sim.nki.dtype import *  # noqa: F403
from neuron_sim.nki.exports import operators_on_first_use as _operators_on_first_use
from neuron_sim.nki.exports import public_names as _public_names
from neuron_sim.nki.launch.tile_size import tile_size
from neuron_sim.nki.tracing.buffers import hbm, private_hbm, psum, sbuf, shared_hbm
from neuron_sim.nki.tracing.control_flow.loops import affine_range, sequential_range, static_range
from neuron_sim.nki.tracing.creation import ParDim as par_dim
from neuron_sim.nki.tracing.grid import nc, num_programs, program_id, program_ndim, spmd_dim
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
from .movement import copy, load, load_transpose2d, store
from .numbers import finfo, fp32, static_cast
from .printing import device_print

del globals()["DType"]  # a name of nki.dtype only
__all__ = [*_public_names(globals()), "constants"]


_NOT_HERE = frozenset(
    {"bfp16", "gemm_grid", "gemm_stationary_grid"}
)  # in the vendor's module but not here

__getattr__ = _operators_on_first_use(__name__, "neuronxcc.nki.language", __all__, _NOT_HERE)
