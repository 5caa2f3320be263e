"""Indices, masks and patterns of traced tensors against NumPy: which elements they name."""

import random

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from neuron_sim import _core
from neuron_sim.nki.tracing import Tensor, boxes, current
from neuron_sim.nki.tracing.expression import Expression, arange, variable

SHAPE = (128, 6, 40)
ELEMENTS = np.arange(np.prod(SHAPE)).reshape(SHAPE)
ROW = 6 * 40  # elements of a partition
TRIPS = 4
CASES = 400
REASONS = ("Out-of-bound access", "cannot be broadcast", "partition stride")


def in_a_kernel(body):
    """Runs body(tile, hbm tensor, loop variable) while a kernel is traced."""

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.load(a).settle()
        for i in nl.sequential_range(TRIPS):
            body(tile, a, i)
        nl.store(out, tile)
        return out

    kernel.call(np.zeros(SHAPE, np.float32)).trace_anew()


def at_trip(value, trip):
    """An index, an offset or a slice of them as NumPy takes it, in one iteration of the loop."""
    if isinstance(value, slice):
        return slice(at_trip(value.start, trip), at_trip(value.stop, trip), value.step)
    if isinstance(value, _core.DynamicSlice):
        start = at_trip(value.start, trip)
        return slice(start, start + value.size)
    if not isinstance(value, Expression):
        return value
    number = value.constant + sum(factor * trip for factor in value.terms.values())
    for d, (step, size) in enumerate(zip(value.steps, value.shape, strict=True)):
        place = tuple([size if e == d else 1 for e in range(len(value.shape))])
        number = number + step * np.arange(size).reshape(place)
    return number


def elements(tensor, trip):
    """The numbers of the elements that a pattern names, in row-major order of the storage."""
    across = 1 if tensor.axis is None else ROW
    number = at_trip(tensor.start, trip) + across * at_trip(tensor.partition, trip)
    for d, (step, size) in enumerate(zip(tensor.steps, tensor.shape, strict=True)):
        place = tuple([size if e == d else 1 for e in range(len(tensor.shape))])
        factor = step * (across if d == tensor.axis else 1)
        number = number + factor * np.arange(size).reshape(place)
    return np.broadcast_to(number, tensor.shape)


def fits(items, trip):
    """Whether the indices have a common shape, and every one is an index of its dimension."""
    try:
        np.broadcast_shapes(*[each.shape for each in items if isinstance(each, Expression)])
    except ValueError:
        return False
    for size, index in zip(SHAPE, items, strict=False):
        item = at_trip(index, trip)
        if isinstance(item, slice):
            start, stop = item.start or 0, size if item.stop is None else item.stop
            start, stop = (each + size if each < 0 else each for each in (start, stop))
            count = len(range(start, stop, item.step or 1))
            item = np.array([start, start + (count - 1) * (item.step or 1) if count else start])
        elif isinstance(index, int) and item < 0:
            item += size
        if np.min(item) < 0 or np.max(item) >= size:
            return False
    return True


def _bound(draw, size):
    return draw.choice([None, None, draw.randrange(-size, size + 3), draw.randrange(size)])


def _range_item(draw, size, loop):
    return draw.choice(
        [slice(None), slice(_bound(draw, size), _bound(draw, size)),
            slice(loop * 2, loop * 2 + draw.randrange(1, 5)),
            slice(draw.randrange(size), None, draw.randrange(1, 4)),
            nl.ds(draw.randrange(size), draw.randrange(1, size + 1)),
            nl.ds(loop * draw.randrange(4), draw.randrange(1, 5)), draw.randrange(-size, size + 2),
            loop + draw.randrange(-1, size)],
    )  # fmt: skip


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


def _checked(tensor, items):
    """tensor[items] after its bounds were checked; None when it is refused."""
    try:
        result = tensor[items]
        result.run_checks()
    except (IndexError, ValueError) as error:
        assert any(reason in str(error) for reason in REASONS)
        return None
    return result


def test_indices_name_the_elements_that_numpy_names():
    draw = random.Random(5)
    seen = set()

    def body(tile, hbm, loop):
        for _ in range(CASES):
            tensor = draw.choice([tile, hbm])
            items = _items(draw, tensor, loop)
            part = _checked(tensor, items)
            seen.add(part is None)
            rows = items[0] if tensor is tile and isinstance(items[0], slice) else slice(None)
            good = rows.step in (None, 1) and all(fits(items, trip) for trip in range(TRIPS))
            assert (part is not None) == good, items
            for trip in range(TRIPS if good else 0):
                expected = ELEMENTS[tuple([at_trip(item, trip) for item in items])]
                assert np.array_equal(elements(part, trip).ravel(), expected.ravel()), items

    in_a_kernel(body)
    assert seen == {True, False}


