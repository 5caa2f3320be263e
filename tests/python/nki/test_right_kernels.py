"""Right kernels, most of them with a ragged last tile, have no finding of the sanitizer."""

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest
from neuron_sim import sanitize

WIDTH = 64


def by_tiles(function):
    """A kernel that gives each tile of 128 rows, the last with a mask, to a function."""

    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        row, column = nl.arange(128)[:, None], nl.arange(WIDTH)[None, :]
        for i in nl.affine_range((a.shape[0] + 127) // 128):
            mask = i * 128 + row < a.shape[0]
            result = function(nl.load(a[i * 128 + row, column], mask=mask))
            nl.store(out[i * 128 + row, column], result, mask=mask)
        return out

    return kernel


def softmax(x):
    e = nl.exp(x - nl.max(x, axis=1, keepdims=True))
    return e / nl.sum(e, axis=1, keepdims=True)


def rms_norm(x):
    return x * nl.rsqrt(nl.mean(nl.square(x), axis=1, keepdims=True))


def layer_norm(x):
    centred = x - nl.mean(x, axis=1, keepdims=True)
    return centred * nl.rsqrt(nl.mean(nl.square(centred), axis=1, keepdims=True) + 1e-5)


def statistics(x):
    moments = nisa.bn_aggr(nisa.bn_stats(x))
    return nl.subtract(x, moments[:, 0:1])


def prefix_sum(x):
    return nisa.tensor_tensor_scan(nl.ones((128, WIDTH), x.dtype), x, 0.0, np.multiply, np.add)


def largest(x):
    return nl.minimum(x, nisa.max8(src=x)[:, 7:8])


def product(x):
    turned = nl.copy(nisa.nc_transpose(x))
    return nl.copy(nisa.nc_matmul(turned, nl.ones((WIDTH, WIDTH), x.dtype)))


def gelu(x):
    return nl.multiply(x, nl.sigmoid(nl.multiply(x, 1.702)))


def clipped(x):
    return nl.maximum(nl.minimum(x, 0.5), -0.5)


def twice_turned(x):
    turned = nl.copy(nisa.nc_transpose(x))
    return nl.copy(nisa.nc_transpose(turned))


def mean(a, of=np.mean):
    return of(a, axis=1, keepdims=True)


ORACLES = {
    softmax: lambda a: np.exp(a) / mean(np.exp(a), np.sum),
    rms_norm: lambda a: a / np.sqrt(mean(a * a)),
    layer_norm: lambda a: (a - mean(a)) / np.sqrt(a.var(axis=1, keepdims=True) + 1e-5),
    statistics: lambda a: a - mean(a),
    prefix_sum: lambda a: np.cumsum(a, axis=1),
    largest: lambda a: np.minimum(a, np.sort(a, axis=1)[:, -8:-7]),
    product: lambda a: np.broadcast_to(mean(a, np.sum), a.shape),
    gelu: lambda a: a / (1 + np.exp(-1.702 * a)),
    clipped: lambda a: np.clip(a, -0.5, 0.5),
    twice_turned: lambda a: a,
}


@pytest.mark.parametrize("rows", [128, 250])
@pytest.mark.parametrize("function", ORACLES, ids=lambda function: function.__name__)
def test_a_row_wise_kernel_is_right_and_has_no_finding(function, rows):
    a = np.random.default_rng(rows).standard_normal((rows, WIDTH)).astype(np.float32)
    with sanitize(raise_error=False, first_non_finite=False) as findings:
        result = by_tiles(function)(a)
    assert not findings, "\n\n".join(map(str, findings))
    np.testing.assert_allclose(result, ORACLES[function](a), rtol=2e-4, atol=2e-5)
