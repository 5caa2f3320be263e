"""nki.language: random numbers, their seeds, and additions to rows in memory."""

import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.language as new_nl
import numpy as np
import pytest
from isa_harness import integers, result_of, uniform

LANGUAGES = {"new": new_nl, "old": old_nl}


@pytest.mark.parametrize("language", LANGUAGES)
def test_rand_is_uniform_and_repeats_with_its_seed(language):
    words = LANGUAGES[language]

    def body(seed):
        def inner(a):
            words.random_seed(seed if language == "old" else a)
            return words.rand((128, 300), dtype=words.float32)

        return inner

    def numbers(seed):
        array = np.array([[seed]], np.int32)
        return result_of(body(seed), array, language=language)

    first, again, other = numbers(42), numbers(42), numbers(43)
    np.testing.assert_array_equal(first, again)
    assert (first != other).mean() > 0.9
    assert 0 <= first.min() and first.max() < 1
    assert first.mean() == pytest.approx(0.5, abs=0.01)
    assert first.std() == pytest.approx(1 / np.sqrt(12), abs=0.01)


def test_atomic_rmw_adds_to_the_rows_of_an_index():
    @old_nki.jit
    def kernel(a, rows):
        out = old_nl.ndarray((40, 12), a.dtype, buffer=old_nl.shared_hbm)
        old_nl.store(out, old_nl.full((40, 12), 2.0, a.dtype))
        index = old_nl.load(rows)
        columns = old_nl.arange(12)[None, :]
        old_nl.atomic_rmw(out[index, columns], old_nl.load(a), op=np.add)
        return out

    a = uniform(8, 12)
    rows = np.argsort(integers(40, high=1000))[:8].astype(np.int32)[:, None]
    expected = np.full((40, 12), 2, np.float32)
    expected[rows[:, 0]] += a
    np.testing.assert_array_equal(kernel(a, rows), expected)


def test_atomic_rmw_needs_an_index_and_add():
    def plain(a):
        out = old_nl.ndarray((8, 12), a.dtype, buffer=old_nl.hbm)
        old_nl.atomic_rmw(out, a, op=np.add)
        return a

    def multiplied(a):
        out = old_nl.ndarray((8, 12), a.dtype, buffer=old_nl.hbm)
        old_nl.atomic_rmw(out, a, op=np.multiply)
        return a

    texts = {
        plain: "dst of 'atomic_rmw' must be indexed with a tile of indices.",
        multiplied: "op of 'atomic_rmw' must be np.add.",
    }
    for body, text in texts.items():
        with pytest.raises(ValueError) as caught:
            result_of(body, uniform(8, 12), language="old")
        assert str(caught.value) == text
