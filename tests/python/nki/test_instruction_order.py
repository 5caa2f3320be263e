"""New language: depends_on, with_schedule and no_reorder."""

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from register_kernels import failure, int32, normal


def ordered_kernel(edges):
    @nki.jit
    def kernel(x):
        tile = nl.load(x)
        a = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        b = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        first = nisa.tensor_scalar(
            dst=a, data=tile, op0=nl.add, operand0=1.0, engine=nisa.engine.vector, name="plus"
        )
        second = nisa.activation(dst=b, data=tile, op=nl.exp, name="exp")
        if edges == "depends_on":
            assert second.depends_on(first) is second
        out = nl.ndarray((2, *x.shape), dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out[0], src=a)
        nisa.dma_copy(dst=out[1], src=b)
        return out

    return kernel.with_schedule([("exp", "plus")]) if edges == "with_schedule" else kernel


def starts(kernel, x):
    """Start of the activation and end of the addition, in nanoseconds."""
    steps = kernel.traced(x).program.steps()
    kinds = [each for each in steps if each["kind"] == "step"]
    addition = next(each for each in kinds if each["instruction"] == "tensor_scalar")
    activation = next(each for each in kinds if each["instruction"] == "activation")
    return activation["start_ns"], addition["done_ns"]


def test_without_an_edge_engines_work_side_by_side():
    start, done = starts(ordered_kernel(None), normal(128, 512))
    assert start < done


@pytest.mark.parametrize("edges", ["depends_on", "with_schedule"])
def test_an_edge_makes_an_instruction_wait(edges):
    x = normal(128, 512)
    kernel = ordered_kernel(edges)
    start, done = starts(kernel, x)
    assert start >= done
    np.testing.assert_array_equal(kernel(x), ordered_kernel(None)(x))


def test_an_edge_may_turn_the_order_of_the_kernel_around():
    x = normal(128, 512)
    kernel = ordered_kernel(None).with_schedule([("plus", "exp")])
    steps = [each for each in kernel.traced(x).program.steps() if each["kind"] == "step"]
    addition = next(each for each in steps if each["instruction"] == "tensor_scalar")
    activation = next(each for each in steps if each["instruction"] == "activation")
    assert addition["start_ns"] >= activation["done_ns"]
    np.testing.assert_array_equal(kernel(x), ordered_kernel(None)(x))


def test_no_reorder_keeps_the_order_of_a_block():
    def kernel_of(ordered):
        @nki.jit
        def kernel(x):
            tile = nl.load(x)
            tiles = [nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf) for _ in range(2)]

            def work():
                nisa.tensor_scalar(dst=tiles[0], data=tile, op0=nl.add, operand0=1.0)
                nisa.activation(dst=tiles[1], data=tile, op=nl.exp)

            if ordered:
                with nl.no_reorder():
                    work()
            else:
                work()
            out = nl.ndarray((2, *x.shape), dtype=x.dtype, buffer=nl.shared_hbm)
            for i in range(2):
                nisa.dma_copy(dst=out[i], src=tiles[i])
            return out

        return kernel

    x = normal(128, 512)
    start, done = starts(kernel_of(True), x)
    assert start >= done
    start, done = starts(kernel_of(False), x)
    assert start < done


@pytest.mark.parametrize(("edges", "kind", "message"), [
    ([("exp", "minus")], ValueError, "no instruction named 'minus'; .* with a name: plus, exp"),
    ([("exp", ["plus", "exp"])], ValueError, "'activation' waits for itself"),
    ([("exp", "plus"), ("plus", "exp")], ValueError, "cannot wait for .*, which needs it"),
    (["exp"], TypeError, "with_schedule takes pairs"),
    ([("exp", 3)], TypeError, "with_schedule takes"),
])  # fmt: skip
def test_edges_that_make_no_sense_are_refused(edges, kind, message):
    with pytest.raises(kind, match=message):
        ordered_kernel(None).with_schedule(edges).traced(normal(4, 4))


def test_an_edge_out_of_a_loop_on_chip_is_refused():
    @nki.jit
    def kernel(n):
        tile = nl.zeros((4, 4), dtype=nl.float32)
        for _ in nl.dynamic_range(nisa.register_alloc(n)):
            inner = nisa.memset(dst=tile, value=1.0)
        nisa.memset(dst=tile, value=2.0).depends_on(inner)
        return n

    assert "is inside a loop on chip" in str(failure(kernel, int32(1)))


def test_only_instructions_are_producers():
    @nki.jit
    def kernel():
        nisa.memset(dst=nl.zeros((4, 4), dtype=nl.float32), value=1.0).depends_on("plus")

    with pytest.raises(TypeError, match="depends_on takes instructions of nki.isa"):
        kernel()
