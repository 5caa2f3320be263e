"""nki.isa: selections, predicated copies, statistics, and reductions with an accumulator."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import integers, result_of, uniform, write

A, B = uniform(128, 30), uniform(128, 30)
TRUTH = integers(128, 30, high=2, dtype=np.uint8)
FP32_MIN = np.finfo(np.float32).min


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("source", ["tile", "number"])
def test_tensor_copy_predicated_copies_where_the_predicate_holds(source, reverse):
    def body(dst, a, b, truth):
        nisa.tensor_copy(dst, b)
        value = a if source == "tile" else 7.5
        nisa.tensor_copy_predicated(dst, value, truth, reverse_pred=reverse)

    chosen = (TRUTH != 0) != reverse
    expected = np.where(chosen, A if source == "tile" else np.float32(7.5), B)
    np.testing.assert_array_equal(write(body, [A, B, TRUTH], A.shape), expected)


def test_select_reduce_selects_and_keeps_the_maximum():
    def body(dst, a, truth):
        largest = nl.ndarray((128, 1), nl.float32)
        nisa.select_reduce(
            dst, truth, a, -2.0, reduce_res=largest, reduce_cmd=nisa.reduce_cmd.reset_reduce,
            reduce_op=nl.maximum,
        )  # fmt: skip
        nisa.tensor_scalar(dst, dst, nl.subtract, largest)

    chosen = np.where(TRUTH != 0, A, np.float32(-2.0))
    expected = chosen - chosen.max(axis=1, keepdims=True)
    np.testing.assert_allclose(write(body, [A, TRUTH], A.shape), expected, rtol=1e-6)


def test_range_select_keeps_a_range_of_positions():
    low, high = integers(128, 1, high=10), integers(128, 1, low=10, high=30)
    low, high = low.astype(np.float32), high.astype(np.float32)

    def body(dst, a, first, last):
        nisa.range_select(dst, a, nl.greater_equal, nl.less, first, last, range_start=3)

    place = 3 + np.arange(30)
    expected = np.where((place >= low) & (place < high), A, FP32_MIN)
    np.testing.assert_array_equal(write(body, [A, low, high], A.shape), expected)


def test_affine_select_keeps_where_an_affine_index_compares_to_zero():
    def body(dst, a):
        nisa.affine_select(
            dst, [[-1, 30]], 1, a, -5.0, cmp_op=nl.greater_equal, offset=2
        )  # 2 + p - f >= 0

    p, f = np.ogrid[:128, :30]
    expected = np.where(2 + p - f >= 0, A, np.float32(-5))
    np.testing.assert_array_equal(write(body, [A], A.shape), expected)


PREDICATES = {
    "less": (lambda p, f: f < p, lambda p, f: f < p),
    "greater or equal": (lambda p, f: p + 3 >= 2 * f, lambda p, f: p + 3 >= 2 * f),
    "equal": (lambda p, f: p == f, lambda p, f: p == f),
    "of one dimension": (lambda p, f: f >= 7, lambda p, f: (f >= 7) | (p < 0)),
}


@pytest.mark.parametrize("name", PREDICATES)
def test_affine_select_of_the_old_language_takes_a_comparison(name):
    written, oracle = PREDICATES[name]

    def body(a):
        p, f = old_nl.mgrid[0:128, 0:30]
        return old_nisa.affine_select(written(p, f), a, on_false_value=-1.0)

    p, f = np.ogrid[:128, :30]
    expected = np.where(oracle(p, f), A, np.float32(-1))
    np.testing.assert_array_equal(result_of(body, A, language="old"), expected)


def test_affine_select_of_the_old_language_takes_tiles_in_psum():
    def body(a):
        p, f = old_nl.mgrid[0:128, 0:30]
        source = old_nl.ndarray((128, 30), dtype=old_nl.float32, buffer=old_nl.psum)
        source[...] = a
        result = old_nl.ndarray((128, 30), dtype=old_nl.float32, buffer=old_nl.psum)
        result[...] = old_nisa.affine_select(f < p, source, on_false_value=-1.0)
        return old_nl.copy(result)

    p, f = np.ogrid[:128, :30]
    expected = np.where(f < p, A, np.float32(-1))
    np.testing.assert_array_equal(result_of(body, A, language="old"), expected)


def test_tensor_scalar_reduce_reduces_what_it_writes():
    def body(dst, a):
        scratch = nl.ndarray(a.shape, nl.float32)
        nisa.tensor_scalar_reduce(scratch, a, nl.multiply, 2.0, nl.add, reduce_res=dst)

    expected = (2 * A.astype(np.float64)).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(write(body, [A], (128, 1)), expected, rtol=1e-5, atol=1e-5)

    def old(a):
        total = old_nl.ndarray((128, 1), dtype=old_nl.float32)
        old_nisa.tensor_scalar_reduce(
            data=a, op0=np.add, operand0=1.0, reduce_op=np.max, reduce_res=total
        )
        return total

    result = result_of(old, A, language="old")
    np.testing.assert_array_equal(result, (A + 1).max(axis=1, keepdims=True))


def test_tensor_scalar_cumulative_is_a_running_operator():
    result = write(
        lambda d, a: nisa.tensor_scalar_cumulative(d, a, nl.multiply, nl.add, 0.5), [A], A.shape
    )
    expected = np.cumsum(A.astype(np.float64) * 0.5, axis=1)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_tensor_scalar_cumulative_starts_at_a_value_or_goes_on():
    def body(dst, a):
        commands = nisa.reduce_cmd
        nisa.tensor_scalar_cumulative(
            dst, a, nl.add, nl.maximum, 0.0, imm1=0.25, reduce_cmd=commands.load_reduce
        )
        nisa.tensor_scalar_cumulative(
            dst, a, nl.subtract, nl.maximum, 1.0, imm1=9.0, reduce_cmd=commands.reduce
        )

    first = np.maximum.accumulate(np.maximum(A, np.float32(0.25)), axis=1)[:, -1:]
    expected = np.maximum.accumulate(np.maximum(A - 1, first), axis=1)
    np.testing.assert_allclose(write(body, [A], A.shape), expected, rtol=1e-6)


@pytest.mark.parametrize("op", ["add", "maximum", "average"])
def test_tensor_partition_reduce_reduces_across_partitions(op):
    oracle = {"add": np.sum, "maximum": np.max, "average": np.mean}[op]
    result = write(lambda d, a: nisa.tensor_partition_reduce(d, getattr(nl, op), a), [A], (1, 30))
    expected = oracle(A.astype(np.float64), axis=0, keepdims=True)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_bn_stats_and_bn_aggr_give_mean_and_variance():
    def new(dst, a):
        statistics = nl.ndarray((128, 6), nl.float32)
        nisa.bn_stats(statistics, a)
        nisa.bn_aggr(dst, statistics)

    def old(a):
        return old_nisa.bn_aggr(old_nisa.bn_stats(a))

    exact = A.astype(np.float64)
    expected = np.stack([exact.mean(axis=1), exact.var(axis=1)], axis=1)
    np.testing.assert_allclose(write(new, [A], (128, 2)), expected, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(result_of(old, A, language="old"), expected, rtol=1e-4, atol=1e-6)


def test_exponential_sums_on_trn3():
    def body(dst, a):
        powers = nl.ndarray(a.shape, nl.float32)
        nisa.exponential(powers, a, 0.5, reduce_res=dst, reduce_cmd=nisa.reduce_cmd.reset_reduce)

    expected = np.exp(A.astype(np.float64) - 0.5).sum(axis=1, keepdims=True)
    result = write(body, [A], (128, 1), architecture="trn3")
    np.testing.assert_allclose(result, expected, rtol=1e-4)


def test_activate2_configures_its_stage_on_trn3():
    def body(dst, a):
        nisa.activate2(dst, nl.exp, a, 2.0, 1.0, nl.multiply, nl.subtract)

    result = write(body, [A], A.shape, architecture="trn3")
    np.testing.assert_allclose(result, np.exp(A.astype(np.float64) * 2 - 1), rtol=1e-5)
