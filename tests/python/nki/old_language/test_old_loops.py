"""Loops, grids and scopes of the old language."""

import contextlib

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, uniform
from nki_errors import error_of


def output(a):
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


def test_a_python_counter_in_a_counted_loop_ends_at_one():
    counts = []

    @nki.jit
    def kernel(a):
        out, count = output(a), 0
        for i in nl.affine_range(4):
            nl.store(out[i], nl.load(a[i]))
            count += 1
        counts.append(count)
        return out

    a = uniform(4, 8, 8)
    assert np.array_equal(kernel(a), a)
    assert counts == [1]


@pytest.mark.parametrize("needs_number", [
    lambda i, a: [0, 1, 2, 3][i], lambda i, a: i % 2 + i - i % 2, lambda i, a: i // 2 * 2 + i % 2,
    lambda i, a: i if i > 0 else 0, lambda i, a: int(float(i)),
    lambda i, a: {0: 0, 1: 1, 2: 2, 3: 3}[i], lambda i, a: round(i * 1.0),
    lambda i, a: i * i // max(i, 1), lambda i, a: sum(1 for _ in range(i)),
])  # fmt: skip
def test_a_loop_variable_that_is_needed_as_a_number_unrolls_its_loop(needs_number):
    @nki.jit
    def kernel(a):
        out = output(a)
        for i in nl.affine_range(4):
            nl.store(out[i], nl.load(a[needs_number(i, a)]))
        return out

    a = uniform(4, 8, 8)
    assert np.array_equal(kernel(a), a)
    assert kernel.traced(a).source.instructions == 8


def test_only_the_loop_that_is_needed_is_unrolled():
    @nki.jit
    def kernel(a):
        out = output(a)
        for i in nl.affine_range(4):
            for j in nl.affine_range(3):
                if i == 2:
                    nl.store(out[i, j], nl.load(a[i, j]))
                else:
                    nl.store(out[i, j], 0)
        return out

    a = uniform(4, 3, 8, 8)
    expected = np.zeros_like(a)
    expected[2] = a[2]
    assert np.array_equal(kernel(a), expected)
    assert kernel.traced(a).source.instructions == 8


