"""neuronxcc.nki.isa: selections, and iota, whose patterns are written as index expressions."""

import numpy as np

from neuron_sim.nki.isa import elementwise as copies
from neuron_sim.nki.isa import selections as new
from neuron_sim.nki.lowering.elementwise import in_sbuf
from neuron_sim.nki.lowering.index_values import pattern_of
from neuron_sim.nki.tracing import Mask, boxes, current, dtype_of
from neuron_sim.nki.tracing.expression import Expression
from neuron_sim.nki.tracing.mask import InBoxes

from .constants import reduce_cmd as reduce_commands
from .results import in_parts, refuse
from .returned import returned


@returned(
    order="dst predicate on_true on_false reduce_res reduce_cmd reduce_op reverse_pred",
    reduce_op=np.amax,
)
def select_reduce():
    """dst = on_true where predicate is not 0, else on_false; reduce_res = the maximum of dst."""


@returned(reduce_cmd=reduce_commands.idle, reduce_op=np.amax)
def range_select():
    """on_true_tile where the index of an element lies between bounds, else the fp32 minimum.

    As nki.isa.range_select, with reduce_cmd.idle unless given; reduce_res is written in place.
    """


def iota(expr, dtype, *, mask=None, **kwargs):
    """A tile of the values of an affine expression of nl.arange, at least 2-D, on GpSimd.

    A number, such as the index of a program or of a loop, is a tile [1, 1]. int32 arithmetic, cast
    to `dtype`. ValueError for an expression of one dimension.
    """
    if kwargs:
        refuse("iota", kwargs)
    if type(expr) is int or isinstance(expr, Expression) and not expr.shape:
        expr = Expression(0, {}, (0, 0), (1, 1)) + expr
    shape = tuple(expr.shape)
    if len(shape) < 2:
        raise ValueError("indexing tensor `iota` with 1d arange is not supported")
    offset, multiplier, steps = pattern_of(expr, len(shape), "iota")
    cut = None if mask is None else boxes(mask, shape)

    def emit(dst):
        if cut is None:
            new.iota(dst, tuple(zip(steps, shape[1:], strict=True)), offset, multiplier)
            return
        for box in cut:
            start = offset + multiplier * box[0][0]
            start += sum(step * first for step, (first, _) in zip(steps, box[1:], strict=True))
            pattern = [(step, size) for step, (_, size) in zip(steps, box[1:], strict=True)]
            new.iota(dst.narrow(box), pattern, start, multiplier)

    written = emit if cut is None else InBoxes(cut, emit)
    return current().result(shape, dtype_of(dtype), "sbuf", written, explicit=True)


def affine_select(pred, on_true_tile, on_false_value, *, mask=None, dtype=None, **kwargs):
    """on_true_tile where the comparison `pred` of index expressions holds, else on_false_value.

    GpSimd reads and writes SBUF: tiles in PSUM are copied. ValueError for several comparisons
    joined with `&`.
    """
    if kwargs:
        refuse("affine_select", kwargs)
    shape = tuple(on_true_tile.shape)
    offset, multiplier, steps, compare = _predicate(pred, len(shape))
    cut = None if mask is None else boxes(mask, shape)
    on_true_tile = in_sbuf(on_true_tile)

    def emit(dst):
        if dst.memory == "psum":
            made = current().tile(shape, dst.dtype)
            select(made)
            in_parts(cut, copies.tensor_copy, dst, made)
        else:
            select(dst)

    def select(dst):
        whole = tuple((0, size) for size in shape)
        for box in (whole,) if cut is None else cut:
            start = offset + multiplier * box[0][0]
            start += sum(step * first for step, (first, _) in zip(steps, box[1:], strict=True))
            pattern = [(step, size) for step, (_, size) in zip(steps, box[1:], strict=True)]
            target, tile = (dst, on_true_tile)
            if box is not whole:
                target, tile = dst.narrow(box), on_true_tile.narrow(box)
            new.affine_select(target, pattern, multiplier, tile, on_false_value, compare, start)

    wanted = on_true_tile.dtype if dtype is None else dtype_of(dtype)
    written = emit if cut is None else InBoxes(cut, emit)
    return current().result(shape, wanted, "sbuf", written, explicit=dtype is not None)


def _predicate(pred, rank):
    """A comparison as (offset, channel_multiplier, steps, operator against 0)."""
    if isinstance(pred, bool):
        return (0 if pred else 1), 0, (0,) * (rank - 1), np.equal
    if not isinstance(pred, Mask):
        raise ValueError(
            "pred of 'affine_select' must be a comparison of affine index expressions, not "
            f"{type(pred).__name__}."
        )
    first = pred.conditions[0]
    equality = len(pred.conditions) == 2 and _opposite(*pred.conditions)
    if len(pred.conditions) != 1 and not equality:
        raise ValueError(
            "pred of 'affine_select' is several comparisons joined with `&`; it must be one. "
            "Consider nl.where."
        )
    return (*pattern_of(first, rank, "affine_select"), np.equal if equality else np.greater_equal)


def _opposite(a, b):
    """Whether two conditions a >= 0 and b >= 0 mean a == 0."""
    return (
        a.constant == -b.constant
        and a.shape == b.shape
        and all(x == -y for x, y in zip(a.steps, b.steps, strict=True))
        and {loop: -factor for loop, factor in b.terms.items()} == dict(a.terms)
    )
