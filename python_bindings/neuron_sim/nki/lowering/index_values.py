"""Index expressions as values: patterns of iota and affine_select, and comparisons as operands."""

from ..tracing import Mask, current
from ..tracing.dtypes import uint8
from ..tracing.errors import Unroll
from ..tracing.expression import Expression
from .tiles import broadcast_shape


def pattern_of(expression, rank, instruction):
    """(offset, channel_multiplier, steps of the free dimensions) of an expression in `rank`.

    Unroll when it depends on a loop variable: the instruction holds numbers.
    """
    if expression.terms:
        raise Unroll(loop.key for loop in expression.terms)
    extra = len(expression.shape) - rank
    if extra > 0 and any(size != 1 for size in expression.shape[:extra]):
        raise ValueError(
            f"the expression of '{instruction}' has {len(expression.shape)} dimensions, "
            f"its tile {rank}."
        )
    steps = (0,) * -extra + tuple(expression.steps[max(extra, 0) :])
    return expression.constant, steps[0], steps[1:]


def comparison_as_tile(value, other, function):
    """An index comparison as a uint8 tile of 1 and 0 that fits the tile `other`, of its own shape
    without one: a memset, then an affine_select per condition. Anything else unchanged.
    """
    if not isinstance(value, Mask):
        return value
    shape = (1,) * (2 - len(value.shape)) + value.shape
    if other is not None:
        rows = other.shape[0] if len(shape) < len(other.shape) or shape[0] == 1 else shape[0]
        rank = max(len(shape), len(other.shape))
        shape = (rows, *((1,) * (rank - len(shape)) + shape)[1:])
        shape = broadcast_shape(shape, other.shape, function, f"{value}, {other.describe()}")
    trace = current()
    tile = trace.tile(shape, uint8, name="comparison")
    trace.builder.memset(tile.access, 1.0)
    for condition in value.conditions:
        offset, multiplier, steps = pattern_of(_in_shape(condition, shape), len(shape), function)
        pattern = list(zip(steps, shape[1:], strict=True))
        trace.builder.affine_select(
            tile.access, pattern, multiplier, tile.access, 0.0, "greater_equal", offset
        )
    return tile


def _in_shape(condition, shape):
    """A condition whose dimensions of size 1 repeat."""
    own = zip(condition.steps, condition.shape, strict=True)
    steps = tuple([step if size != 1 else 0 for step, size in own])
    return Expression(condition.constant, condition.terms, steps, condition.shape)