def test_exact_divisions_of_loop_variables_stay_symbolic():
    @nki.jit
    def kernel(a):
        out = output(a)
        for i in nl.affine_range(4):
            row = (4 * i + 1) // 2 // 2 + (4 * i) % 4
            nl.store(out[row], nl.load(a[i // 4 + i]))
        return out

    a = uniform(4, 8, 8)
    assert np.array_equal(kernel(a), a)
    assert kernel.traced(a).source.instructions == 2


def test_break_and_return_leave_a_loop():
    traces = []

    @nki.jit
    def kernel(a, way):
        out = output(a)
        traces.append(way)
        for i in nl.sequential_range(4):
            nl.store(out[i], nl.load(a[i]))
            if way == "break":
                break
            with contextlib.nullcontext():
                if way == "with":
                    break
            try:
                if way == "finally":
                    break
            finally:
                traces[-1] = f"{way} at last"
            if way == "raise":
                int(way)
            if way == "constant":
                return 5
            if way == "return":
                return out
        for i in nl.affine_range(3):
            nl.store(out[i + 1], 1.0)
        return out

    a = uniform(4, 8, 8)
    for way in ("break", "with", "finally"):
        assert np.array_equal(kernel(a, way), np.concatenate([a[:1], np.ones_like(a[1:])]))
        assert kernel.traced(a, way).source.instructions == 4
    assert np.array_equal(kernel(a, "return")[0], a[0])
    assert kernel(a, "constant") == 5
    traces.clear()
    with pytest.raises(ValueError, match="invalid literal"):
        kernel(a, "raise")
    assert traces == ["raise at last"]


def test_a_loop_without_trips_emits_nothing():
    @nki.jit
    def kernel(a):
        out = output(a)
        nl.store(out, nl.load(a))
        for i in nl.affine_range(0):
            nl.store(out[i], 1.0)
        return out

    a = uniform(8, 8)
    assert np.array_equal(kernel(a), a)


def test_loops_nest_deeper_than_the_program_can_count():
    @nki.jit
    def kernel(a):
        out = output(a)

        def nested(depth, row):
            if depth == 0:
                nl.store(out[row], nl.load(a[row]))
                return
            for i in nl.affine_range(2):
                nested(depth - 1, row * 2 + i)

        nested(9, 0)
        return out

    a = uniform(512, 1, 3)
    assert np.array_equal(kernel(a), a)


def test_a_sum_over_a_loop_is_kept_in_one_tile():
    @nki.jit
    def kernel(a):
        total = nl.zeros(a.shape[1:], dtype=a.dtype)
        for i in nl.affine_range(a.shape[0]):
            total += nl.load(a[i])
        return in_hbm(nl, total)

    a = uniform(5, 8, 3)
    assert np.allclose(kernel(a), a.sum(0), rtol=1e-6)
    assert kernel.traced(a).source.instructions == 4


def test_a_tile_of_a_loop_is_not_known_outside():
    @nki.jit
    def kernel(a, outside):
        out = output(a)
        for _ in nl.sequential_range(2):
            tmp = nl.load(a)
            nl.store(out, tmp)
        if outside:
            nl.store(out, tmp)
        return out

    a = uniform(8, 8)
    assert np.array_equal(kernel(a, False), a)
    assert error_of(kernel, a, True) == (
        "Local variable 'tmp' is referenced outside of its parent scope: tensors defined in a loop "
        "live in its body only."
    )


def test_shared_hbm_is_created_at_the_top_of_a_kernel():
    @nki.jit
    def kernel(a):
        for _ in nl.affine_range(2):
            out = output(a)
        return out

    assert error_of(kernel, uniform(4, 4)) == (
        "shared_hbm buffer can only be created top level kernel scope"
    )


@nki.jit
def instances(a):
    out = output(a)
    i, j = nl.program_id(0), nl.program_id(axis=1)
    tile = nl.load(a[i, j]) * 2
    nl.store(out[i, j], tile)
    return out


def test_instances_of_a_grid_run_one_after_another():
    a = uniform(4, 2, 3, 5)
    assert np.array_equal(instances[4, 2](a), a * 2)
    assert np.array_equal(instances[nl.spmd_dim(nl.nc(2), 2), 2](a), a * 2)
    assert np.array_equal(instances[2 * nl.nc(2), 2](a), a * 2)
    assert instances[4, 2].traced(a).source.instructions == 3


def test_a_program_id_may_decide_what_an_instance_does():
    @nki.jit
    def kernel(a):
        out = output(a)
        if nl.program_id(0) == 1:
            nl.store(out[nl.program_id(0)], nl.load(a[1]))
        else:
            nl.store(out[nl.program_id(0)], nl.num_programs(0) + 10 * nl.program_ndim())
        return out

    a = uniform(3, 4, 4)
    expected = np.full_like(a, 13)
    expected[1] = a[1]
    assert np.array_equal(kernel[3](a), expected)


def test_a_kernel_without_a_grid_is_instance_zero():
    @nki.jit
    def kernel(a):
        out = output(a)
        nl.store(out, nl.program_id(0) + nl.num_programs(0) + nl.program_ndim())
        return out

    assert np.array_equal(kernel(uniform(4, 4)), np.ones((4, 4), np.float32))


def test_a_dimension_that_a_grid_does_not_have_is_refused():
    assert error_of(instances[4], uniform(4, 2, 3, 5), kind=IndexError) == (
        "program_id(1): the grid has 1 dimensions."
    )

    @nki.jit
    def kernel(a):
        out = output(a)
        nl.store(out, nl.load(a) + nl.num_programs(1))
        return out

    assert error_of(kernel[4], uniform(4, 4), kind=IndexError) == (
        "num_programs(1): the grid has 1 dimensions."
    )


def test_a_nested_kernel_has_no_grid():
    @nki.jit
    def outer(a):
        return instances[4, 2](a)

    assert error_of(outer, uniform(4, 2, 3, 5)) == (
        "Calling kernel with spmd grid (instances[4,2]) inside another kernel is not supported"
    )


def test_a_kernel_called_in_a_kernel_becomes_a_part_of_it():
    @nki.trace
    def doubled(tile):
        return tile + tile

    @nki.jit
    def outer(a):
        out = output(a)
        nl.store(out, doubled(nl.load(a)))
        return out

    a = uniform(4, 4)
    assert np.array_equal(outer(a), 2 * a)
    assert outer.traced(a).source.instructions == 3


def test_language_functions_are_for_kernels():
    message = error_of(nl.zeros, (128, 4), np.float32, kind=RuntimeError)
    assert "outside of NKI kernel" in message


@pytest.mark.parametrize("loop", [nl.affine_range, nl.sequential_range])
def test_iterations_of_an_affine_range_write_different_memory(loop):
    @nki.jit
    def kernel(same):
        out = nl.ndarray((4, 8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        a = nl.ndarray((4, nl.par_dim(8), 8), dtype=nl.float32)
        for i in loop(4):
            a[i] = 1
            nl.store(out[i], a[i])
        for j in loop(4):
            if same:
                a[0] = 0
            nl.store(out[j], a[0])
        return out

    assert np.array_equal(kernel(False), np.ones((4, 8, 8)))
    if loop is nl.sequential_range:
        assert np.array_equal(kernel(True), np.zeros((4, 8, 8)))
    else:
        assert error_of(kernel, True) == (
            "Unexpected output dependencies, different iterations of j loop write to `a[0]`"
        )


def test_iterations_of_an_affine_range_may_write_all_of_a_tile():
    """No iteration sees what another one left, as where the weights of a convolution are loaded
    again for each position of the filter."""

    @nki.jit
    def kernel(a, b):
        out = nl.ndarray((8, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        weights = nl.ndarray((8, 2, 8), dtype=nl.float32)
        for i in nl.affine_range(2):
            for j in nl.affine_range(4):
                weights[...] = nl.load(a)
                columns = slice(2 * j, 2 * j + 2)
                product = nl.multiply(weights[:, i, columns], nl.load(b[:, columns]))
                if i == 1:
                    nl.store(out[:, columns], product)
        return out

    a, b = uniform(8, 2, 8), uniform(8, 8)
    assert np.array_equal(kernel(a, b), a[:, 1] * b)


def test_a_dimension_of_no_instances_is_one_of_a_single_instance():
    @nki.jit
    def kernel(a):
        out = output(a)
        nl.store(out, nl.load(a) + nl.program_id(0))
        return out

    a = uniform(4, 5)
    assert np.array_equal(kernel[0](a), a)
    assert error_of(kernel.__getitem__, -1) == "a grid of shape [-1] has no instances."
