"""neuronxcc.nki.kernels.attention: attention in tiles of keys, and that of Stable Diffusion."""

from dataclasses import dataclass

from .. import isa as nisa
from .. import language as nl
from ..kernel import jit
from .attention_backward import flash_attn_bwd
from .softmax import Masks, attend, check, kept, width

__all__ = [
    "FlashConfig",
    "allocated_fused_self_attn_for_SD_small_head_size",
    "flash_attn_bwd",
    "flash_fwd",
    "fused_self_attn_for_SD_small_head_size",
]

_STABLE_DIFFUSION_SCALE = 0.125


@dataclass(frozen=True)
class FlashConfig:
    """How flash_fwd works. seq_tile_size: keys of one step, a multiple of 512; training: whether it
    returns the logarithms of the sums as well, of lse_dtype; should_transpose_v: whether v is
    (batch, heads, depth, keys). attn_core_tile_size changes nothing here."""

    seq_tile_size: int = 2048  # no size of the hardware: the vendor's default
    attn_core_tile_size: int = 256
    training: bool = True
    should_transpose_v: bool = False
    lse_dtype: str = ""


def _values(v, keys: int, kind, turn: bool):
    """[128, keys / 128, depth] of the values of a head in HBM."""
    rows = nl.tile_size.pmax
    depth = v.shape[0] if turn else v.shape[1]
    values = nl.ndarray((rows, keys // rows, depth), dtype=kind, buffer=nl.sbuf)
    for c in range(keys // rows):
        part = nl.ds(c * rows, rows)
        loaded = nl.load_transpose2d(v[:, part]) if turn else nl.load(v[part, :])
        values[:, c, :] = nl.copy(loaded, dtype=kind)
    return values


def _check_flash(q, k, v, config, dropout_p, seed) -> None:
    batch, heads, depth, queries = q.shape
    kv_heads, keys = k.shape[1], k.shape[3]
    rows, step = nl.tile_size.pmax, config.seq_tile_size
    check(depth <= rows, f"we do not support head_dim > {rows}, got head dim {depth}")
    expected = (batch, kv_heads, *((depth, keys) if config.should_transpose_v else (keys, depth)))
    check(tuple(v.shape) == expected, f"v shape {v.shape} does not match, expected {expected}")
    check(k.shape[:3] == (batch, kv_heads, depth), f"k shape {k.shape} does not match q {q.shape}")
    check(heads % kv_heads == 0, f"{heads} heads of q are no multiple of {kv_heads} of k")
    check(step % width() == 0, f"seq_tile_size {step} must be a multiple of {width()}")
    check(keys % step == 0, f"need seqlen_k to be divisible by {step} but got {keys}")
    check(queries % rows == 0, f"need seqlen_q to be divisible by {rows} but got {queries}")
    check(not dropout_p or seed is not None, "dropout_p needs a seed of shape (1,)")


class _Keys:
    """What flash_fwd holds of the keys and values of a head, and how it attends to them."""

    def __init__(self, k, v, seed, config, masks, kind, dropout_p):
        self.keys = nl.load(k, dtype=kind)
        self.values = _values(v, k.shape[1], kind, config.should_transpose_v)
        self.seeds = nl.load(seed.reshape((1, 1))) if dropout_p else None
        self.step, self.masks, self.kind, self.rate = config.seq_tile_size, masks, kind, dropout_p

    def attend(self, query, row: int, bias, number):
        """softmax.attend of 128 queries from `row` on; bias: theirs in HBM, or None; number: of the
        first of their scores among all."""

        def scores_of(first, count):
            scores = nl.copy(nisa.nc_matmul(query, self.keys[:, nl.ds(first, count)]))
            if bias is not None:
                place = (nl.ds(row, nl.tile_size.pmax), nl.ds(first, count))
                scores = nl.add(scores, nl.load(bias[place]))
            return self.masks.apply(scores, row, first)

        def drop(weights, start):
            result = nl.ndarray(weights.shape, dtype=self.kind, buffer=nl.sbuf)
            for first in range(0, self.step, width()):
                part = nl.ds(first, width())
                factors = kept(self.seeds, (number + start + first) // width(), self.rate)
                result[:, part] = nl.multiply(weights[:, part], factors)
            return result

        every = range(self.keys.shape[1] // self.step)
        seen = [j for j in every if self.masks.sees(row, j * self.step, self.step)] or every
        dropped = drop if self.rate else None
        return attend(scores_of, self.values, seen, self.step, self.kind, dropped)


@jit
def flash_fwd(
    q, k, v, seed, logit_bias=None, softmax_scale=None, use_causal_mask=True, mixed_precision=True,
    dropout_p=0.0, config=None, sliding_window=-1,
):  # fmt: skip
    """Attention whose scores are never all in memory, flash_fwd[batch, heads of k](...).

    q: (batch, heads, depth, queries), depth up to 128, queries a multiple of 128; k: (batch,
    kv_heads, depth, keys); v: (batch, kv_heads, keys, depth), or as config.should_transpose_v says;
    seed: (1,) int32, read for dropout_p above 0, or None; logit_bias: (batch, heads, queries,
    keys). softmax_scale: 1 / sqrt(depth) unless given. mixed_precision: products of bf16, else of
    the dtype of q; sums are fp32. sliding_window: how many keys a query of a causal mask sees.
    Returns (batch, heads, queries, depth) and, for training, the logarithms of the sums of
    exp(scores), (batch, heads, 128, queries / 128). ValueError for other shapes.
    """
    config = config or FlashConfig()
    _check_flash(q, k, v, config, dropout_p, seed)
    batch, heads, depth, queries = q.shape
    rows, group = nl.tile_size.pmax, heads // k.shape[1]
    kind = nl.bfloat16 if mixed_precision else q.dtype
    scale = softmax_scale or 1.0 / depth**0.5
    out = nl.ndarray((batch, heads, queries, depth), dtype=q.dtype, buffer=nl.shared_hbm)
    lse_dtype = config.lse_dtype or (nl.float32 if mixed_precision else q.dtype)
    lse = nl.ndarray((batch, heads, rows, queries // rows), dtype=lse_dtype, buffer=nl.shared_hbm)
    b, kv_head = nl.program_id(axis=0), nl.program_id(axis=1)
    masks = Masks(use_causal_mask, sliding_window)
    keys = _Keys(k[b, kv_head], v[b, kv_head], seed, config, masks, kind, dropout_p)
    for head in [kv_head * group + member for member in range(group)]:
        bias = None if logit_bias is None else logit_bias[b, head]
        for row in range(0, queries, rows):
            query = nl.multiply(nl.load(q[b, head, :, nl.ds(row, rows)]), scale, dtype=kind)
            number = ((b * heads + head) * queries + row) * k.shape[3]
            result, largest, total = keys.attend(query, row, bias, number)
            place = (b, head, nl.ds(row, rows))
            nl.store(out[place], nl.multiply(result, nl.reciprocal(total), dtype=q.dtype))
            if config.training:
                sums = nl.add(largest, nl.log(total), dtype=lse_dtype)
                nl.store(lse[b, head, :, nl.ds(row // rows, 1)], sums)
    return (out, lse) if config.training else out


def _stable_diffusion(q, keys_of, v, use_causal_mask, mixed_precision, is_turned):
    """softmax(0.125 q.T k) v of the program's batch, turned or not."""
    batch, depth, queries = q.shape
    rows, keys = nl.tile_size.pmax, v.shape[1]
    check(depth <= rows, f"we do not support head_dim > {rows}, got head dim {depth}")
    check(queries == keys, f"we require seqlen_q {queries} and seqlen_k {keys} to be equal")
    check(keys % rows == 0, f"need seqlen to be divisible by {rows} but got {keys}")
    kind = nl.bfloat16 if mixed_precision else q.dtype
    b, masks = nl.program_id(axis=0), Masks(use_causal_mask)
    shape = (batch, depth, queries) if is_turned else (batch, queries, depth)
    out = nl.ndarray(shape, dtype=q.dtype, buffer=nl.shared_hbm)
    loaded_keys, values = nl.copy(keys_of(b), dtype=kind), _values(v[b], keys, kind, False)
    for row in range(0, queries, rows):
        part = nl.ds(row, rows)
        query = nl.multiply(nl.load(q[b, :, part]), _STABLE_DIFFUSION_SCALE, dtype=kind)

        def scores_of(first, count, row=row, query=query):
            scores = nl.copy(nisa.nc_matmul(query, loaded_keys[:, nl.ds(first, count)]))
            return masks.apply(scores, row, first)

        result, _, total = attend(scores_of, values, [0], keys, kind)
        result = nl.multiply(result, nl.reciprocal(total))
        if is_turned:
            nl.store(out[b, :, part], nl.copy(nl.transpose(result), dtype=q.dtype))
        else:
            nl.store(out[b, part, :], nl.copy(result, dtype=q.dtype))
    return out


@jit
def fused_self_attn_for_SD_small_head_size(
    q_ref, k_ref, v_ref, use_causal_mask=False, mixed_precision=True
):
    """Attention of Stable Diffusion, [batch](...): q: (batch, depth, sequence), k, v: (batch,
    sequence, depth), depth up to 128, scores times 0.125. Returns (batch, sequence, depth).

    mixed_precision: products of bf16, else of the dtype of q. ValueError for other shapes.
    """

    def turned_keys(b):
        keys = nl.ndarray((k_ref.shape[2], k_ref.shape[1]), dtype=k_ref.dtype, buffer=nl.sbuf)
        for first in range(0, k_ref.shape[1], width()):
            part = nl.ds(first, min(width(), k_ref.shape[1] - first))
            keys[:, part] = nl.load_transpose2d(k_ref[b, part, :])
        return keys

    return _stable_diffusion(q_ref, turned_keys, v_ref, use_causal_mask, mixed_precision, False)


@jit
def allocated_fused_self_attn_for_SD_small_head_size(
    q_ref, k_ref, v_ref, use_causal_mask=False, mixed_precision=True
):
    """As fused_self_attn_for_SD_small_head_size with k: (batch, depth, sequence); returns (batch,
    depth, sequence). The vendor places its tiles by hand, the simulator these automatically."""
    return _stable_diffusion(
        q_ref, lambda b: nl.load(k_ref[b]), v_ref, use_causal_mask, mixed_precision, True
    )
