"""neuronxcc.nki.isa: results, dtypes, masks and assignments of the older language."""

import inspect

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from isa_harness import BFLOAT16, in_hbm, result_of, uniform

A, B = uniform(128, 40), uniform(128, 40)
COLUMN = uniform(128, 1)

RESULTS = {
    "scalar_tensor_tensor": (
        lambda a, b, c: nisa.scalar_tensor_tensor(data=a, op0=nl.multiply, operand0=2.0, op1=nl.add,
            operand1=b), lambda a, b, c: a * 2 + b),
    "tensor_reduce": (lambda a, b, c: nisa.tensor_reduce(np.max, a, axis=[1], negate=True),
        lambda a, b, c: -a.max(axis=1, keepdims=True)),
    "tensor_tensor_scan": (
        lambda a, b, c: nisa.tensor_tensor_scan(a, b, 0.0, np.multiply, np.add)[:, 0:1],
        lambda a, b, c: b[:, 0:1]),
    "nc_matmul": (lambda a, b, c: nisa.nc_matmul(a, b), lambda a, b, c: a.T @ b),
    "nc_transpose": (lambda a, b, c: nisa.nc_transpose(a), lambda a, b, c: a.T),
    "nc_transpose on the Vector engine": (
        lambda a, b, c: nisa.nc_transpose(a[0:32, 0:9], engine=nisa.vector_engine),
        lambda a, b, c: a[:32, :9].T),
    "iota": (
        lambda a, b, c: nisa.iota(5 + 2 * nl.arange(16)[:, None] - nl.arange(7)[None, :],
            dtype=nl.float32), lambda a, b, c: 5.0 + 2 * np.arange(16)[:, None] - np.arange(7)),
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_an_instruction_returns_its_result(name):
    body, oracle = RESULTS[name]
    result = result_of(body, A, B, COLUMN, language="old")
    expected = oracle(*[each.astype(np.float64) for each in (A, B, COLUMN)])
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


DTYPES = {
    "that of the operand": (lambda a: nisa.tensor_scalar(a, np.add, 1.5), BFLOAT16),
    "the one given": (lambda a: nisa.tensor_copy(a, dtype=nl.float32), np.float32),
    "fp32 of a product": (lambda a: nisa.nc_matmul(a, a), np.float32),
    "that of what is transposed": (lambda a: nisa.nc_transpose(a), BFLOAT16),
    "the one given to a transpose": (lambda a: nisa.nc_transpose(a, dtype=np.float32), np.float32),
    "the one given to iota": (lambda a: nisa.iota(nl.arange(9)[None, :], nl.int32), np.int32),
    "a NumPy dtype": (lambda a: nisa.activation(nl.exp, a, dtype=np.float16), np.float16),
}  # fmt: skip


@pytest.mark.parametrize("case", DTYPES)
def test_the_dtype_of_a_result(case):
    body, dtype = DTYPES[case]
    assert result_of(body, uniform(32, 24, dtype=BFLOAT16), language="old").dtype == dtype


def test_tensor_tensor_repeats_a_tile_of_one_element_per_partition():
    a, column = uniform(32, 24), uniform(32, 1)
    left = result_of(lambda x, y: nisa.tensor_tensor(x, y, nl.subtract), a, column, language="old")
    np.testing.assert_array_equal(left, a - column)
    right = result_of(lambda x, y: nisa.tensor_tensor(x, y, nl.subtract), column, a, language="old")
    np.testing.assert_array_equal(right, column - a)
    with pytest.raises(ValueError, match="number of elements per partition mismatch"):
        result_of(lambda x, y: nisa.tensor_tensor(x, y[:, 0:2], np.add), a, a, language="old")


@pytest.mark.parametrize("dtype", [nl.float8_e4m3, nl.uint8])
def test_bytes_are_transposed_on_the_tensor_engine(dtype, monkeypatch):
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn2")

    @nki.jit
    def kernel(a):
        turned = nl.ndarray((nl.par_dim(100), 128), dtype, buffer=nl.sbuf)
        turned[:, 0:64] = nisa.nc_transpose(nl.load(a)[0:64])
        turned[:, 64:128] = nisa.nc_transpose(nl.load(a)[64:128], dtype=dtype)
        return in_hbm(nl, turned)

    a = np.arange(128 * 100).reshape(128, 100).astype(np.uint8) & 0x77
    given = a.view(dtype.numpy)
    np.testing.assert_array_equal(kernel(given).view(np.uint8), a.T)


@pytest.mark.parametrize("architecture", ["trn1", "trn2"])
def test_a_transpose_is_assigned_to_an_fp32_tile_in_psum(architecture, monkeypatch):
    monkeypatch.setenv("NEURON_SIM_ARCH", architecture)

    @nki.jit
    def kernel(a):
        turned = nl.ndarray((nl.par_dim(24), 40), nl.float32, buffer=nl.psum)
        tile = nl.load(a)
        turned[:, 0:32] = nisa.nc_transpose(tile[0:32])
        turned[:, 32:40] = nisa.nc_transpose(tile[32:40])
        return in_hbm(nl, nl.copy(turned))

    a = uniform(40, 24, dtype=BFLOAT16)
    np.testing.assert_array_equal(kernel(a), a.T.astype(np.float32))


def instructions(body, *arrays):
    """How many instructions the kernel has beside its loads and stores."""

    @nki.jit
    def kernel(*inputs):
        tiles = [nl.load(each) for each in inputs]
        return in_hbm(nl, body(*tiles))

    return kernel.traced(*arrays).source.instructions - len(arrays) - 1


def test_a_result_is_written_into_what_it_is_assigned_to():
    def assigned(a, b):
        a[...] = nisa.tensor_tensor(a, b, np.add)
        a[:, 3:5] = nisa.tensor_scalar(b[:, 0:2], np.add, 1.0)
        return a

    expected = A + B
    expected[:, 3:5] = B[:, 0:2] + 1
    np.testing.assert_array_equal(result_of(assigned, A, B, language="old"), expected)
    assert instructions(assigned, A, B) == 2


def test_products_accumulate_in_psum():
    def body(a, b):
        total = nl.zeros((40, 40), dtype=nl.float32, buffer=nl.psum)
        for i in nl.affine_range(4):
            rows = nl.ds(i * 32, 32)
            total += nisa.nc_matmul(a[rows, 0:40], b[rows, 0:40])
        return total

    expected = A.astype(np.float64).T @ B
    np.testing.assert_allclose(
        result_of(body, A, B, language="old"), expected, rtol=1e-5, atol=1e-4
    )


MASKED = {
    "tensor_copy": lambda a, m: nisa.tensor_copy(a, mask=m),
    "tensor_tensor": lambda a, m: nisa.tensor_tensor(a, a, np.maximum, mask=m),
    "tensor_scalar": lambda a, m: nisa.tensor_scalar(a, np.multiply, 1.0, mask=m),
    "activation": lambda a, m: nisa.activation(nl.copy, a, mask=m),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_narrows_an_instruction(name):
    def body(a, b):
        p, f = nl.mgrid[0:128, 0:40]
        b[...] = MASKED[name](a, (p >= 96) & (f < 13))
        return b

    expected = B.copy()
    expected[96:, :13] = A[96:, :13]
    np.testing.assert_array_equal(result_of(body, A, B, language="old"), expected)


def test_a_mask_narrows_reductions_products_and_iota():
    p, f = np.ogrid[0:128, 0:40]

    def reduced(a):
        i, j = nl.mgrid[0:128, 0:40]
        return nisa.tensor_reduce(np.add, a, axis=1, mask=(j < 7) & (i < 128))

    result = result_of(reduced, A, language="old")
    np.testing.assert_allclose(result[:, 0], A[:, :7].sum(axis=1), rtol=1e-5, atol=1e-5)

    def product(a, b):
        i, j = nl.mgrid[0:128, 0:40]
        return nisa.nc_matmul(a, b, mask=i < 50)

    result = result_of(product, A, B, language="old")
    np.testing.assert_allclose(result, A[:50].T @ B[:50], rtol=1e-4, atol=1e-4)

    def counted(a):
        i, j = nl.mgrid[0:128, 0:40]
        zeros = nisa.memset((128, 40), 0, nl.float32)
        zeros[...] = nisa.iota(3 * i + j, dtype=nl.float32, mask=(i < 77) & (j >= 30))
        return zeros

    expected = np.where((p < 77) & (f >= 30), 3 * p + f, 0)
    np.testing.assert_array_equal(result_of(counted, A, language="old"), expected)


def test_a_transposed_tile_is_an_operand_of_a_product():
    def body(a, b):
        return nisa.nc_matmul(nisa.nc_transpose(a), b[0:40, 0:40])

    expected = A.astype(np.float64) @ B[:40]
    result = result_of(body, A, B, language="old")
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("mask", [True, False])
def test_a_mask_may_be_known_already(mask):
    def body(a, b):
        total = nl.zeros((40, 40), dtype=nl.float32, buffer=nl.psum)
        total += nisa.nc_matmul(a, b, mask=mask)
        return nisa.tensor_copy(total, mask=True)

    expected = A.astype(np.float64).T @ B if mask else np.zeros((40, 40))
    result = result_of(body, A, B, language="old")
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_an_operand_mask_narrows_one_operand_of_a_product():
    def body(a, b):
        columns = nl.arange(40)[None, :]
        return nisa.nc_matmul(a[columns < 24], b)

    result = result_of(body, A, B, language="old")
    np.testing.assert_allclose(result, A[:, :24].T @ B, rtol=1e-4, atol=1e-4)


def test_a_mask_that_is_never_true_skips_the_instruction():
    def body(a, b):
        p, f = nl.mgrid[0:128, 0:40]
        b[...] = nisa.tensor_copy(a, mask=p >= 128)
        return b

    np.testing.assert_array_equal(result_of(body, A, B, language="old"), B)
    assert instructions(body, A, B) == 0


def test_iota_in_a_loop_depends_on_its_variable():
    @nki.jit
    def kernel():
        out = nl.ndarray((4, 16, 6), nl.int32, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            expression = 100 * i + nl.arange(16)[:, None] + nl.arange(6)[None, :]
            nl.store(out[i], nisa.iota(expression, dtype=nl.int32))
        return out

    i, p, f = np.ogrid[0:4, 0:16, 0:6]
    np.testing.assert_array_equal(kernel(), 100 * i + p + f)


REFUSED = {
    "a name that is misspelt": (lambda a: nisa.tensor_copy(a, maks=None), TypeError,
        "tensor_copy() got an unexpected keyword argument 'maks'"),
    "another operator than add": (lambda a: nisa.dma_copy(dst=a, src=a, dst_rmw_op=np.multiply),
        ValueError, "dst_rmw_op of 'dma_copy' must be np.add or None."),
    "an expression of one dimension": (lambda a: nisa.iota(nl.arange(8), dtype=nl.int32),
        ValueError, "indexing tensor `iota` with 1d arange is not supported"),
    "a number instead of a tile": (lambda a: nisa.activation(nl.exp, 3.0), TypeError,
        "operand 'data' of 'activation' is a float, not a tile."),
    "several comparisons": (
        lambda a: nisa.affine_select((nl.arange(128)[:, None] > 3) & (nl.arange(40)[None, :] > 3),
            a, 0.0), ValueError,
        "pred of 'affine_select' is several comparisons joined with `&`; it must be one. "
        "Consider nl.where."),
}  # fmt: skip


def test_copies_may_be_named_like_all_instructions():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        tile = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=a, name="in")
        nisa.dma_copy(dst=out, src=tile, name="out")
        return out

    np.testing.assert_array_equal(kernel(A), A)
    for words, fewest in ((nisa, 30), (nl, 3)):
        functions = [each for each in vars(words).values() if inspect.isfunction(each)]
        masked = [each for each in functions if "mask" in inspect.signature(each).parameters]
        assert len(masked) >= fewest
        kinds = {f.__name__: list(inspect.signature(f).parameters.values())[-1] for f in masked}
        assert [name for name, last in kinds.items() if last.kind is not last.VAR_KEYWORD] == []


@pytest.mark.parametrize("case", REFUSED)
def test_bad_calls_are_refused_in_one_sentence(case):
    body, kind, text = REFUSED[case]
    with pytest.raises(kind) as caught:
        result_of(body, A, language="old")
    assert str(caught.value).splitlines()[0] == text
