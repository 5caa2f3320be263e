"""models/nki: the examples of docs/coursework.md compute what they say, on trn1 and trn2."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("neuron_sim.neuronxcc.nki")

EXAMPLES = Path(__file__).resolve().parents[3] / "models" / "nki"

CHECK = '''
import numpy as np
import neuronxcc.nki as nki
import conv2d, ffnn, transpose, vector_add

random = np.random.default_rng(0)


def convolved(X, W, bias, pool):
    """float64: the products of all shifted windows, then the maximum of each window."""
    f = W.shape[2]
    windows = np.lib.stride_tricks.sliding_window_view(X.astype(float), (f, f), axis=(2, 3))
    full = np.einsum("bchwij,ocij->bohw", windows, W.astype(float)) + bias[:, None, None]
    b, o, h, w = full.shape
    return full.reshape(b, o, h // pool, pool, w // pool, pool).max(axis=(3, 5))


# Sizes with a strip that is shorter than the others, and products with fewer rows.
for pool, height, width in ((1, 9, 130), (2, 32, 16), (2, 20, 258)):
    X = random.random((2, 128, height, width), dtype=np.float32)
    W = random.random((256, 128, 3, 3), dtype=np.float32)
    bias = random.random(256, dtype=np.float32)
    result = conv2d.fused_conv2d_maxpool(X, W, bias, pool_size=pool)
    np.testing.assert_allclose(result, convolved(X, W, bias, pool), rtol=1e-5)
np.testing.assert_allclose(conv2d.conv2d_nki(X, W, bias), convolved(X, W, bias, 1), rtol=1e-5)

for shape in ((128, 128), (384, 640)):
    matrix = random.random(shape, dtype=np.float32)
    assert np.array_equal(nki.baremetal(transpose.matrix_transpose)(matrix), matrix.T)

a, b = random.random((2, 128 * 1000 * 5), dtype=np.float32)
kernels = (vector_add.vector_add_rows, vector_add.vector_add_tiles, vector_add.vector_add_allocated)
for kernel in kernels:
    assert np.array_equal(kernel(a, b), a + b)

X = random.random((256, 128), dtype=np.float32)
W1, W2 = (random.standard_normal((k, 512), dtype=np.float32) / 10 for k in (128, 512))
b1, b2 = random.standard_normal((2, 1, 512), dtype=np.float32)
hidden = np.maximum(X.astype(float) @ W1 + b1, 0)
exponentials = np.exp(hidden @ W2 + b2)
expected = exponentials / exponentials.sum(axis=1, keepdims=True)
for matmul in ("tiled", "block_free_dimension"):
    np.testing.assert_allclose(
        ffnn.nki_forward(X, W1, b1, W2, b2, matmul_kernel=matmul), expected, rtol=1e-4
    )
assert np.array_equal(ffnn.nki_predict(X, W1, b1, W2, b2), expected.argmax(axis=1))
print("all computed")
'''


@pytest.mark.parametrize("architecture", ["inf2", "trn1", "trn2"])
def test_the_examples_compute_what_they_say(tmp_path, architecture):
    script = tmp_path / "check.py"
    script.write_text(CHECK)
    paths = os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, "-m", "neuron_sim", "run", "--arch", architecture, str(script)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": paths},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == "all computed\n"
