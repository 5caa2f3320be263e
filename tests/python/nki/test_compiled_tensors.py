"""What tensors, index expressions and masks do in C++ against what their Python code does.

The base classes of neuron_sim._core take the common cases and leave the others to Python, which has
all of them: both must make the same pattern, or refuse with the same sentence.
"""

import random

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from neuron_sim import _core
from neuron_sim.nki.tracing import Tensor, boxes, current, indexing, patterns
from neuron_sim.nki.tracing import mask as masks
from neuron_sim.nki.tracing.expression import Expression, arange, variable

SHAPE = (128, 6, 40)
CASES = 400


def in_a_kernel(body):
    """Runs body(tile, hbm tensor, loop variable) while a kernel is traced."""

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a).settle()
        for i in nl.sequential_range(4):
            body(tile, a, i)
        nl.store(out, tile)
        return out

    kernel.call(np.zeros(SHAPE, np.float32)).trace_anew()


def outcome(function, *arguments):
    """What a function returns, or its error."""
    try:
        return function(*arguments)
    except (IndexError, TypeError, ValueError, OverflowError) as error:
        return type(error), str(error)


def written(value):
    """An offset or a check as text: ints and expressions."""
    return repr(value)


def fields(tensor):
    """What tells patterns apart; checks that hold already tell nothing."""
    if not isinstance(tensor, Tensor):
        return tensor
    broken = [
        (d, written(base), dict(steps), size)
        for d, base, steps, size in tensor.checks or ()
        if outcome(_hold, tensor, (d, base, steps, size)) is not True
    ]
    places = written(tensor.partition), written(tensor.start)
    return tensor.shape, tensor.steps, tensor.axis, *places, broken


def _hold(tensor, check):
    d, base, steps, size = check
    low, high = (base, base) if isinstance(base, int) else base.bounds()
    for j, step in steps.items():
        extent = step * (tensor.shape[j] - 1)
        low, high = low + min(extent, 0), high + max(extent, 0)
    return low >= 0 and high < size


def _bound(draw, size):
    return draw.choice([None, None, draw.randrange(-size, size + 3), draw.randrange(size)])


def _range_item(draw, size, loop):
    return draw.choice(
        [
            slice(None),
            slice(_bound(draw, size), _bound(draw, size)),
            slice(loop * 2, loop * 2 + draw.randrange(1, 5)),
            slice(draw.randrange(size), None, draw.randrange(1, 4)),
            nl.ds(draw.randrange(size), draw.randrange(1, size + 1)),
            nl.ds(loop * draw.randrange(4), draw.randrange(1, 5)),
            draw.randrange(-size, size + 2),
            loop + draw.randrange(-1, size),
        ]
    )


def _expression_item(draw, loop, rank, size):
    axis = draw.randrange(rank)
    extent = draw.randrange(1, min(size, 6) + 1)
    index = arange(0, extent)[tuple([slice(None) if d == axis else None for d in range(rank)])]
    index = index * draw.choice([1, 1, 2]) + draw.randrange(-1, size)
    return index + loop * draw.randrange(3) if draw.random() < 0.4 else index


def _items(draw, tensor, loop):
    count = draw.randrange(1, len(SHAPE) + 1)
    sizes = tensor.shape[:count]
    if draw.random() < 0.5:
        return tuple([_range_item(draw, size, loop) for size in sizes])
    rank = draw.randrange(2, 4)
    items = [_expression_item(draw, loop, rank, size) for size in sizes]
    if tensor.axis is not None:  # along the partitions
        items[0] = arange(draw.randrange(8), draw.randrange(1, 100))[
            (slice(None), *[None] * (rank - 1))
        ]
    if draw.random() < 0.3:
        items[draw.randrange(count)] = draw.randrange(sizes[0])
    return tuple(items)


def test_indices_make_the_patterns_of_the_python_code():
    draw = random.Random(5)
    seen = set()

    def body(tile, hbm, loop):
        for _ in range(CASES):
            tensor = draw.choice([tile, hbm])
            items = _items(draw, tensor, loop)
            compiled = outcome(tensor.__getitem__, items)
            python = outcome(indexing.indexed, tensor, items)
            assert fields(compiled) == fields(python), items
            seen.add(isinstance(compiled, Tensor))

    in_a_kernel(body)
    assert seen == {True, False}


