# Written by tools/write_stubs.py.
# ruff: noqa: I001
from collections.abc import Callable
from typing import Any

from neuron_sim.nki.language import NkiTensor as Tensor
from neuron_sim.neuronxcc.nki.isa.constants import dge_mode as dge_mode
from neuron_sim.nki.isa.constants import dma_engine as dma_engine
from neuron_sim.neuronxcc.nki.isa.constants import engine as engine
from neuron_sim.neuronxcc.nki.isa.constants import nc_version as nc_version
from neuron_sim.neuronxcc.nki.isa.constants import oob_mode as oob_mode
from neuron_sim.neuronxcc.nki.isa.constants import reduce_cmd as reduce_cmd
from . import constants as constants

def activation(
    op: Callable[..., Any] | None,
    data: Tensor,
    *,
    bias: Tensor | float | None = ...,
    scale: Tensor | float | None = ...,
    reduce_op: Callable[..., Any] | None = ...,
    reduce_res: Tensor | None = ...,
    reduce_cmd: reduce_cmd = ...,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...
def activation_reduce(
    op: Callable[..., Any] | None,
    data: Tensor,
    *,
    reduce_op: Callable[..., Any] | None,
    reduce_res: Tensor,
    bias: Tensor | float | None = ...,
    scale: Tensor | float | None = ...,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...
def affine_select(
    pred: Any,
    on_true_tile: Tensor,
    on_false_value: Any,
    *,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...
def bn_aggr(data: Tensor, *, mask: Any = ..., dtype: Any = ..., **kwargs: Any) -> Any: ...
def bn_stats(data: Tensor, *, mask: Any = ..., dtype: Any = ..., **kwargs: Any) -> Any: ...
def dma_copy(
    *,
    dst: Tensor,
    src: Tensor,
    mask: Any = ...,
    dst_rmw_op: Any = ...,
    oob_mode: oob_mode = ...,
    dge_mode: dge_mode = ...,
    **kwargs: Any,
) -> Any: ...
def dma_transpose(
    src: Tensor, *, axes: Any = ..., mask: Any = ..., dtype: Any = ..., **kwargs: Any
) -> Any: ...
def dropout(
    data: Tensor, prob: Tensor | float | None, *, mask: Any = ..., dtype: Any = ..., **kwargs: Any
) -> Any: ...

fp32: Any

def get_nc_version() -> Any: ...

gpsimd_engine: engine

def iota(expr: Any, dtype: Any, *, mask: Any = ..., **kwargs: Any) -> Any: ...
def local_gather(
    src_buffer: Tensor,
    index: Tensor,
    num_elem_per_idx: int = ...,
    num_valid_indices: Any = ...,
    *,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...
def max8(*, src: Tensor, mask: Any = ..., dtype: Any = ..., **kwargs: Any) -> Any: ...
def memset(
    shape: Any, value: Any, dtype: Any, *, mask: Any = ..., engine: engine = ..., **kwargs: Any
) -> Any: ...
def nc_find_index8(
    *, data: Tensor, vals: Tensor, mask: Any = ..., dtype: Any = ..., **kwargs: Any
) -> Any: ...
def nc_match_replace8(
    *,
    data: Tensor,
    vals: Tensor,
    imm: Any,
    dst_idx: Tensor | None = ...,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...
def nc_matmul(
    stationary: Tensor,
    moving: Tensor,
    *,
    is_stationary_onezero: bool = ...,
    is_moving_onezero: bool = ...,
    is_transpose: bool = ...,
    tile_position: tuple = ...,
    tile_size: tuple = ...,
    mask: Any = ...,
    **kwargs: Any,
) -> Any: ...
def nc_stream_shuffle(
    src: Tensor, dst: Tensor, shuffle_mask: Any, *, mask: Any = ..., dtype: Any = ..., **kwargs: Any
) -> Any: ...
def nc_transpose(
    data: Tensor, *, mask: Any = ..., dtype: Any = ..., engine: engine = ..., **kwargs: Any
) -> Any: ...
def range_select(
    *,
    on_true_tile: Tensor,
    comp_op0: Callable[..., Any] | None,
    comp_op1: Callable[..., Any] | None,
    bound0: Tensor,
    bound1: Tensor,
    reduce_cmd: reduce_cmd = ...,
    reduce_res: Tensor | None = ...,
    reduce_op: Callable[..., Any] | None = ...,
    range_start: int = ...,
    on_false_value: float = ...,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...
def reciprocal(data: Tensor, *, dtype: Any = ..., mask: Any = ..., **kwargs: Any) -> Any: ...

scalar_engine: engine

def scalar_tensor_tensor(
    *,
    data: Tensor,
    op0: Callable[..., Any] | None,
    operand0: Tensor | float | None,
    op1: Callable[..., Any] | None,
    operand1: Tensor | float | None,
    reverse0: bool = ...,
    reverse1: bool = ...,
    dtype: Any = ...,
    mask: Any = ...,
    **kwargs: Any,
) -> Any: ...
def select_reduce(
    *,
    dst: Tensor,
    predicate: Tensor,
    on_true: Tensor,
    on_false: Tensor | float | None,
    reduce_res: Tensor | None = ...,
    reduce_cmd: reduce_cmd = ...,
    reduce_op: Callable[..., Any] | None = ...,
    reverse_pred: bool = ...,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...
def sequence_bounds(
    *, segment_ids: Tensor, mask: Any = ..., dtype: Any = ..., **kwargs: Any
) -> Any: ...
def tensor_copy(
    src: Tensor, *, mask: Any = ..., dtype: Any = ..., engine: engine = ..., **kwargs: Any
) -> Any: ...
def tensor_copy_dynamic_dst(
    *,
    dst: Tensor,
    src: Tensor,
    mask: Any = ...,
    dtype: Any = ...,
    engine: engine = ...,
    **keywords: Any,
) -> Any: ...
def tensor_copy_dynamic_src(
    src: Tensor, *, mask: Any = ..., dtype: Any = ..., engine: engine = ..., **keywords: Any
) -> Any: ...
def tensor_copy_predicated(
    *,
    src: Tensor,
    dst: Tensor,
    predicate: Tensor,
    reverse_pred: bool = ...,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...

tensor_engine: engine

def tensor_partition_reduce(
    op: Callable[..., Any] | None, data: Tensor, *, mask: Any = ..., dtype: Any = ..., **kwargs: Any
) -> Any: ...
def tensor_reduce(
    op: Callable[..., Any] | None,
    data: Tensor,
    axis: Any,
    *,
    mask: Any = ...,
    dtype: Any = ...,
    negate: bool = ...,
    keepdims: bool = ...,
    **kwargs: Any,
) -> Any: ...
def tensor_scalar(
    data: Tensor,
    op0: Callable[..., Any] | None,
    operand0: Tensor | float | None,
    reverse0: bool = ...,
    op1: Callable[..., Any] | None = ...,
    operand1: Tensor | float | None = ...,
    reverse1: bool = ...,
    *,
    dtype: Any = ...,
    mask: Any = ...,
    engine: engine = ...,
    **kwargs: Any,
) -> Any: ...
def tensor_scalar_reduce(
    *,
    data: Tensor,
    op0: Callable[..., Any] | None,
    operand0: Tensor | float | None,
    reduce_op: Callable[..., Any] | None,
    reduce_res: Tensor,
    reverse0: bool = ...,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...
def tensor_tensor(
    data1: Tensor,
    data2: Tensor,
    op: Callable[..., Any] | None,
    *,
    dtype: Any = ...,
    mask: Any = ...,
    engine: engine = ...,
    **kwargs: Any,
) -> Any: ...
def tensor_tensor_scan(
    data0: Tensor,
    data1: Tensor,
    initial: Tensor | float | None,
    op0: Callable[..., Any] | None,
    op1: Callable[..., Any] | None,
    reverse0: bool = ...,
    reverse1: bool = ...,
    *,
    mask: Any = ...,
    dtype: Any = ...,
    **kwargs: Any,
) -> Any: ...

unknown_engine: engine
vector_engine: engine

__all__: list[str]
