"""What direct allocation rules out in a kernel of the old language."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.compiler as ncc
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from nki_errors import error_of

F32 = np.float32


def mixed(a):
    x = nl.ndarray((128, 4), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
    y = nl.load(a)
    x[...] = y


def test_direct_and_automatic_allocation_are_not_mixed():
    a = np.zeros((128, 4), F32)
    assert error_of(old.jit(mixed).traced, a) == (
        "Mixing direct allocation with automatic allocation is not supported: tensor `x` is "
        "allocated directly, `y` automatically; all SBUF and PSUM tensors of a kernel, results of "
        "instructions too, must be allocated in the same way."
    )
    ncc.enable_stack_allocator(old.jit(mixed)).traced(a)
    ncc.force_auto_alloc(old.jit(mixed)).traced(a)


def test_a_result_that_was_refused_is_refused_at_every_later_use():
    def kernel(a):
        x = nl.ndarray((128, 4), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        copied = nisa.tensor_copy(x)
        for _ in range(2):  # a kernel may catch an error and go on
            try:
                nisa.tensor_copy(copied)
            except ValueError as error:
                assert "Mixing direct allocation" in str(error)
        nl.store(a, copied)

    assert error_of(old.jit(kernel).traced, np.zeros((128, 4), F32), kind=RuntimeError) == (
        "this tile has no place on chip: the instruction that makes it was refused."
    )


def allocated(statement):
    """A kernel with tensors x in SBUF and p in PSUM, and a statement with them."""

    @old.jit
    def kernel(_):
        x = nl.ndarray((128, 128), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        p = nl.ndarray((128, 128), dtype=F32, buffer=ncc.psum.mod_alloc(base_bank=0))
        bias = nl.ndarray((128, 1), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=512))
        statement(x, p, bias)

    return lambda: kernel.traced(np.zeros((1, 1), F32))


BIAS = "Bias tensor of an activation op must be specified in allocated NKI kernels."
TRANSPOSE = (
    "Unsupported transpose case in allocated NKI kernels: {}; allocate an identity matrix and call "
    "nisa.nc_matmul() explicitly."
)


def assigned(target_of, value_of):
    def statement(x, p, bias):
        target_of(x, p)[...] = value_of(x, bias)

    return statement


def x_of(x, p):
    return x


def p_of(x, p):
    return p


@pytest.mark.parametrize(
    ("target_of", "good", "bad", "sentence"),
    [
        (x_of, lambda x, b: nisa.activation(nl.exp, x, bias=b),
         lambda x, b: nisa.activation(nl.exp, x), BIAS),
        (x_of, lambda x, b: nl.add(x, 1.0), lambda x, b: nl.exp(x), BIAS),
        (p_of, lambda x, b: nisa.nc_matmul(x, x), lambda x, b: nisa.nc_transpose(x),
         TRANSPOSE.format("nisa.nc_transpose() with TensorEngine")),
        (p_of, lambda x, b: nl.matmul(x, x, transpose_x=True), lambda x, b: nl.matmul(x, x),
         TRANSPOSE.format("nl.matmul() without transpose_x=True")),
        (x_of, lambda x, b: nl.multiply(x, 2.0), lambda x, b: nl.softmax(x, axis=1),
         "'softmax' creates implicit tensors, which is not supported in allocated NKI kernels."),
    ],
)  # fmt: skip
def test_allocated_kernels_have_no_implicit_tensors(target_of, good, bad, sentence):
    allocated(assigned(target_of, good))()
    assert error_of(allocated(assigned(target_of, bad))) == sentence


def test_allocated_tensors_have_no_initial_value():
    @old.jit
    def kernel(_):
        nl.full((128, 4), fill_value=1.0, dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=0))

    assert error_of(kernel.traced, np.zeros((1, 1), F32)) == (
        "Creating SBUF/PSUM tensor with init value is not supported in allocated NKI kernels."
    )
    ncc.force_auto_alloc(kernel).traced(np.zeros((1, 1), F32))


def test_allocated_kernels_have_no_scratch_memory_in_hbm():
    def statement(x, p, bias):
        scratch = nl.ndarray((128, 128), dtype=F32, buffer=nl.hbm)
        nl.store(scratch, x)

    assert error_of(allocated(statement)) == (
        "Non IO HBM tensor is not supported in allocated NKI kernel: scratch"
    )


def test_sums_in_one_bank_are_not_interleaved():
    @old.jit
    def kernel(_, banks):
        x = nl.ndarray((128, 128), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        x[...] = 1
        p = nl.ndarray((2, nl.par_dim(128), 128), dtype=F32,
                       buffer=ncc.psum.mod_alloc(base_bank=3, num_bank_tiles=(banks,)))  # fmt: skip
        for _ in nl.affine_range(2):
            for i in nl.affine_range(2):
                p[i] += nisa.nc_matmul(x, x)

    kernel.traced(np.zeros((1, 1), F32), 2)
    assert error_of(kernel.traced, np.zeros((1, 1), F32), 1) == (
        "[SCH713] Violation of accumulation group interleaving: a product continues the sum in "
        "`p[0]` after another began one in `p[1]`, which lies in bank 3 of PSUM too."
    )


def test_a_bank_may_be_used_again_for_the_next_sum():
    @old.jit
    def kernel(a):
        out = nl.ndarray((2, 128, 128), dtype=F32, buffer=nl.shared_hbm)
        x = nl.ndarray((128, 128), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=0))
        y = nl.ndarray((128, 128), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=512))
        x[...] = nl.load(a)
        p = nl.ndarray((2, nl.par_dim(128), 128), dtype=F32, buffer=ncc.psum.mod_alloc(base_bank=3))
        for i in nl.affine_range(2):
            for _ in nl.affine_range(3):
                p[i] += nisa.nc_matmul(x, x)
            y[...] = nl.copy(p[i])
            nl.store(out[i], y)
        return out

    a = np.arange(128 * 128).reshape(128, 128).astype(F32) % 5
    expected = 3 * (a.astype(np.float64).T @ a)
    assert np.array_equal(kernel(a), np.stack([expected, expected]))


def test_addresses_in_a_loop_that_is_unrolled_are_those_of_its_first_iteration():
    @old.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=F32, buffer=nl.shared_hbm)
        address = 0
        seen = set()
        for i in nl.sequential_range(a.shape[0]):
            pair = []
            for _ in nl.static_range(2):
                buffer = ncc.sbuf.mod_alloc(base_addr=address)
                pair.append(nl.ndarray((128, 1000), dtype=F32, buffer=buffer))
                address += 4000
            pair[0][...] = nl.load(a[i])
            pair[1][...] = nl.add(pair[0], float(i.__index__()))
            nl.store(out[i], pair[1])
            seen.add(i.__index__())
        assert len(seen) == a.shape[0]  # unrolled
        return out

    a = np.random.default_rng(0).random((40, 128, 1000), dtype=F32)
    assert np.array_equal(kernel(a), a + np.arange(40, dtype=F32)[:, None, None])
