"""What the attention kernels share: masked scores, their softmax row by row, and dropout."""

import numpy as np

from .. import isa as nisa
from .. import language as nl

#: Of scores that a mask removes, as in the vendor's kernels.
MASKED = -9984.0


def check(condition: bool, sentence: str) -> None:
    """ValueError with a sentence unless a condition of a kernel's arguments holds."""
    if not condition:
        raise ValueError(sentence)


def width() -> int:
    """Keys of one product; dropout is drawn for as many at once, forward and backward."""
    return nl.tile_size.gemm_moving_fmax


class Masks:
    """Which keys a query sees: all, those up to its own position, or a window of these."""

    def __init__(self, causal: bool, window: int = -1):
        self.causal = causal
        self.window = window if causal else -1

    def sees(self, row: int, first: int, count: int) -> bool:
        """Whether any of 128 queries from `row` on sees one of `count` keys from `first` on."""
        last_row = row + nl.tile_size.pmax - 1
        is_near = self.window <= 0 or first + count > row - self.window + 1
        return (not self.causal or first <= last_row) and is_near

    def apply(self, scores, row: int, first: int):
        """The scores of queries from `row` on and keys from `first` on, in SBUF."""
        count = scores.shape[1]
        rows = nl.arange(nl.tile_size.pmax)[:, None] + row
        columns = nl.arange(count)[None, :] + first
        if self.causal and first + count - 1 > row:
            scores = nisa.affine_select(rows >= columns, scores, MASKED)
        if self.window > 0 and first < row + nl.tile_size.pmax - self.window:
            scores = nisa.affine_select(columns > rows - self.window, scores, MASKED)
        return scores


def kept(seed, number, rate: float):
    """1 / (1 - rate) where dropout keeps an element of 128 rows of width(), else 0; `number` of the
    elements changes the seed."""
    nl.random_seed(nl.add(seed, number))
    ones = nl.full((nl.tile_size.pmax, width()), 1 / (1 - rate), dtype=nl.float32)
    return nl.dropout(ones, rate)


def attend(scores_of, values, steps, step: int, kind, drop=None):
    """(sum of values weighed by exp(scores - largest), largest, sum of the weights), in fp32.

    scores_of(first, count): scores of 128 queries and `count` keys from `first` on. values: a tile
    [128, keys / 128, depth]. steps: numbers of the steps of `step` keys that are seen.
    drop(weights, first): weights after dropout, which their sum does not see.
    """
    rows = nl.tile_size.pmax
    columns = width() if step % width() == 0 else rows
    largest = total = result = None
    for j in steps:
        scores = nl.ndarray((rows, step), dtype=nl.float32, buffer=nl.sbuf)
        for first in range(0, step, columns):
            scores[:, nl.ds(first, columns)] = scores_of(j * step + first, columns)
        highest = nl.max(scores, axis=1)
        if largest is not None:
            highest = nl.maximum(largest, highest)
        sums = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        weights = nisa.activation_reduce(
            np.exp, scores, reduce_op=np.add, reduce_res=sums, bias=nl.negative(highest), dtype=kind
        )
        if drop is not None:
            weights = drop(weights, j * step)
        product = nl.zeros((rows, values.shape[2]), dtype=nl.float32, buffer=nl.psum)
        for c in range(step // rows):
            turned = nl.copy(nisa.nc_transpose(weights[:, nl.ds(c * rows, rows)]), dtype=kind)
            product += nisa.nc_matmul(turned, values[:, j * (step // rows) + c, :])
        if largest is None:
            total, result = sums, nl.copy(product)
        else:
            factor = nl.exp(nl.subtract(largest, highest))
            total = nl.add(nl.multiply(total, factor), sums)
            result = nl.add(nl.multiply(result, factor), product)
        largest = highest
    return result, largest, total
