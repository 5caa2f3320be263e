"""Kernels of the new NKI language in the forms that users write, for bench_speed."""

from __future__ import annotations

from typing import Any

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl

INSTRUCTIONS = 10_000
COLUMNS = 512
WIDTH = 64


def start(a: Any) -> tuple[Any, Any, Any]:
    """The result of a kernel, a tile with its argument, another tile."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    y = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x, src=a)
    return out, x, y


@nki.jit
def whole_tiles(a: Any) -> Any:
    """Instructions on whole tiles, a quarter of each kind."""
    out, x, y = start(a)
    for _ in range(INSTRUCTIONS // 4):
        nisa.tensor_tensor(dst=y, data1=x, data2=x, op=nl.add)
        nisa.tensor_scalar(dst=x, data=y, op0=nl.multiply, operand0=0.5)
        nisa.activation(dst=y, op=nl.exp, data=x)
        nisa.tensor_copy(dst=x, src=y)
    nisa.dma_copy(dst=out, src=x)
    return out


@nki.jit
def slices(a: Any) -> Any:
    """The kernel's instructions on columns of the tiles."""
    out, x, y = start(a)
    for i in range(INSTRUCTIONS // 4):
        first = i % (COLUMNS // WIDTH) * WIDTH
        part, other = x[:, first : first + WIDTH], y[:, first : first + WIDTH]
        nisa.tensor_tensor(dst=other, data1=part, data2=part, op=nl.add)
        nisa.tensor_scalar(dst=part, data=other, op0=nl.multiply, operand0=0.5)
        nisa.activation(dst=other, op=nl.exp, data=part)
        nisa.tensor_copy(dst=part, src=other)
    nisa.dma_copy(dst=out, src=x)
    return out


@nki.jit
def patterns(a: Any) -> Any:
    """The kernel's instructions through `.ap`."""
    out, x, y = start(a)
    for i in range(INSTRUCTIONS // 4):
        first = i % (COLUMNS // WIDTH) * WIDTH
        part = x.ap([[COLUMNS, 128], [1, WIDTH]], offset=first)
        other = y.ap([[COLUMNS, 128], [1, WIDTH]], offset=first)
        again = x.ap([[COLUMNS, 128], [1, WIDTH]], offset=first)
        result = y.ap([[COLUMNS, 128], [1, WIDTH]], offset=first)
        nisa.tensor_tensor(dst=other, data1=part, data2=again, op=nl.add)
        nisa.tensor_scalar(dst=part, data=other, op0=nl.multiply, operand0=0.5)
        nisa.activation(dst=result, op=nl.exp, data=part)
        nisa.tensor_copy(dst=part, src=result)
    nisa.dma_copy(dst=out, src=x)
    return out


@nki.jit
def in_a_loop(a: Any) -> Any:
    """Slices and `.ap` at the variable of a dynamic_range."""
    out, x, y = start(a)
    for i in nl.dynamic_range(COLUMNS // WIDTH):
        for _ in range(INSTRUCTIONS // 2):
            nisa.activation(
                dst=y[:, nl.ds(i * WIDTH, WIDTH)], op=nl.exp, data=x[:, nl.ds(i * WIDTH, WIDTH)]
            )
            nisa.tensor_scalar(
                dst=x.ap([[COLUMNS, 128], [1, WIDTH]], offset=i * WIDTH),
                data=y.ap([[COLUMNS, 128], [1, WIDTH]], offset=i * WIDTH),
                op0=nl.multiply,
                operand0=0.5,
            )
    nisa.dma_copy(dst=out, src=x)
    return out


@nki.jit
def products(a: Any) -> Any:
    """Sums of products in PSUM."""
    out, x, _ = start(a)
    for _ in range(INSTRUCTIONS // 8):
        psum = nl.ndarray((128, COLUMNS), dtype=nl.float32, buffer=nl.psum)
        for k in range(7):
            first = k % 4 * 128
            nisa.nc_matmul(dst=psum, stationary=x[:, first : first + 128], moving=x)
        nisa.tensor_copy(dst=x, src=psum)
    nisa.dma_copy(dst=out, src=x)
    return out


KERNELS = (whole_tiles, slices, patterns, in_a_loop, products)
