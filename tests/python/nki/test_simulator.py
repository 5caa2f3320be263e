"""nki.simulator.simulate_kernel, as vLLM's CPU mode and public scripts call it."""

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from neuron_sim.nki.simulator import simulate_kernel

X = np.arange(8, dtype=np.float32).reshape(2, 4)


def scale(x, factor):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.multiply, operand0=factor)
    nisa.dma_copy(dst=out, src=tile)
    return out


def programs(x):
    out = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.shared_hbm)
    tile = nl.ndarray((1, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.memset(dst=tile, value=float(nl.num_programs(0)))
    nisa.dma_copy(dst=out, src=tile)
    return out


@pytest.mark.parametrize("kernel", [scale, nki.jit(scale)])
def test_a_function_or_kernel_runs_with_positions_and_names(kernel):
    for result in (
        simulate_kernel(kernel, (X, 3.0), {}),
        simulate_kernel(kernel, (X,), {"factor": 3.0}),
        simulate_kernel(kernel, args=[], kwargs={"x": X, "factor": 3.0}, _lnc=1),
        simulate_kernel(kernel, (X, 3.0)),
    ):
        np.testing.assert_array_equal(result, 3 * X)


def test_the_cores_of_a_logical_core_are_the_grid():
    assert simulate_kernel(nki.jit(programs), (X,), lnc=2).item() == 2
    assert simulate_kernel(nki.jit(programs), (X,), _lnc=2).item() == 2


def test_errors_are_the_kernels():
    with pytest.raises(TypeError, match="factor"):
        simulate_kernel(nki.jit(scale), (X,))
