"""flash_attn_bwd: gradients of attention, whose weights are computed again from their sums."""

from .. import isa as nisa
from .. import language as nl
from ..kernel import jit
from .softmax import Masks, check, kept, width


class _Queries:
    """What a kernel holds of 128 queries of a head: q and dy, as they are and turned, -lse, and
    D = sum(dy * o), one value per query."""

    def __init__(self, tensors, row: int, kind):
        q, dy, o, lse = tensors
        rows = nl.tile_size.pmax
        part = nl.ds(row, rows)
        loaded, gradient = nl.load(q[:, part]), nl.load(dy[:, part])
        self.q, self.dy = nl.copy(loaded, dtype=kind), nl.copy(gradient, dtype=kind)
        self.q_turned = nl.copy(nisa.nc_transpose(self.q), dtype=kind)
        self.dy_turned = nl.copy(nisa.nc_transpose(self.dy), dtype=kind)
        product = nl.multiply(gradient, nl.load(o[:, part]), dtype=nl.float32)
        ones = nl.ones((product.shape[0], 1), dtype=nl.float32)
        self.sums = nl.copy(nisa.nc_matmul(product, ones))
        self.negative_lse = nl.negative(
            nl.copy(nl.load(lse[:, nl.ds(row // rows, 1)]), dtype=nl.float32)
        )


class _Keys:
    """What a kernel holds of the keys and values of one product: k, v, k turned in tiles of 128
    keys, and the sums of their gradients."""

    def __init__(self, k, v, kind):
        rows = nl.tile_size.pmax
        self.k, self.v, self.kind = nl.load(k, dtype=kind), nl.load(v, dtype=kind), kind
        self.turned = [
            nl.copy(nisa.nc_transpose(self.k[:, nl.ds(first, rows)]), dtype=kind)
            for first in range(0, width(), rows)
        ]
        self.dk = nl.zeros(self.k.shape, dtype=nl.float32)
        self.dv = nl.zeros(self.v.shape, dtype=nl.float32)

    def add(self, query: _Queries, weights, factors, scale):
        """Adds what 128 queries give to the gradients of k and v; what they give to that of q.

        factors: of dropout, or None.
        """
        from_values, passed, rows = nisa.nc_matmul(query.dy, self.v), weights, nl.tile_size.pmax
        if factors is not None:
            from_values = nl.multiply(from_values, factors)
            passed = nl.multiply(weights, factors)
        distance = nl.multiply(nl.subtract(from_values, query.sums), scale)
        slope = nl.multiply(weights, distance, dtype=self.kind)
        passed = nl.copy(passed, dtype=self.kind)
        self.dv[...] = nl.add(self.dv, nisa.nc_matmul(query.dy_turned, passed))
        self.dk[...] = nl.add(self.dk, nisa.nc_matmul(query.q_turned, slope))
        change = nl.zeros((self.k.shape[0], rows), dtype=nl.float32, buffer=nl.psum)
        for number, keys in enumerate(self.turned):
            part = slope[:, nl.ds(number * rows, rows)]
            change += nisa.nc_matmul(keys, nl.copy(nisa.nc_transpose(part), dtype=self.kind))
        return change


def _check(q, others, dropout_p, seed) -> None:
    rows, length = nl.tile_size.pmax, q.shape[3]
    check(q.shape[2] <= rows, f"we do not support head_dim > {rows}, got head dim {q.shape[2]}")
    check(length % width() == 0, f"need seqlen to be divisible by {width()} but got {length}")
    for other in others:
        check(other.shape == q.shape, f"shape {other.shape} does not match that of q {q.shape}")
    check(not dropout_p or seed is not None, "dropout_p needs a seed of shape (1,)")


@jit
def flash_attn_bwd(
    q_ref, k_ref, v_ref, o_ref, dy_ref, lse_ref, seed_ref, logit_bias_ref=None,
    use_causal_mask=False, mixed_precision=False, dropout_p=0.0, softmax_scale=None,
    sliding_window=-1,
):  # fmt: skip
    """The gradients of q, k and v, of their shape, flash_attn_bwd[batch, heads](...).

    q, k, v, o (what flash_fwd returned, turned), dy (its gradient): (batch, heads, depth,
    sequence), depth up to 128, the sequence a multiple of 512; lse_ref, seed_ref, logit_bias_ref,
    softmax_scale, dropout_p, mixed_precision and masks as in flash_fwd. ValueError for other
    shapes.
    """
    _check(q_ref, (k_ref, v_ref, o_ref, dy_ref), dropout_p, seed_ref)
    _, heads, depth, length = q_ref.shape
    rows, scale = nl.tile_size.pmax, softmax_scale or 1.0 / depth**0.5
    kind = nl.bfloat16 if mixed_precision else q_ref.dtype
    out_dq, out_dk, out_dv = (
        nl.ndarray(q_ref.shape, dtype=q_ref.dtype, buffer=nl.shared_hbm) for _ in range(3)
    )
    b, head = nl.program_id(axis=0), nl.program_id(axis=1)
    masks = Masks(use_causal_mask, sliding_window)
    seeds = nl.load(seed_ref.reshape((1, 1))) if dropout_p else None
    of_head = [each[b, head] for each in (q_ref, dy_ref, o_ref, lse_ref)]
    queries = {row: _Queries(of_head, row, kind) for row in range(0, length, rows)}
    dq = nl.zeros((depth, length), dtype=nl.float32)
    for first in range(0, length, width()):
        part = nl.ds(first, width())
        keys = _Keys(k_ref[b, head, :, part], v_ref[b, head, :, part], kind)
        for row in [row for row in queries if masks.sees(row, first, width())]:
            query, place = queries[row], nl.ds(row, rows)
            scores = nl.multiply(nisa.nc_matmul(query.q, keys.k), scale)
            if logit_bias_ref is not None:
                scores = nl.add(scores, nl.load(logit_bias_ref[b, head, place, part]))
            scores = masks.apply(scores, row, first)
            weights = nisa.activation(nl.exp, scores, bias=query.negative_lse)
            number = ((b * heads + head) * length + row) * length + first
            factors = kept(seeds, number // width(), dropout_p) if dropout_p else None
            change = keys.add(query, weights, factors, scale)
            dq[:, place] = nl.add(dq[:, place], change)
        nl.store(out_dk[b, head, :, part], nl.copy(keys.dk, dtype=q_ref.dtype))
        nl.store(out_dv[b, head, :, part], nl.copy(keys.dv, dtype=q_ref.dtype))
    nl.store(out_dq[b, head], nl.copy(dq, dtype=q_ref.dtype))
    return out_dq, out_dk, out_dv
