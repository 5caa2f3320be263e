"""New language: what loops on registers refuse, when the kernel is traced and when it runs."""

import re

import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from register_kernels import doubled_rows, failure, int32, normal


def test_an_endless_loop_is_an_error_with_its_line(monkeypatch):
    monkeypatch.setenv("NEURON_SIM_MAXIMUM_ITERATIONS", "50")

    @nki.jit
    def endless(n):
        tile = nl.load(n)
        reg = nisa.register_alloc(tile)
        while reg:
            nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1)
            nisa.register_load(reg, tile)
        return n

    error = failure(endless, int32(1))
    assert isinstance(error, ValueError)
    assert re.search(
        r"^while loop of kernel 'endless' has not ended: its register holds 51 after 50 iterations "
        r"of loops on registers, of which a run may take 50 \(NEURON_SIM_MAXIMUM_ITERATIONS\)\.",
        str(error),
    )
    assert "while reg:" in "\n".join(error.__notes__)
    np.testing.assert_array_equal(endless(int32(0)), int32(0))


def test_an_address_beyond_the_tensor_is_an_error_of_the_run():
    assert doubled_rows(normal(7, 5), int32(6, 7)).shape == (7, 5)
    with pytest.raises(IndexError, match=r"Out-of-bound access for tensor `x` by 'dma_copy'"):
        doubled_rows(normal(7, 5), int32(6, 8))


def test_the_variable_of_a_range_is_not_written():
    @nki.jit
    def moved(n):
        for i in nl.dynamic_range(nisa.register_alloc(n)):
            nisa.register_move(i, 3)
        return n

    error = failure(moved, int32(1))
    assert isinstance(error, AssertionError)
    assert "'register_move' cannot write to the variable of a loop" in str(error)

    @nki.jit
    def loaded():
        for i in nl.dynamic_range(4):
            nisa.register_load(i, nl.zeros((1, 1), dtype=nl.int32))

    assert isinstance(failure(loaded), AssertionError)


def test_writing_to_the_variable_of_a_fori_loop_does_not_change_the_loop():
    @nki.jit
    def kernel(n):
        out = nl.ndarray((1, 6), dtype=nl.int32, buffer=nl.shared_hbm)
        tile = nl.zeros((1, 6), dtype=nl.int32)
        nisa.dma_copy(dst=out, src=tile)

        def body(i):
            nisa.memset(dst=tile[:, 0:1], value=1)
            nisa.dma_copy(dst=out[:, nl.ds(i, 1)], src=tile[:, 0:1])
            nisa.register_move(i, 5)

        nl.fori_loop(0, nisa.register_alloc(n), body)
        return out

    np.testing.assert_array_equal(kernel(int32(4)), int32(1, 1, 1, 1, 0, 0))


def in_kernel(body):
    """A kernel that runs body(register)."""

    @nki.jit
    def kernel(n):
        register = nisa.register_alloc(n)
        body(register)
        return n

    return kernel


def left_by_break(register):
    for _ in nl.dynamic_range(register):
        break


def left_by_return(register):
    while register:
        return


def broken_while(register):
    while register:
        for _ in range(2):
            break
        nisa.register_move(register, 0)
        if register is None:
            break


def unscoped(register):
    for _ in nl.dynamic_range(register):
        tile = nl.zeros((4, 4), dtype=nl.float32)
    nisa.tensor_copy(dst=tile, src=tile)


def reordered(register):
    with nl.no_reorder():
        for _ in nl.dynamic_range(register):
            pass


def reordered_while(register):
    with nl.no_reorder():
        while register:
            nisa.register_move(register, 0)


@pytest.mark.parametrize(("body", "kind", "message"), [
    (lambda r: nl.dynamic_range(0, 4, r), AssertionError, "step VirtualRegister"),
    (lambda r: nl.dynamic_range(0, 4, 0), AssertionError, "step 0 is not a positive int"),
    (lambda r: nl.fori_loop(0, r, lambda i: i), TypeError, "body of a fori_loop returns nothing"),
    (lambda r: nl.while_loop(r, lambda c: None), TypeError, "body of a while_loop returns the"),
    (lambda r: nl.while_loop(1, lambda c: c), TypeError, "init is 1, not a register"),
    (lambda r: 1 if r else 0, TypeError, "no condition but that of a `while` statement"),
    (lambda r: r + 1, TypeError, "registers have no arithmetic"),
    (lambda r: r == 0, TypeError, "registers have no arithmetic and no comparisons"),
    (lambda r: range(r), TypeError, "value of a register is not known"),
    (lambda r: nl.zeros((4, 4), dtype=nl.float32)[r], IndexError, "it is the partition dim"),
    (left_by_break, ValueError, "a loop on chip ends by its bound or condition only"),
    (left_by_return, ValueError, "`return` in line .* would leave a `while` loop"),
    (broken_while, ValueError, "`break` in line .* would leave a `while` loop"),
    (unscoped, ValueError, "Local variable 'tile' is referenced outside of its parent scope"),
    (reordered, ValueError, "dynamic_range is not supported inside a no_reorder block"),
    (reordered_while, ValueError, "`while` loop on a register is not supported inside a no_r"),
])  # fmt: skip
def test_what_the_language_does_not_have_is_refused(body, kind, message):
    error = failure(in_kernel(body), int32(2))
    assert isinstance(error, kind), error
    assert re.search(message, str(error)), error


def test_tensor_indirection_says_that_it_is_not_there():
    error = failure(
        in_kernel(lambda r: nl.zeros((4, 4), dtype=nl.float32).indirect(None)), int32(1)
    )
    assert isinstance(error, NotImplementedError)
    assert "tensor indirection of NeuronCore-v4 is not there yet" in str(error)


def test_a_register_is_compared_with_none_only():
    def body(register):
        assert not register == None and register != None  # noqa: E711

    in_kernel(body)(int32(1))


def on_a_tile(tile):
    while tile < 3:
        tile = tile + 1


def test_a_tensor_is_no_condition_of_a_while_loop():
    @nki.jit
    def new(n):
        on_a_tile(nl.load(n))

    assert str(failure(new, int32(1))).startswith(
        "the condition of a `while` loop on chip is a register"
    )

    @old_nki.jit
    def old(n):
        on_a_tile(old_nl.load(n))

    assert str(failure(old, int32(1))).startswith(
        "Traditional while loops are not supported - use do-while pattern instead."
    )


@pytest.mark.parametrize("options", [{"offset": 6}, {}, {"dtype": nl.int32}, {"scalar_offset": 1}])
@pytest.mark.parametrize("way", ["register", "rows"])
def test_a_pattern_of_an_indirect_view_is_refused(way, options):
    """It is one of the storage, in which the view begins where only the run knows."""

    @nki.jit
    def kernel(x, where):
        row = nl.ndarray((1, 6), dtype=x.dtype, buffer=nl.sbuf)
        index = nl.load(where)
        view = x.select(0, index) if way == "register" else x.vector_select(0, index)
        nisa.dma_copy(dst=row, src=view.ap([[6, 1], [1, 6]], **options))
        return row

    error = failure(kernel, normal(5, 6), int32(2))
    shape = [6] if way == "register" else [1, 6]
    assert str(error) == f"ap of 'x{shape}': the view is indirect already."
