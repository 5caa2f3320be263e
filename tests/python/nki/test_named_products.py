"""Products that have a name before they are added to a tile of PSUM, in the older language."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np


def blocks(left, right, named):
    """sum over k of left[k].T @ right[k], for 6 blocks of [128, 64] and [128, 96]."""
    out = nl.ndarray((64, 96), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((64, 96), dtype=nl.float32, buffer=nl.psum)
    for k in nl.affine_range(6):
        a, b = nl.load(left[k]), nl.load(right[k])
        if named:
            product = nisa.nc_matmul(a, b)
            total += product
        else:
            total += nisa.nc_matmul(a, b)
    nl.store(out, value=nl.copy(total))
    return out


def test_a_product_with_a_name_is_accumulated_like_one_without():
    rng = np.random.default_rng(3)
    left = rng.standard_normal((6, 128, 64), dtype=np.float32)
    right = rng.standard_normal((6, 128, 96), dtype=np.float32)
    with_name, without = (nki.jit(blocks).traced(left, right, named) for named in (True, False))
    assert with_name.time() == without.time()
    results = [traced.run([left, right]) for traced in (with_name, without)]
    assert np.array_equal(*results)
    expected = np.einsum("kpm,kpn->mn", left.astype(np.float64), right)
    np.testing.assert_allclose(results[0], expected, rtol=1e-4, atol=1e-4)
