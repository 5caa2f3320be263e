# Written by tools/write_stubs.py.
# ruff: noqa: I001
from collections.abc import Callable
from typing import Any

from neuron_sim.nki.language import NkiTensor as Tensor
from neuron_sim.nki.isa.instruction import NkiInstruction as NkiInstruction
from neuron_sim.nki.isa.instruction import NkiValidationError as NkiValidationError
from neuron_sim.nki.tracing.control_flow.registers import VirtualRegister as VirtualRegister
from neuron_sim.nki.isa.constants import dge_mode as dge_mode
from neuron_sim.nki.isa.constants import dma_engine as dma_engine
from neuron_sim.nki.isa.constants import engine as engine
from neuron_sim.nki.isa.constants import matmul_perf_mode as matmul_perf_mode
from neuron_sim.nki.isa.constants import nc_version as nc_version
from neuron_sim.nki.isa.constants import oob_mode as oob_mode
from neuron_sim.nki.isa.constants import reduce_cmd as reduce_cmd
from . import constants as constants

def activate2(
    dst: Tensor,
    op: Callable[..., Any] | None,
    data: Tensor,
    imm0: Tensor | float | None,
    imm1: Tensor | float | None,
    op0: Callable[..., Any] | None,
    op1: Callable[..., Any] | None,
    relu_param: Tensor | float | None = ...,
    reverse0: bool = ...,
    reverse1: bool = ...,
    reduce_op: Callable[..., Any] | None = ...,
    reduce_res: Tensor | None = ...,
    reduce_cmd: reduce_cmd = ...,
    name: str | None = ...,
) -> Any: ...
def activation(
    dst: Tensor,
    op: Callable[..., Any] | None,
    data: Tensor,
    bias: Tensor | float | None = ...,
    scale: Tensor | float | None = ...,
    reduce_op: Callable[..., Any] | None = ...,
    reduce_res: Tensor | None = ...,
    reduce_cmd: reduce_cmd = ...,
    name: str | None = ...,
) -> Any: ...
def activation_reduce(
    dst: Tensor,
    op: Callable[..., Any] | None,
    data: Tensor,
    reduce_op: Callable[..., Any] | None,
    reduce_res: Tensor,
    bias: Tensor | float | None = ...,
    scale: Tensor | float | None = ...,
    name: str | None = ...,
) -> Any: ...
def affine_select(
    dst: Tensor,
    pattern: Any,
    channel_multiplier: Any,
    on_true_tile: Tensor,
    on_false_value: Any,
    cmp_op: Callable[..., Any] | None = ...,
    offset: int = ...,
    name: str | None = ...,
) -> Any: ...
def bn_aggr(dst: Tensor, data: Tensor, name: str | None = ...) -> Any: ...
def bn_stats(dst: Tensor, data: Tensor, name: str | None = ...) -> Any: ...
def core_barrier(data: Tensor, cores: Any, engine: engine = ..., name: str | None = ...) -> Any: ...
def dma_compute(
    dst: Tensor,
    srcs: Any,
    reduce_op: Callable[..., Any] | None,
    scales: Any = ...,
    unique_indices: bool = ...,
    oob_mode: oob_mode = ...,
    name: str | None = ...,
) -> Any: ...
def dma_copy(
    dst: Tensor,
    src: Tensor,
    priority: Any = ...,
    oob_mode: oob_mode = ...,
    dge_mode: dge_mode = ...,
    engine: engine = ...,
    name: str | None = ...,
) -> Any: ...
def dma_transpose(
    dst: Tensor,
    src: Tensor,
    axes: Any = ...,
    priority: Any = ...,
    dge_mode: dge_mode = ...,
    oob_mode: oob_mode = ...,
    name: str | None = ...,
) -> Any: ...
def dropout(
    dst: Tensor, data: Tensor, prob: Tensor | float | None, name: str | None = ...
) -> Any: ...
def exponential(
    dst: Tensor,
    src: Tensor,
    max_value: Tensor | float | None = ...,
    reduce_res: Tensor | None = ...,
    reduce_cmd: reduce_cmd = ...,
    reduce_init: Tensor | float | None = ...,
    name: str | None = ...,
) -> Any: ...
def get_nc_sub_version() -> Any: ...
def get_nc_version() -> Any: ...

