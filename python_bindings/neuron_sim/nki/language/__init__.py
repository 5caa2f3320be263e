"""nki.language (nl): tensors, loops, movement; operators are in operators.py."""

from ..dtype import *  # noqa: F403
from ..exports import operators_on_first_use as _operators_on_first_use
from ..exports import public_names as _public_names
from ..launch.tile_size import tile_size
from ..tracing.buffers import Buffer as MemoryRegion
from ..tracing.buffers import hbm, private_hbm, psum, sbuf, shared_hbm
from ..tracing.control_flow.loops import dynamic_range, fori_loop, static_range, while_loop
from ..tracing.control_flow.loops import static_range as affine_range
from ..tracing.control_flow.loops import static_range as sequential_range
from ..tracing.creation import ParDim as par_dim
from ..tracing.dtypes import bool_ as bool
from ..tracing.grid import num_programs, program_id, program_ndim
from ..tracing.indexing import DynamicSlice as ds
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

__all__ = _public_names(globals())

__getattr__ = _operators_on_first_use(__name__, "nki.language", __all__)
