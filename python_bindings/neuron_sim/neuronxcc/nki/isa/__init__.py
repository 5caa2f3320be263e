"""neuronxcc.nki.isa: the instructions of the older language, which return their results.

Each is the instruction of neuron_sim.nki.isa of the same name: `mask` narrows it, `dtype` is the
result's, and the result is written straight into its assignment target.
"""

from neuron_sim.nki import isa as _later
from neuron_sim.nki.exports import public_names as _public_names
from neuron_sim.nki.isa.selections import FP32_MIN as _FP32_MIN
from neuron_sim.nki.isa.versions import nc_generation as _nc_generation
from neuron_sim.nki.missing import missing_symbol as _missing_symbol

from . import constants
from .activations import activation, activation_reduce
from .constants import (
    dge_mode,
    dma_engine,
    engine,
    gpsimd_engine,
    nc_version,
    oob_mode,
    reduce_cmd,
    scalar_engine,
    tensor_engine,
    unknown_engine,
    vector_engine,
)
from .dma import dma_copy
from .dynamic import tensor_copy_dynamic_dst, tensor_copy_dynamic_src
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
    max8,
    nc_find_index8,
    nc_match_replace8,
    nc_stream_shuffle,
    sequence_bounds,
)
from .matrix import dma_transpose, nc_matmul, nc_transpose
from .reductions import (
    bn_aggr,
    bn_stats,
    tensor_partition_reduce,
    tensor_reduce,
    tensor_scalar_reduce,
    tensor_tensor_scan,
)
from .selections import affine_select, iota, range_select, select_reduce


class fp32:
    """Constants of fp32; min: the most negative finite value, bits 0xff7fffff."""

    min = _FP32_MIN


def get_nc_version():
    """The generation of the NeuronCore that the kernel is compiled for, a member of nc_version."""
    return nc_version(_nc_generation())


#: In the vendor's package or public kernels, but not here.
_NOT_HERE = frozenset(
    {
        "_tiled_offloaded_fma",
        "_tiled_offloaded_memcpy",
        "builtin_custom_op",
        "neuron_isa",
        "sparse_dot_product",
    }
)

__all__ = [*_public_names(globals()), "constants"]


def __getattr__(name):
    """Instructions that only the later language has are used unchanged: dst first, no result."""
    if name in _later.__all__:
        return getattr(_later, name)
    raise _missing_symbol("neuronxcc.nki.isa", name, _NOT_HERE, __all__)