def test_the_rest_of_a_mask_is_that_of_the_python_code():
    draw = random.Random(6)

    def python_boxes(mask, shape):
        cutting = [each for each in mask.conditions if each.bounds()[0] < 0]
        if any(each.bounds()[1] < 0 for each in mask.conditions):
            return []
        return masks._cut(mask, cutting, shape) if cutting else None

    def body(tile, hbm, loop):
        i_p, i_f = nl.arange(20)[:, None], nl.arange(30)[None, :]
        for _ in range(CASES):
            mask = draw.choice([i_p, i_f]) * draw.choice([1, 2, 3]) < draw.randrange(-2, 95)
            if draw.random() < 0.6:
                mask = mask & (draw.choice([i_p, i_f]) >= draw.randrange(-3, 33))
            if isinstance(mask, bool):
                continue
            box = boxes(mask, (20, 30))
            assert box == python_boxes(mask, (20, 30)), mask
            for tensor in (tile[0:20, 0, 0:30], hbm[i_p, 1, i_f + 12]):
                for each in box or ():
                    narrowed = outcome(tensor.narrow, each)
                    assert fields(narrowed) == fields(outcome(indexing.narrowed, tensor, each))

    in_a_kernel(body)


def test_patterns_are_those_of_the_python_code():
    draw = random.Random(7)

    def python_ap(tensor, pattern, offset):
        plain = type(tensor).plain_pattern
        assert plain is _core.TensorPattern.plain_pattern
        pairs = [(int(step), int(size)) for step, size in pattern]
        shape = tuple([size for _, size in pairs])
        if tensor.axis is None:
            return tensor.derived(shape, tuple([step for step, _ in pairs]), None, 0, offset)
        return patterns._on_chip(tensor, pairs, shape, offset)

    def body(tile, hbm, loop):
        for _ in range(CASES):
            tensor = draw.choice([tile, hbm])
            inner = [[draw.randrange(4), draw.randrange(1, 5)] for _ in range(draw.randrange(3))]
            pattern = [[draw.choice([240, 240, 3]), draw.choice([1, 7, 128])], *inner]
            offset = draw.randrange(500)
            if draw.random() < 0.3:
                offset = offset % 200 + loop * draw.choice([1, 240])
            compiled = outcome(tensor.ap, pattern, offset)
            assert fields(compiled) == fields(outcome(python_ap, tensor, pattern, offset))

    in_a_kernel(body)


def test_arithmetic_of_indices_is_that_of_numbers():
    draw = random.Random(8)

    def body(tile, hbm, loop):
        i_p, i_f = nl.arange(5)[:, None], nl.arange(3, 9)[None, :]
        other = variable(current().loops[0], 7, -2)
        values = {
            k: (np.arange(5)[:, None], np.arange(3, 9)[None, :], k, 7 - 2 * k) for k in range(4)
        }
        for _ in range(CASES):
            factors = [draw.randrange(-3, 4) for _ in range(4)]
            shift = draw.randrange(-9, 9)
            terms = (i_p, i_f, loop, other)
            total, numbers = shift, dict.fromkeys(values, shift)
            for factor, term, number in zip(factors, terms, range(4), strict=True):
                total = draw.choice([total + term * factor, total - term * -factor])
                numbers = {k: each + values[k][number] * factor for k, each in numbers.items()}
            low, high = total.bounds()
            assert low <= min(np.min(each) for each in numbers.values())
            assert high >= max(np.max(each) for each in numbers.values())
            if isinstance(total, Expression) and not total.terms:
                assert (low, high) == (np.min(numbers[0]), np.max(numbers[0]))
            assert repr(0 - (0 - total)) == repr(total)

    in_a_kernel(body)


@pytest.mark.parametrize(
    "make", [lambda i: i * 2**70, lambda i: i * 2**62 * 4, lambda i: i + 2**64]
)
def test_indices_beyond_64_bits_are_refused(make):
    def body(tile, hbm, loop):
        with pytest.raises(OverflowError) as caught:
            make(loop)
        assert str(caught.value) == "an index expression is beyond 64 bits."

    in_a_kernel(body)


def test_fields_that_are_trusted_take_nothing_else():
    def body(tile, hbm, loop):
        with pytest.raises(TypeError, match="the storage of a tensor is a TensorStorage."):
            tile.storage = 5
        with pytest.raises(AttributeError):
            tile.pending = None
        with pytest.raises(TypeError, match="is a TensorStorage or None"):
            Tensor(3, (1, 2), tile.dtype, (1, 1), 0)

    in_a_kernel(body)
