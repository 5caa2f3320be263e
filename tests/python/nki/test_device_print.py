"""device_print in both languages."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest


@pytest.mark.parametrize("jit, language", [(old.jit, old_nl), (nki.jit, nl)], ids=["old", "new"])
def test_a_tile_is_printed_as_it_is_at_that_point(capsys, jit, language):
    @jit
    def kernel(a):
        out = language.ndarray(a.shape, dtype=a.dtype, buffer=language.shared_hbm)
        tile = language.load(a)
        language.device_print("before:", tile)
        tile[...] = tile * 2
        language.device_print("after:", tile)
        language.store(out, tile)
        return out

    a = np.array([[1, 2], [3, 4]], np.float32)
    assert np.array_equal(kernel(a), 2 * a)
    assert capsys.readouterr().out == f"before: {a}\nafter: {2 * a}\n"


def test_a_print_in_a_loop_prints_every_iteration(capsys):
    @old.jit
    def kernel(a):
        out = old_nl.ndarray(a.shape, dtype=a.dtype, buffer=old_nl.shared_hbm)
        for i in old_nl.affine_range(3):
            tile = old_nl.load(a[i])
            old_nl.device_print(f"row {i}:", tile)
            old_nl.store(out[i], tile)
        return out

    a = np.arange(3, dtype=np.float32).reshape(3, 1, 1)
    kernel(a)
    assert capsys.readouterr().out == "row 0: [[0.]]\nrow 1: [[1.]]\nrow 2: [[2.]]\n"
