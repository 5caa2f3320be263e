"""Names of both languages that only some kernels use: the same as the vendor's, or named errors."""

import ml_dtypes
import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as ol
import neuron_sim.nki as nki
import neuron_sim.nki.compiler as new_compiler
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm, target, uniform
from neuron_sim.nki.compiler.target import resolve_target, target_to_nc_version
from nki_errors import error_of


def stored(language, compute, shape, dtype=np.float32):
    """A kernel that stores compute(tiles of its arguments)."""
    jit, of = (old.jit, ol) if language == "old" else (nki.jit, nl)

    @jit
    def kernel(*arrays):
        out = of.ndarray(shape, dtype=dtype, buffer=of.shared_hbm)
        of.store(out, compute(of, *[of.load(array) for array in arrays]))
        return out

    return kernel


LANGUAGES = pytest.mark.parametrize("language", ["old", "new"])


@LANGUAGES
def test_tiles_like_another(language):
    a = uniform(5, 7)
    assert (stored(language, lambda of, x: of.full_like(x, 2.5), (5, 7))(a) == 2.5).all()
    assert (stored(language, lambda of, x: of.ones_like(x), (5, 7))(a) == 1).all()
    integers = stored(language, lambda of, x: of.full_like(x, -3, dtype=of.int32), (5, 7), np.int32)
    assert (integers(a) == -3).all()


@LANGUAGES
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (128, 3), (7, 1025)])
def test_an_outer_product_of_rows_and_of_a_column_and_a_row(language, rows, columns):
    x, y = uniform(1, rows), uniform(1, columns)
    kernel = stored(language, lambda of, *tiles: of.outer_product(*tiles), (rows, columns))
    expected = np.outer(x.astype(np.float64), y.astype(np.float64))
    assert np.allclose(kernel(x, y), expected, rtol=1e-6)
    assert np.allclose(kernel(x.T.copy(), y), expected, rtol=1e-6)


@LANGUAGES
def test_an_outer_product_of_matrices_and_of_too_many_rows_is_refused(language):
    kernel = stored(language, lambda of, *tiles: of.outer_product(*tiles), (2, 3))
    assert error_of(kernel, uniform(2, 2), uniform(1, 3)) == (
        "operands 'x' [2, 2] and 'y' [1, 3] of 'outer_product' must be a row [1, M] or a column "
        "[M, 1], and a row [1, N]."
    )
    assert error_of(kernel, uniform(1, 129), uniform(1, 3)) == (
        "size of dimension 1 in 'result[1, 129]' of 'outer_product' exceed architecture limitation "
        "of 128."
    )


def test_the_identity_matrix_of_the_new_language_is_a_tile():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((2, 6, 6), dtype=nl.float32, buffer=nl.shared_hbm)
        product = nl.ndarray((6, 6), dtype=nl.float32, buffer=nl.psum)
        identity = nl.shared_identity_matrix(6, dtype=nl.float32)
        nisa.nc_matmul(dst=product, stationary=nl.load(a), moving=identity)
        nl.store(out[0], product)
        own = nl.ndarray((6, 6), dtype=nl.float32, buffer=nl.sbuf)
        assert nl.shared_identity_matrix(6, dst=own) is own
        nl.store(out[1], own)
        return out

    a = uniform(6, 6)
    assert np.allclose(kernel(a), [a.T, np.identity(6)], rtol=1e-6)


def test_a_constant_may_be_a_file(tmp_path):
    a = uniform(3, 4)
    np.save(tmp_path / "constant.npy", a)
    file = str(tmp_path / "constant.npy")
    kernel = stored("new", lambda of: of.load(of.shared_constant(file)), (3, 4))
    assert np.array_equal(kernel(), a)


def test_the_dtype_of_a_copy_of_early_releases_changes_nothing():
    def copied(dtype):
        @nki.jit
        def kernel(a):
            tile = nl.ndarray((4, 5), dtype=nl.float32, buffer=nl.sbuf)
            nisa.tensor_copy(dst=tile, src=nl.load(a), dtype=dtype)
            return in_hbm(nl, tile)

        return kernel

    a = uniform(4, 5)
    assert np.array_equal(copied(nl.bfloat16)(a), a)
    assert np.array_equal(copied(None)(a), a)
    assert error_of(copied("float64"), a, kind=TypeError) == (
        "dtype 'float64' is not supported by the device."
    )


def test_the_compiler_of_the_new_language_has_its_decorators_and_target():
    @new_compiler.skip_middle_end_transformations
    @nki.jit
    def kernel(a):
        return in_hbm(nl, nl.load(a))

    a = uniform(4, 5)
    assert np.array_equal(kernel(a), a)
    assert nki.compiler is new_compiler
    for name, generation in (("trn1", 2), ("inf2", 2), ("trn2", 3), ("gen4", 4)):
        assert target_to_nc_version(name) == generation
        with target(name):
            assert resolve_target() == {"gen4": "trn3"}.get(name, name)
            assert nisa.get_nc_version().value == generation


