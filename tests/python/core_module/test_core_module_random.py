"""Builder: random numbers of the Vector and GpSimd engines."""

import numpy as np
import pytest
from core_module_kernel import Kernel, normal

MASK = (1 << 32) - 1


def xorwow(words: list[int], count: int) -> list[int]:
    """Marsaglia's generator ("Xorshift RNGs", 2003) from x, y, z, w, v, d."""
    x, y, z, w, v, d = words
    numbers = []
    for _ in range(count):
        t = x ^ (x >> 2)
        x, y, z, w = y, z, w, v
        v = (v ^ (v << 4) ^ t ^ (t << 1)) & MASK
        d = (d + 362437) & MASK
        numbers.append((d + v) & MASK)
    return numbers


def test_rng_goes_on_from_the_state_that_was_set():
    state = np.random.default_rng(5).integers(1, 2**32, (4, 6), dtype=np.uint32)
    kernel = Kernel()
    numbers, after = kernel.tile([4, 10], np.uint32), kernel.tile([4, 6], np.uint32)
    kernel.builder.rand_set_state(kernel.load(state))
    kernel.builder.rand_get_state(after)
    kernel.builder.rng(numbers, engine="gpsimd")
    kernel.result(after, np.uint32)
    kernel.result(numbers, np.uint32)
    after, numbers = kernel.run()
    np.testing.assert_array_equal(after, state)
    expected = [xorwow([int(word) for word in row], 10) for row in state]
    np.testing.assert_array_equal(numbers, expected)


def test_a_seed_repeats_its_numbers():
    seed = np.array([[17]], np.int32)
    kernel = Kernel()
    tiles = [kernel.tile([8, 16], np.uint32) for _ in range(3)]
    source = kernel.load(seed)
    kernel.builder.set_rng_seed(source)
    kernel.builder.rng(tiles[0])
    kernel.builder.rng(tiles[1])
    kernel.builder.set_rng_seed(source)
    kernel.builder.rng(tiles[2])
    for tile in tiles:
        kernel.result(tile, np.uint32)
    first, second, again = kernel.run()
    np.testing.assert_array_equal(first, again)
    assert (first != second).all()
    assert len(np.unique(first)) == first.size


@pytest.mark.parametrize("kind", ["number", "tile"])
def test_dropout_drops_that_share_and_keeps_the_rest(kind):
    data = normal(128, 300) + 10
    prob = np.full((128, 1), 0.25, np.float32)
    kernel = Kernel()
    dst = kernel.tile(data.shape)
    share = kernel.load(prob) if kind == "tile" else 0.25
    kernel.builder.dropout(dst, kernel.load(data), share)
    kernel.result(dst)
    values = kernel.run()
    dropped = values == 0
    np.testing.assert_array_equal(values[~dropped], data[~dropped])
    deviation = np.sqrt(0.25 * 0.75 / data.size)
    assert abs(dropped.mean() - 0.25) < 5 * deviation


def test_rand2_is_uniform_between_its_bounds():
    kernel = Kernel("trn3")
    dst = kernel.tile([128, 200])
    high = np.full((128, 1), 3.0, np.float32)
    kernel.builder.rand2(dst, -1.0, kernel.load(high))
    kernel.result(dst)
    values = kernel.run().astype(np.float64)
    assert values.min() >= -1 and values.max() <= 3
    assert abs(values.mean() - 1) < 5 * 4 / np.sqrt(12 * values.size)
    assert abs(values.var() / (16 / 12) - 1) < 0.05


def test_what_cannot_be_random_is_refused():
    kernel = Kernel()
    tile, words = kernel.tile([4, 8]), kernel.tile([4, 8], np.uint32)
    builder = kernel.builder
    with pytest.raises(ValueError, match="prob 1.5 of 'dropout' must be a probability"):
        builder.dropout(tile, tile, 1.5)
    with pytest.raises(TypeError, match="parameter 'prob' is '0.5', not a number or a tile"):
        builder.dropout(tile, tile, "0.5")
    with pytest.raises(TypeError, match="operand 'dst' of 'rng'"):
        builder.rng(tile)
    with pytest.raises(NotImplementedError, match="instruction 'rand2' needs NeuronCore-v4"):
        builder.rand2(tile, 0.0, 1.0)
    with pytest.raises(ValueError, match="src_seeds' of 'set_rng_seed' must be a \\[1, 1\\] tile"):
        builder.set_rng_seed(words)
    with pytest.raises(ValueError, match="'rand_get_state'"):
        builder.rand_get_state(words)
    with pytest.raises(ValueError, match="'rand_set_state'"):
        builder.rand_set_state(words)
