"""nki.isa: one function per instruction, which writes its destination (first parameter).

`import neuron_sim.nki.isa as nisa`. Functions emit into the kernel that is being traced; the
builder checks memories, shapes, dtypes, engines and limits of the architecture and raises
ValueError, TypeError or IndexError with one sentence that names them.
"""

from ..exports import public_names as _public_names
from ..missing import missing_symbol as _missing_symbol
from . import constants
from .activations import activate2, activation, activation_reduce, exponential
from .constants import (
    dge_mode,
    dma_engine,
    engine,
    gpsimd_engine,
    matmul_perf_mode,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from .cores import core_barrier, sendrecv
from .declared import functions_besides as _functions_besides
from .dma import dma_compute, dma_copy, dma_transpose
from .elementwise import (
    dropout,
    memset,
    reciprocal,
    scalar_tensor_tensor,
    tensor_copy,
    tensor_copy_predicated,
    tensor_scalar,
    tensor_tensor,
)
from .gathers import (
    local_gather,
    nc_match_replace8,
    nc_stream_shuffle,
)
from .instruction import NkiInstruction, NkiValidationError
from .matrix import nc_matmul, nc_matmul_mx, nc_transpose
from .random_numbers import rand2, rand_get_state, rand_set_state, rng, set_rng_seed
from .reductions import (
    tensor_partition_reduce,
    tensor_reduce,
    tensor_scalar_cumulative,
    tensor_scalar_reduce,
    tensor_tensor_scan,
)
from .registers import (
    VirtualRegister,
    register_alloc,
    register_load,
    register_move,
    register_store,
)
from .selections import affine_select, iota, range_select, select_reduce
from .versions import get_nc_sub_version, get_nc_version

#: In the vendor's package or public kernels, but not here.
_NOT_HERE = frozenset({"builtin_custom_op", "tensor_copy_dynamic_dst", "tensor_copy_dynamic_src"})

globals().update(_functions_besides({*globals(), *_NOT_HERE}))

__all__ = [*_public_names(globals()), "constants"]


def __getattr__(name):
    raise _missing_symbol("nki.isa", name, _NOT_HERE, __all__)
