"""nki.isa: states of the random generators, uniform numbers, tiles of the PE array, the target."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import BFLOAT16, integers, target, uniform, write


@pytest.mark.parametrize(("engine", "words", "architecture"), [
    (nisa.engine.gpsimd, 6, "trn2"), (nisa.engine.gpsimd, 6, "trn3"),
    (nisa.engine.vector, 24, "trn3"),
])  # fmt: skip
def test_the_state_of_a_generator_is_loaded_and_stored(engine, words, architecture):
    state = integers(128, words, low=1, high=1 << 31, dtype=np.uint32)

    def body(dst, seeds):
        nisa.rand_set_state(seeds, engine=engine)
        nisa.rand_get_state(dst, engine=engine)

    result = write(body, [state], state.shape, "uint32", architecture=architecture)
    np.testing.assert_array_equal(result, state)


def test_rand2_is_uniform_between_its_bounds_on_trn3():
    low = uniform(128, 1, low=-3, high=-2)

    def body(dst, bound):
        nisa.rand2(dst, bound, 5.0)

    result = write(body, [low], (128, 400), architecture="trn3")
    assert (result >= low).all() and (result <= 5).all()
    middle = (low + 5) / 2
    np.testing.assert_allclose(result.mean(axis=1, keepdims=True), middle, atol=0.6)


def test_a_product_on_a_part_of_the_array():
    a, b = uniform(64, 100, dtype=BFLOAT16), uniform(64, 80, dtype=BFLOAT16)

    def body(dst, x, y):
        result = nl.ndarray(dst.shape, nl.float32, buffer=nl.psum)
        nisa.nc_matmul(result, x, y, tile_position=(0, 0), tile_size=(64, 128))
        nisa.tensor_copy(dst, result)

    expected = a.astype(np.float64).T @ b.astype(np.float64)
    np.testing.assert_allclose(write(body, [a, b], (100, 80)), expected, rtol=1e-5, atol=1e-4)


def test_a_part_of_the_array_needs_position_and_size():
    def body(dst, x, y):
        result = nl.ndarray(dst.shape, nl.float32, buffer=nl.psum)
        nisa.nc_matmul(result, x, y, tile_size=(64, 128))

    with pytest.raises(ValueError) as caught:
        write(body, [uniform(8, 8), uniform(8, 8)], (8, 8))
    assert "'nc_matmul'" in str(caught.value)


@pytest.mark.parametrize("mode", [nisa.matmul_perf_mode.double_row, "double_row"])
def test_double_rows_of_fp8_contract_twice_as_many_values(mode):
    a = integers(128, 2, 20, low=-2, high=3).astype(nl.float8_e5m2.numpy)
    b = integers(128, 2, 30, low=-2, high=3).astype(nl.float8_e5m2.numpy)

    def body(dst, x, y):
        result = nl.ndarray(dst.shape, nl.float32, buffer=nl.psum)
        nisa.nc_matmul(result, x, y, perf_mode=mode)
        nisa.tensor_copy(dst, result)

    expected = np.einsum("kri,krj->ij", a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_array_equal(write(body, [a, b], (20, 30)), expected)


@pytest.mark.parametrize("mode", ["double", 1, None])
def test_a_mode_of_the_array_is_one_of_the_enumeration(mode):
    def body(dst, x):
        nisa.nc_matmul(nl.ndarray((8, 8), nl.float32, buffer=nl.psum), x, x, perf_mode=mode)

    with pytest.raises(TypeError, match="not a member of nki.isa.matmul_perf_mode"):
        write(body, [uniform(8, 8)], (8, 8))


@pytest.mark.parametrize("architecture", ["trn1", "trn2", "trn3"])
def test_the_sub_version_is_a_revision(architecture):
    with target(architecture):
        assert nisa.get_nc_sub_version() in (0, 1)
