"""GEMM + bias + GELU: two launches, or one with GELU on the tile in SBUF.

Source of the measurements: allenkchau/trainium-kernel-fusion, kernels/baseline/mlp_gemm.py and
kernels/fused/mlp.py (read there, written anew here), nki.benchmark on trn2.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from neuron_sim import _core
from neuron_sim.fidelity.case import Build, Case, Launch, total
from neuron_sim.fidelity.language import (
    MOVING,
    PARTITIONS,
    Builder,
    Index,
    View,
    block,
    copied,
    load,
    store,
    zeros,
)
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.sizes import dtype_of, matrix_sizes
from neuron_sim.fidelity.stacks import published_stack

Epilogue = Callable[[Builder, View], View]


def keep(b: Builder, tile: View) -> View:
    """No activation: the baseline's first launch."""
    return tile


def piecewise_gelu(b: Builder, tile: View) -> View:
    """nl.gelu: the Scalar engine's piecewise approximation."""
    result = b.sbuf("activated", tile.shape, tile.dtype)
    b.activation(result, "gelu", tile)
    return result


class _Expression:
    """Elementwise operators of nl on Vector: each makes a new tile.

    The result has the widest dtype of the tiles; a Python float does not widen it. The documents
    can be read either way ("the data type of the input tiles, or whichever input type has the
    highest precision"; a weakly typed float counts as fp32 elsewhere). Widened to fp32, the bf16
    kernel's extra cost over the one with nl.gelu would double, in all three sizes.
    """

    def __init__(self, b: Builder) -> None:
        self.b = b

    def with_tile(self, left: View, right: View, op: str) -> View:
        wide = "float32" in (left.dtype, right.dtype)
        result = self.b.sbuf("t", left.shape, "float32" if wide else left.dtype)
        self.b.tensor_tensor(result, left, right, op)
        return result

    def with_number(self, tile: View, number: float, op: str) -> View:
        result = self.b.sbuf("s", tile.shape, tile.dtype)
        self.b.tensor_scalar(result, tile, op, number)
        return result


def taylor_gelu(b: Builder, x: View) -> View:
    """0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), tanh z = 2 sigmoid(2 z) - 1."""
    e = _Expression(b)
    cube = e.with_tile(e.with_tile(x, x, "multiply"), x, "multiply")
    inner = e.with_tile(x, e.with_number(cube, 0.044715, "multiply"), "add")
    inner = e.with_number(inner, 0.7978845608028654, "multiply")
    sigmoid = b.sbuf("sigmoid", x.shape, inner.dtype)
    b.activation(sigmoid, "sigmoid", inner, scale=2.0)
    tanh = e.with_number(e.with_number(sigmoid, 2.0, "multiply"), 1.0, "subtract")
    half = e.with_number(x, 0.5, "multiply")
    return e.with_tile(half, e.with_number(tanh, 1.0, "add"), "multiply")


def _add_bias(b: Builder, tile: View, bias: View, ones: View) -> View:
    """tile + bias.broadcast_to(tile.shape): partitions are broadcast by a product with ones."""
    row = load(b, bias)
    wide = b.psum("bias_rows", tile.shape)
    b.nc_matmul(wide, ones, row)
    result = b.sbuf("biased", tile.shape, tile.dtype)
    b.tensor_tensor(result, tile, wide, "add")
    return result


def gemm(
    architecture: str, sizes: tuple[int, int, int], dtype: str, epilogue: Epilogue = keep
) -> _core.Program:
    """result[M, N] = epilogue(lhsT[K, M].T @ rhs[K, N] + bias[1, N]), all loads in the k loop.

    M and K multiples of 128, N of 512.
    """
    m_size, k_size, n_size = sizes
    b = Builder("gemm_gelu", architecture)
    lhs = b.argument("lhsT", [k_size, m_size], dtype)
    rhs = b.argument("rhs", [k_size, n_size], dtype)
    bias = b.argument("bias", [1, n_size], dtype)
    result = b.argument("result", [m_size, n_size], dtype)
    ones = b.sbuf("ones", [1, PARTITIONS], dtype)
    b.memset(ones, 1.0)

    def tile(m: Index, n: Index) -> None:
        rows, columns = block(m, PARTITIONS), block(n, MOVING)
        sum_ = zeros(b, [PARTITIONS, MOVING])

        def slab(k: Index) -> None:
            depth = block(k, PARTITIONS)
            stationary, moving = load(b, lhs[depth, rows]), load(b, rhs[depth, columns])
            b.nc_matmul(sum_, stationary, moving, accumulate=True)

        b.loop(k_size // PARTITIONS, slab)
        biased = _add_bias(b, copied(b, sum_, dtype), bias[0:1, columns], ones)
        store(b, result[rows, columns], epilogue(b, biased))

    b.loop(m_size // PARTITIONS, lambda m: b.loop(n_size // MOVING, lambda n: tile(m, n)))
    return b.finish()


def gelu(architecture: str, rows: int, columns: int, dtype: str) -> _core.Program:
    """z = gelu(y), tile by tile of 128 x 512: the baseline's second launch."""
    b = Builder("gelu", architecture)
    y = b.argument("y", [rows, columns], dtype)
    z = b.argument("z", [rows, columns], dtype)

    def tile(m: Index, n: Index) -> None:
        place = (block(m, PARTITIONS), block(n, MOVING))
        store(b, z[place], piecewise_gelu(b, load(b, y[place])))

    b.loop(rows // PARTITIONS, lambda m: b.loop(columns // MOVING, lambda n: tile(m, n)))
    return b.finish()


def _builds(measurement: Measurement, sizes: tuple[int, int, int], dtype: str) -> list[Build]:
    architecture = measurement.architecture
    variant = measurement.kernel.lower()
    if "taylor" in variant:
        return [lambda: gemm(architecture, sizes, dtype, taylor_gelu)]
    if "pwl" in variant or "piecewise" in variant:
        return [lambda: gemm(architecture, sizes, dtype, piecewise_gelu)]
    if "baseline" in variant:
        return [
            lambda: gemm(architecture, sizes, dtype),
            lambda: gelu(architecture, sizes[0], sizes[2], dtype),
        ]
    return []


def match(measurement: Measurement) -> Case | None:
    """mlp_baseline, mlp_fused_pwl, mlp_fused_taylor of any size in whole tiles and any dtype."""
    if measurement.family != "gemm_gelu" or not re.search("gelu|mlp", measurement.text):
        return None
    sizes, dtype = matrix_sizes(measurement), dtype_of(measurement)
    if sizes is None or dtype is None:
        return None
    if any(size % tile or not size for size, tile in zip(sizes, (128, 128, 512), strict=True)):
        return None
    stack = published_stack(measurement)
    launches = tuple(Launch(build, stack) for build in _builds(measurement, sizes, dtype))
    # nki.benchmark reports nc_latency per launch; the baseline's number is the sum of its two.
    return Case(measurement, launches, total("latency_us")) if launches else None
