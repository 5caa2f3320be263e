"""What the compiler loads once although a kernel loads it for every block of rows."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest


@nki.jit
def squared_product(x, w):
    """(x @ w)**2; the weights are loaded for each of 128 rows."""
    rows, depth = x.shape
    columns = w.shape[1]
    out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(rows // 128):
        block = nl.load(x[nl.ds(i * 128, 128), :])
        total = nl.ndarray((128, columns), dtype=x.dtype, buffer=nl.sbuf)
        for n in nl.affine_range(columns // 512):
            sums = nl.zeros((128, 512), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(depth // 128):
                weights = nl.load(w[nl.ds(k * 128, 128), nl.ds(n * 512, 512)])
                sums += nl.matmul(block[:, nl.ds(k * 128, 128)], weights)
            total[:, nl.ds(n * 512, 512)] = nl.copy(sums)
        nl.store(out[nl.ds(i * 128, 128), :], nl.multiply(total, total))
    return out


@pytest.mark.parametrize("rows, once", [(512, False), (1024, True)])
def test_loads_in_time_do_not_read_a_whole_filling_of_sbuf_again(monkeypatch, rows, once):
    """The weights take 128 of 176 KiB: each block of rows would read 3 MB of them again."""
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn1")
    monkeypatch.setenv("NEURON_SIM_TIMING_ONLY", "1")
    operands = np.zeros((rows, 2048), np.float32), np.zeros((2048, 2048), np.float32)
    program = squared_product.traced(*operands).program
    read = program.counters()["hbm_read_bytes"]
    assert (read == sum(each.nbytes for each in operands)) is once
