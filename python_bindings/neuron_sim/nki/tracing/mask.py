"""Masks: comparisons of affine index expressions joined with `&`, and the boxes they leave.

A mask is known when the kernel is traced. What it leaves of a tile is a rectangle (a box); a mask
that couples two dimensions leaves one box per position of the first of them.
"""

from dis import opname
from itertools import product
from operator import index as as_int

from neuron_sim import _core

from .errors import Unroll, kernel_frame

_MAXIMUM_BOXES = 4096


class Mask(_core.IndexMask):
    """Mask(conditions): every expression of the tuple is at least 0."""

    __slots__ = ()
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __and__(self, other):
        if isinstance(other, Mask):
            return Mask(self.conditions + other.conditions)
        if isinstance(other, bool):
            return self if other else _NEVER
        return NotImplemented

    __rand__ = __and__

    def __invert__(self):
        if len(self.conditions) != 1:
            raise ValueError("the complement of several conditions is not a mask; write it out.")
        return Mask((self.conditions[0] * -1 + -1,))

    def __or__(self, other):
        raise ValueError("masks are joined with `&`; `|` is not supported.")

    __ror__ = __or__

    def __bool__(self) -> bool:
        """For `if`: uniform conditions have a value, others unroll the loops they depend on."""
        pending: dict = {}
        for condition in self.conditions:
            low, high = condition.bounds()
            if high < 0:
                return False
            if low < 0:
                if condition.shape and not _joined_with_and():
                    condition.as_number()
                elif not condition.shape:
                    pending.update({loop.key: None for loop in condition.terms})
        if pending:
            raise Unroll(list(pending))
        return True

    @property
    def shape(self) -> tuple:
        """The broadcast shape of the conditions."""
        shape: tuple = ()
        for condition in self.conditions:
            rank = max(len(shape), len(condition.shape))
            one = (1,) * (rank - len(shape)) + shape
            other = (1,) * (rank - len(condition.shape)) + condition.shape
            shape = tuple([max(a, b) for a, b in zip(one, other, strict=True)])
        return shape

    def __setitem__(self, index, value):
        raise TypeError("'mask' tensor does not support item assignment")

    def __repr__(self) -> str:
        return " & ".join(f"({condition} >= 0)" for condition in self.conditions) or "True"


def _joined_with_and() -> bool:
    """Whether the kernel wrote `mask and mask`, where the vendor takes the first for true."""
    frame = kernel_frame(2)
    if frame is None:
        return False
    code, position = frame.f_code.co_code, frame.f_lasti
    names = [opname[code[at]] for at in (position - 2, position) if at >= 0]
    return names[-1].startswith("JUMP_IF_FALSE_OR_POP") or "COPY" in names[:-1]


class _Never:
    """A condition that never holds."""

    shape: tuple = ()
    steps: tuple = ()
    terms: dict = {}
    constant = -1

    def bounds(self):
        return -1, -1

    def __repr__(self) -> str:
        return "-1"


_NEVER = Mask((_Never(),))


def _difference(a, b):
    """a - b; NotImplemented when b is no index."""
    if hasattr(b, "terms"):
        return a - b
    try:
        return a - as_int(b)
    except TypeError:
        if isinstance(b, float):
            return a.as_number()
        return NotImplemented


def comparison(a, b, operator: str):
    """a operator b as a Mask; a bool when both sides are the same up to a constant."""
    difference = _difference(a, b)
    if difference is NotImplemented:
        return NotImplemented
    if operator in "<=":
        difference = -difference
    if operator in "<>":
        difference = difference - 1
    return difference >= 0 if type(difference) is int else Mask((difference,))


def equality(a, b):
    """a == b as a Mask (two conditions) or a bool."""
    difference = _difference(a, b)
    if difference is NotImplemented:
        return NotImplemented
    if type(difference) is int:
        return difference == 0
    return Mask((difference, -difference))