gpsimd_engine: engine

def iota(
    dst: Tensor,
    pattern: Any,
    offset: int = ...,
    channel_multiplier: int = ...,
    name: str | None = ...,
) -> Any: ...
def local_gather(
    dst: Tensor,
    src_buffer: Tensor,
    index: Tensor,
    num_elem_per_idx: int = ...,
    num_valid_indices: Any = ...,
    name: str | None = ...,
) -> Any: ...
def max8(dst: Tensor, src: Tensor, name: str | None = ...) -> Any: ...
def memset(dst: Tensor, value: Any, engine: engine = ..., name: str | None = ...) -> Any: ...
def nc_find_index8(dst: Tensor, data: Tensor, vals: Tensor, name: str | None = ...) -> Any: ...
def nc_match_replace8(
    dst: Tensor,
    data: Tensor,
    vals: Tensor,
    imm: Any,
    dst_idx: Tensor | None = ...,
    name: str | None = ...,
) -> Any: ...
def nc_matmul(
    dst: Tensor,
    stationary: Tensor,
    moving: Tensor,
    is_stationary_onezero: bool = ...,
    is_moving_onezero: bool = ...,
    is_transpose: bool = ...,
    accumulate: Any = ...,
    tile_position: tuple = ...,
    tile_size: tuple = ...,
    perf_mode: matmul_perf_mode = ...,
    name: str | None = ...,
) -> Any: ...
def nc_matmul_mx(
    dst: Tensor,
    stationary: Tensor,
    moving: Tensor,
    stationary_scale: Tensor,
    moving_scale: Tensor,
    tile_position: Any = ...,
    tile_size: Any = ...,
    accumulate: Any = ...,
    name: str | None = ...,
) -> Any: ...
def nc_n_gather(dst: Tensor, data: Tensor, indices: Tensor, name: str | None = ...) -> Any: ...
def nc_stream_shuffle(
    dst: Tensor, src: Tensor, shuffle_mask: Any, name: str | None = ...
) -> Any: ...
def nc_transpose(
    dst: Tensor, data: Tensor, engine: engine = ..., name: str | None = ...
) -> Any: ...
def nonzero_with_count(
    dst: Tensor,
    src: Tensor,
    index_offset: int = ...,
    padding_val: int = ...,
    name: str | None = ...,
) -> Any: ...
def quantize_mx(dst: Tensor, src: Tensor, dst_scale: Tensor, name: str | None = ...) -> Any: ...
def rand2(
    dst: Tensor, min: Tensor | float | None, max: Tensor | float | None, name: str | None = ...
) -> Any: ...
def rand_get_state(dst: Tensor, engine: engine = ..., name: str | None = ...) -> Any: ...
def rand_set_state(src_seeds: Tensor, engine: engine = ..., name: str | None = ...) -> Any: ...
def range_select(
    dst: Tensor,
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
    name: str | None = ...,
) -> Any: ...
def reciprocal(dst: Tensor, data: Tensor, name: str | None = ...) -> Any: ...
def register_alloc(x: Tensor | None = ...) -> Any: ...
def register_load(dst: Tensor, src: Tensor) -> Any: ...
def register_move(dst: Tensor, src: Tensor) -> Any: ...
def register_store(dst: Tensor, src: Tensor) -> Any: ...
def rng(dst: Tensor, engine: engine = ..., name: str | None = ...) -> Any: ...

scalar_engine: engine