@pytest.mark.parametrize(("module", "name", "sentence"), [
    (nki, "load", "module 'nki' has no attribute 'load'; it is nki.language.load."),
    (old, "arange",
        "module 'neuronxcc.nki' has no attribute 'arange'; it is neuronxcc.nki.language.arange."),
    (old, "compile", "'neuronxcc.nki.compile' exists at the vendor but is not there yet."),
    (nki, "jitt", "module 'nki' has no attribute 'jitt'. Did you mean 'jit'?"),
    (new_compiler, "kernel_builder",
        "'nki.compiler.kernel_builder' exists at the vendor but is not there yet."),
    (old.compiler, "backends",
        "'neuronxcc.nki.compiler.backends' exists at the vendor but is not there yet."),
])  # fmt: skip
def test_a_name_that_is_elsewhere_or_nowhere_is_named(module, name, sentence):
    assert error_of(lambda: getattr(module, name), kind=AttributeError) == sentence


def test_without_precise_floats_low_precision_is_kept_in_fp32(monkeypatch):
    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, 8), dtype=nl.float32, buffer=nl.shared_hbm)
        scratch = nl.ndarray((4, 8), dtype=nl.bfloat16, buffer=nl.private_hbm)
        low = nl.ndarray((4, 8), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_copy(dst=low, src=nl.load(a))
        nl.store(scratch, low)
        nl.store(out, nl.load(scratch))
        return out

    a = uniform(4, 8)
    rounded = a.astype(ml_dtypes.bfloat16).astype(np.float32)
    assert not np.array_equal(rounded, a)
    for value, expected in (("1", rounded), ("0", a)):
        monkeypatch.setenv("NKI_PRECISE_FP", value)
        assert np.array_equal(nki.simulate(kernel)(a), expected)
    monkeypatch.delenv("NKI_PRECISE_FP")
    assert np.array_equal(kernel(a), rounded)


def test_tiles_seen_as_another_dtype_keep_their_bits_without_precise_floats(monkeypatch):
    @nki.jit
    def kernel(a):
        low = nl.ndarray((4, 8), dtype=nl.bfloat16, buffer=nl.sbuf)
        nisa.tensor_copy(dst=low, src=nl.load(a))
        return in_hbm(nl, low.view(nl.uint16))

    monkeypatch.setenv("NKI_PRECISE_FP", "0")
    a = uniform(4, 8)
    assert np.array_equal(kernel(a), a.astype(ml_dtypes.bfloat16).view(np.uint16))


def test_the_partition_dimension_may_be_marked_as_in_early_releases():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, 5), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.ndarray((nl.par_dim(4), 5), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a)
        nisa.dma_copy(dst=out, src=tile)
        return out

    a = uniform(4, 5)
    assert np.array_equal(kernel(a), a)


def test_each_core_has_private_tensors_of_its_own():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((2, 4, 5), dtype=nl.float32, buffer=nl.shared_hbm)
        core = nl.program_id(0)
        scratch = nl.ndarray((4, 5), dtype=nl.float32, buffer=nl.private_hbm)
        tile = nl.ndarray((4, 5), dtype=nl.float32, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=float(core))
        nisa.dma_copy(dst=scratch, src=tile)
        nisa.dma_copy(dst=out[core], src=scratch)
        return out

    a = uniform(4, 5)
    assert np.allclose(kernel[2](a), [a, a + 1])


def test_cores_that_compute_the_same_may_both_write_it():
    @nki.jit
    def kernel(a):
        out = nl.ndarray((4, 5), dtype=nl.float32, buffer=nl.shared_hbm)
        tile = nl.load(a)
        nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out, src=tile)
        return out

    a = uniform(4, 5)
    assert np.array_equal(kernel[2](a), 2 * a)


@pytest.mark.parametrize("grid", [0, 1, (1,)])
def test_a_grid_of_one_or_none_is_one_instance(grid):
    @old.jit
    def kernel(a):
        return in_hbm(ol, ol.load(a) + float(ol.program_id(0)) + ol.num_programs(0))

    a = uniform(3, 4)
    assert np.array_equal(kernel[grid](a), a + 1)


def test_sizes_of_dtypes_are_in_a_module_of_the_old_language():
    from neuron_sim.neuronxcc.nki.language.constants import sizeinbytes

    assert ol.constants.sizeinbytes is sizeinbytes
    sizes = [sizeinbytes(each) for each in (ol.bfloat16, np.float32, np.dtype("int8"), ol.bool_)]
    assert sizes == [2, 4, 1, 1]