def test_a_mask_leaves_the_elements_that_numpy_leaves():
    draw = random.Random(6)
    p, f = np.ogrid[0:20, 0:30]

    def body(tile, hbm, loop):
        i_p, i_f = nl.arange(20)[:, None], nl.arange(30)[None, :]
        one = nl.arange(1)[None, :]
        for _ in range(CASES):
            a, b, c = (draw.randrange(-2, 3) for _ in range(3))
            least, first = draw.randrange(-40, 40), draw.randrange(-3, 23)
            mask = i_p * a + i_f * b + one * c >= least
            keeps = np.broadcast_to(p * a + f * b >= least, (20, 30))
            if draw.random() < 0.5:
                mask, keeps = (i_p >= first) & mask, keeps & (p >= first)
            cut = boxes(mask, (20, 30))
            for tensor in (tile[0:20, 0, 0:30], hbm[i_p, 1, i_f + 10]):
                cells = elements(tensor, 0)
                parts = [tensor] if cut is None else [tensor.narrow(each) for each in cut]
                left = [number for part in parts for number in elements(part, 0).ravel()]
                assert sorted(left) == sorted(cells[keeps])

    in_a_kernel(body)


def test_a_mask_moves_the_bounds_that_do_not_hold_yet():
    def body(tile, hbm, loop):
        rows, columns = nl.arange(20)[:, None], nl.arange(30)[None, :]
        beyond = hbm[rows + 112, 1, columns]
        assert beyond.narrow(((0, 16), (0, 30))).checks is None
        for box in (((0, 17), (0, 30)), ((4, 13), (0, 30))):
            with pytest.raises(IndexError, match=r"dimension 0: index range \[\d+, 128\]"):
                beyond.narrow(box).run_checks()

    in_a_kernel(body)


def test_patterns_name_the_elements_of_their_steps():
    draw = random.Random(7)
    seen = set()

    def body(tile, hbm, loop):
        for _ in range(CASES):
            tensor = draw.choice([tile, hbm])
            inner = [[draw.randrange(4), draw.randrange(1, 5)] for _ in range(draw.randrange(3))]
            pattern = [[draw.choice([ROW, ROW, 3]), draw.choice([1, 7, 128])], *inner]
            offset = draw.choice([draw.randrange(500), np.int64(17)])
            if draw.random() < 0.3:
                offset = offset % 200 + loop * draw.choice([1, ROW])
            refused = tensor is tile and pattern[0][0] != ROW and pattern[0][1] != 1
            seen.add(refused)
            if refused:
                with pytest.raises(ValueError, match="must be the 240 elements of a partition"):
                    tensor.ap(pattern, offset)
                continue
            if pattern[0][1] == 1:
                pattern[0][0] = ROW  # of one partition
            part = tensor.ap(pattern, offset)
            for trip in range(TRIPS):
                expected = np.array(at_trip(offset, trip))
                for step, size in pattern:
                    expected = expected[..., None] + step * np.arange(size)
                assert np.array_equal(elements(part, trip).ravel(), expected.ravel())

    in_a_kernel(body)
    assert seen == {True, False}


def test_quotients_of_indices_are_those_of_numbers():
    draw = random.Random(9)
    seen = set()

    def body(tile, hbm, loop):
        for _ in range(CASES):
            value = nl.arange(3, 9) * draw.randrange(-3, 4) * 4 + draw.randrange(-9, 9)
            divisor = draw.choice([1, 2, 3, 4, -1, -4, 64, np.int16(4)])
            try:
                quotient, remainder = divmod(value, divisor)
            except ValueError as error:
                assert "is not an affine expression of static loop indices." in str(error)
                seen.add(False)
                continue
            seen.add(True)
            expected = divmod(at_trip(value, 0), int(divisor))
            assert np.array_equal(at_trip(quotient, 0), expected[0])
            assert np.array_equal(at_trip(remainder, 0), expected[1])
            assert np.array_equal(at_trip(value // divisor, 0), expected[0])
            assert np.array_equal(at_trip(value % divisor, 0), expected[1])

    in_a_kernel(body)
    assert seen == {True, False}


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