def scalar_tensor_tensor(
    dst: Tensor,
    data: Tensor,
    op0: Callable[..., Any] | None,
    operand0: Tensor | float | None,
    op1: Callable[..., Any] | None,
    operand1: Tensor | float | None,
    reverse0: bool = ...,
    reverse1: bool = ...,
    name: str | None = ...,
) -> Any: ...
def select_reduce(
    dst: Tensor,
    predicate: Tensor,
    on_true: Tensor,
    on_false: Tensor | float | None,
    reduce_res: Tensor | None = ...,
    reduce_cmd: reduce_cmd = ...,
    reduce_op: Callable[..., Any] | None = ...,
    reverse_pred: bool = ...,
    name: str | None = ...,
) -> Any: ...
def sendrecv(
    src: Tensor,
    dst: Tensor,
    send_to_rank: Any,
    recv_from_rank: Any,
    pipe_id: Any,
    dma_engine: dma_engine = ...,
    name: str | None = ...,
) -> Any: ...
def sequence_bounds(dst: Tensor, segment_ids: Tensor, name: str | None = ...) -> Any: ...
def set_rng_seed(src_seeds: Tensor, name: str | None = ...) -> Any: ...
def tensor_copy(
    dst: Tensor, src: Tensor, engine: engine = ..., name: str | None = ..., dtype: Any = ...
) -> Any: ...
def tensor_copy_predicated(
    dst: Tensor, src: Tensor, predicate: Tensor, reverse_pred: bool = ..., name: str | None = ...
) -> Any: ...

tensor_engine: engine

def tensor_partition_reduce(
    dst: Tensor, op: Callable[..., Any] | None, data: Tensor, name: str | None = ...
) -> Any: ...
def tensor_reduce(
    dst: Tensor,
    op: Callable[..., Any] | None,
    data: Tensor,
    axis: Any,
    negate: bool = ...,
    keepdims: bool = ...,
    name: str | None = ...,
) -> Any: ...
def tensor_scalar(
    dst: Tensor,
    data: Tensor,
    op0: Callable[..., Any] | None,
    operand0: Tensor | float | None,
    reverse0: bool = ...,
    op1: Callable[..., Any] | None = ...,
    operand1: Tensor | float | None = ...,
    reverse1: bool = ...,
    engine: engine = ...,
    name: str | None = ...,
) -> Any: ...
def tensor_scalar_cumulative(
    dst: Tensor,
    src: Tensor,
    op0: Callable[..., Any] | None,
    op1: Callable[..., Any] | None,
    imm0: Tensor | float | None,
    imm1: Tensor | float | None = ...,
    reduce_cmd: reduce_cmd = ...,
    name: str | None = ...,
) -> Any: ...
def tensor_scalar_reduce(
    dst: Tensor,
    data: Tensor,
    op0: Callable[..., Any] | None,
    operand0: Tensor | float | None,
    reduce_op: Callable[..., Any] | None,
    reduce_res: Tensor | None = ...,
    reverse0: bool = ...,
    reduce_cmd: reduce_cmd = ...,
    reduce_init: Tensor | float | None = ...,
    reduce_res_negate: bool = ...,
    name: str | None = ...,
) -> Any: ...
def tensor_tensor(
    dst: Tensor,
    data1: Tensor,
    data2: Tensor,
    op: Callable[..., Any] | None,
    engine: engine = ...,
    name: str | None = ...,
) -> Any: ...
def tensor_tensor_scan(
    dst: Tensor,
    data0: Tensor,
    data1: Tensor,
    initial: Tensor | float | None,
    op0: Callable[..., Any] | None,
    op1: Callable[..., Any] | None,
    reverse0: bool = ...,
    reverse1: bool = ...,
    name: str | None = ...,
) -> Any: ...
def topk(val_dst: Tensor, idx_dst: Tensor, src: Tensor, n: Any, name: str | None = ...) -> Any: ...

unknown_engine: engine
vector_engine: engine

__all__: list[str]