def boxes(mask, shape: tuple) -> list | None:
    """What a mask leaves of a tile of `shape`: None for all of it, else a list of boxes.

    A box is (start, size) per dimension; no boxes: nothing is left. Unroll when that depends on a
    loop variable. ValueError when the mask has more dimensions than the tile, or couples three.
    """
    plain = _core.plain_boxes(mask, shape)
    if plain is not NotImplemented:
        return plain
    if mask is None or mask is True:
        return None
    if mask is False:
        return []
    if not isinstance(mask, Mask):
        raise ValueError(
            f"a mask is made of comparisons of index expressions, not of {type(mask).__name__}: "
            "NKI mask expressions must be affine expressions of static loop indices."
        )
    cutting: list = []
    pending: dict = {}
    for condition in mask.conditions:
        low, high = condition.bounds()
        if high < 0:
            return []
        if low < 0:
            cutting.append(condition)
            pending.update({loop.key: None for loop in condition.terms})
    if not cutting:
        return None
    if pending:
        raise Unroll(list(pending))
    return _cut(mask, cutting, shape)


def _cut(mask: Mask, conditions: list, shape: tuple) -> list:
    ranges = [[0, size] for size in shape]
    coupled = []
    for condition in conditions:
        steps = _steps_in(condition, shape, mask)
        dimensions = [d for d, step in enumerate(steps) if step]
        if len(dimensions) == 1:
            _restrict(ranges[dimensions[0]], condition.constant, steps[dimensions[0]])
        else:
            coupled.append((condition.constant, steps))
    if any(first >= last for first, last in ranges):
        return []
    if coupled:
        return _split(ranges, coupled)
    return [tuple([(first, last - first) for first, last in ranges])]


def _steps_in(condition, shape: tuple, mask: Mask) -> tuple:
    """The coefficient of every dimension of a tile in a condition."""
    missing = len(shape) - len(condition.shape)
    extra = condition.shape[:-missing] if missing < 0 else ()
    sizes = condition.shape[len(extra) :]
    fits = all(
        step == 0 or size == 1 or size == own
        for size, own, step in zip(
            sizes, shape[len(shape) - len(sizes) :], condition.steps[len(extra) :], strict=True
        )
    )
    if any(size != 1 for size in extra) or not fits:
        raise ValueError(
            f"mask of shape {list(mask.shape)} does not fit a tile of shape {list(shape)}."
        )
    return (0,) * max(0, missing) + condition.steps[len(extra) :]


def _restrict(bounds: list, constant: int, step: int) -> None:
    """constant + step * position >= 0 limits the positions."""
    if step > 0:
        bounds[0] = max(bounds[0], -(constant // step))
    else:
        bounds[1] = min(bounds[1], constant // -step + 1)


def _split(ranges: list, coupled: list) -> list:
    """Boxes of conditions that couple dimensions: one per position of all but one of them.

    That one is the partition dimension where it is limited from above only, because engines start
    at few partitions; else the last.
    """
    dimensions = sorted({d for _, steps in coupled for d, step in enumerate(steps) if step})
    limited_above = all(steps[0] < 0 for _, steps in coupled)
    inner = 0 if limited_above else dimensions[-1]
    outer = [d for d in dimensions if d != inner]
    count = 1
    for d in outer:
        count *= ranges[d][1] - ranges[d][0]
    if count > _MAXIMUM_BOXES:
        raise ValueError(
            f"the mask leaves no rectangle of the tile and would split it into {count} parts; "
            f"at most {_MAXIMUM_BOXES} are supported."
        )
    result: list = []
    for positions in product(*[range(*ranges[d]) for d in outer]):
        box = [list(bounds) for bounds in ranges]
        for d, position in zip(outer, positions, strict=True):
            box[d] = [position, position + 1]
        for constant, steps in coupled:
            fixed = constant + sum(
                steps[d] * position for d, position in zip(outer, positions, strict=True)
            )
            if steps[inner]:
                _restrict(box[inner], fixed, steps[inner])
            elif fixed < 0:
                box[inner][1] = box[inner][0]
        if box[inner][0] < box[inner][1]:
            _append(result, box, outer)
    return result


def _append(result: list, box: list, outer: list) -> None:
    """Adds a box; positions of one outer dimension with the same extent become one box."""
    new = tuple([(first, last - first) for first, last in box])
    if result and len(outer) == 1:
        d = outer[0]
        last = result[-1]
        same = all(last[e] == new[e] for e in range(len(new)) if e != d)
        if same and last[d][0] + last[d][1] == new[d][0]:
            result[-1] = last[:d] + ((last[d][0], last[d][1] + 1),) + last[d + 1 :]
            return
    result.append(new)
