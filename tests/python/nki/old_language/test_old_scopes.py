"""Old language: tensors of `for` and `if` blocks live in their block."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest


def stored(out, tile):
    nl.store(out, tile)
    return out


def output(a):
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


def if_on_a_loop_variable(a, b):
    out = output(a)
    for i in range(4):
        if i < 2:
            tmp = nl.load(a)
        else:
            tmp = nl.load(b)
        nl.store(out, tmp)
    return out


def after_a_loop(a, b):
    out = output(a)
    for _ in range(2):
        tmp = nl.load(a)
    return stored(out, tmp)


def after_an_unrolled_loop(a, b):
    out = output(a)
    for _ in nl.static_range(2):
        tmp = nl.load(a) + nl.load(b)
    return stored(out, tmp)


def rebound(a, b):
    out = output(a)
    data = nl.load(a)
    for _ in range(2):
        data = data + 1
    return stored(out, data)


@pytest.mark.parametrize(("function", "name"), [
    (if_on_a_loop_variable, "tmp"), (after_a_loop, "tmp"), (after_an_unrolled_loop, "tmp"),
    (rebound, "data"),
])  # fmt: skip
def test_a_tensor_is_not_used_after_its_block(function, name):
    a = np.ones((4, 4), np.float32)
    with pytest.raises(
        ValueError,
        match=rf"^Local variable '{name}' is referenced outside of its parent scope",
    ) as error:
        nki.simulate_kernel(nki.jit(function), a, a)
    assert "nl.store(out, t" in "\n".join(error.value.__notes__)


def declared_before(a, b):
    out = output(a)
    for i in range(4):
        tmp = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
        if i < 2:
            tmp[...] = nl.load(a)
        else:
            tmp[...] = nl.load(b)
        nl.store(out, tmp)
    return out


def known_condition(a, b):
    """Not a block of the loop: what the kernel is compiled for decides."""
    out = output(a)
    if a.shape == b.shape:
        tmp = nl.load(b)
    else:
        tmp = nl.load(a)
    return stored(out, tmp)


def one_name_in_two_blocks(a, b):
    out = output(a)
    for i in range(2):
        if i == 0:
            tmp = nl.load(a)
            nl.store(out, tmp)
        else:
            tmp = nl.load(a) + nl.load(b)
            nl.store(out, tmp * 0.5)
    for _ in range(1):
        tmp = nl.load(b)
    total = nl.zeros(a.shape, dtype=a.dtype)
    for _ in range(2):
        total += nl.load(b)
    nl.store(out, total * 0.5)
    return out


@pytest.mark.parametrize("function", [declared_before, known_condition, one_name_in_two_blocks])
def test_other_tensors_are_used_as_before(function):
    a, b = (np.full((4, 4), value, np.float32) for value in (1, 2))
    np.testing.assert_array_equal(nki.simulate_kernel(nki.jit(function), a, b), b)


def in_a_function_with_a_parameter_of_the_name(a):
    out = output(a)

    def store_half(tmp, first):
        columns = slice(first, first + a.shape[1] // 2)
        half = nl.copy(tmp[:, columns])
        nl.store(out[:, columns], half)

    for _ in nl.affine_range(1):
        tmp = nl.load(a)
        for i in nl.affine_range(2):
            store_half(tmp, i * (a.shape[1] // 2))
    return out


def in_a_closure_that_the_block_calls(a):
    out = output(a)

    def store():
        nl.store(out, nl.add(tmp, 0))

    for _ in range(2):
        tmp = nl.load(a)
        store()
    return out


@pytest.mark.parametrize(
    "function", [in_a_function_with_a_parameter_of_the_name, in_a_closure_that_the_block_calls]
)
def test_a_function_that_a_block_calls_uses_its_tensors(function):
    a = np.arange(32, dtype=np.float32).reshape(4, 8)
    assert np.array_equal(nki.jit(function)(a), a)


def test_a_closure_does_not_use_a_tensor_after_its_block():
    @nki.jit
    def kernel(a):
        out = output(a)

        def store():
            nl.store(out, tmp)

        for _ in range(2):
            tmp = nl.load(a)
        store()
        return out

    with pytest.raises(ValueError, match="Local variable 'tmp' is referenced outside"):
        kernel(np.zeros((4, 8), np.float32))
