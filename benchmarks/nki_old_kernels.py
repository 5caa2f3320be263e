"""Kernels of the older NKI language in the forms that users write, for bench_speed.

Each emits about INSTRUCTIONS instructions on tiles of 512 columns, or on 64 of the columns. The
index of a loop that is unrolled is a number, that of affine_range a variable.
"""

from __future__ import annotations

from typing import Any

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np

INSTRUCTIONS = 10_000
COLUMNS = 512
WIDTH = 64


def output(a: Any) -> Any:
    """The result of a kernel."""
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


def tile(a: Any) -> Any:
    """A tile of the shape of the kernel's argument."""
    return nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)


def first_column(i: int) -> int:
    """Where the columns of iteration i begin."""
    return i % (COLUMNS // WIDTH) * WIDTH


@nki.jit
def assignments(a: Any) -> Any:
    """Results assigned to tiles, as in the older language."""
    out = output(a)
    x = nl.load(a)
    y = tile(a)
    for _ in nl.static_range(INSTRUCTIONS // 4):
        y[...] = nisa.tensor_tensor(x, x, op=np.add)
        x[...] = nisa.tensor_scalar(y, np.multiply, 0.5)
        y[...] = nisa.activation(np.exp, x)
        x[...] = nisa.tensor_copy(y)
    nl.store(out, x)
    return out


@nki.jit
def operators(a: Any) -> Any:
    """Operators, whose results are new tiles."""
    out = output(a)
    x = nl.load(a)
    for _ in nl.static_range(INSTRUCTIONS // 2):
        y = nl.exp(x)
        y = y * 0.5
    nl.store(out, x)
    return out


@nki.jit
def results(a: Any) -> Any:
    """Results of instructions that are new tiles, in unrolled loops."""
    out = output(a)
    x = nl.load(a)
    for _ in nl.static_range(INSTRUCTIONS // 4):
        y = nisa.tensor_tensor(x, x, op=np.add)
        z = nisa.tensor_scalar(y, np.multiply, 0.5)
        y = nisa.activation(np.exp, z)
        z = nisa.tensor_copy(y)
    nl.store(out, x)
    return out


@nki.jit
def tiles_of_an_iteration(a: Any) -> Any:
    """An iteration of a row-wise kernel: its own tile, a sum, a product, a store."""
    out = output(a)
    for i in nl.static_range(INSTRUCTIONS // 5):
        first = first_column(i)
        x = nl.ndarray((nl.par_dim(128), WIDTH), dtype=nl.float32, buffer=nl.sbuf)
        x[...] = nl.load(a[0:128, first : first + WIDTH])
        y = nl.exp(x)
        total = nl.sum(y, axis=1, keepdims=True)
        z = nl.multiply(y, total)
        nl.store(out[0:128, first : first + WIDTH], z)
    return out


@nki.jit
def slices(a: Any) -> Any:
    """Assignments to slices of slices."""
    out = output(a)
    x, y = nl.load(a), tile(a)
    for i in nl.static_range(INSTRUCTIONS // 4):
        f = first_column(i)
        y[:, f : f + WIDTH] = nisa.tensor_tensor(x[:, f : f + WIDTH], x[:, 0:WIDTH], op=np.add)
        x[:, f : f + WIDTH] = nisa.tensor_scalar(y[:, f : f + WIDTH], np.multiply, 0.5)
        y[:, nl.ds(f, WIDTH)] = nisa.activation(np.exp, x[:, nl.ds(f, WIDTH)])
        x[0:128, f : f + WIDTH] = nisa.tensor_copy(y[0:128, f : f + WIDTH])
    nl.store(out, x)
    return out


@nki.jit
def loads_and_stores(a: Any) -> Any:
    """load and store with index expressions of arange."""
    out = output(a)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(WIDTH)[None, :]
    for i in nl.static_range(INSTRUCTIONS // 2):
        f = first_column(i)
        x = nl.load(a[i_p, f + i_f])
        nl.store(out[i_p, f + i_f], value=x)
    return out


@nki.jit
def masked_loads_and_stores(a: Any) -> Any:
    """Loads and stores with masks, which one iteration in eight needs: it ends out of range."""
    out = output(a)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(WIDTH)[None, :]
    for i in nl.static_range(INSTRUCTIONS // 2):
        f = first_column(i) + 8
        x = nl.load(a[i_p, f + i_f], mask=(f + i_f < COLUMNS))
        nl.store(out[i_p, f + i_f], value=x, mask=(f + i_f < COLUMNS))
    return out


@nki.jit
def copies(a: Any) -> Any:
    """nl.copy to and from index expressions and slices."""
    out = output(a)
    x, y = nl.load(a), tile(a)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(WIDTH)[None, :]
    for i in nl.static_range(INSTRUCTIONS // 2):
        f = first_column(i)
        y[i_p, f + i_f] = nl.copy(x[i_p, f + i_f])
        x[:, f : f + WIDTH] = nl.copy(y[:, f : f + WIDTH])
    nl.store(out, x)
    return out


@nki.jit
def products(a: Any) -> Any:
    """Sums of products in PSUM: `psum[...] += nc_matmul(...)`."""
    out = output(a)
    x = nl.load(a)
    for _ in nl.static_range(INSTRUCTIONS // 8):
        psum = nl.zeros((128, COLUMNS), nl.float32, buffer=nl.psum)
        for k in nl.static_range(7):
            first = k % 4 * 128
            psum[...] += nisa.nc_matmul(x[:, first : first + 128], x)
    nl.store(out, x)
    return out


@nki.jit
def sliced_operands(a: Any) -> Any:
    """activation and tensor_scalar with columns of a tile as operands."""
    out = output(a)
    x, y, columns = nl.load(a), tile(a), nl.load(a[:, 0:8])
    i_p, i_f = nl.arange(128)[:, None], nl.arange(WIDTH)[None, :]
    for i in nl.static_range(INSTRUCTIONS // 4):
        f = first_column(i)
        y[:, f : f + WIDTH] = nisa.activation(np.exp, x[:, f : f + WIDTH], bias=columns[:, 0:1])
        x[:, f : f + WIDTH] = nisa.tensor_scalar(
            y[:, f : f + WIDTH], np.multiply, columns[:, 1:2], op1=np.add, operand1=columns[:, 2:3]
        )
        y[i_p, f + i_f] = nisa.activation(np.exp, x[i_p, f + i_f], scale=columns[:, 3])
        x[i_p, f + i_f] = nisa.tensor_scalar(y[i_p, f + i_f], np.multiply, columns[:, 4])
    nl.store(out, x)
    return out


@nki.jit
def expressions_in_a_loop(a: Any) -> Any:
    """Index expressions of arange and of the variable of an affine_range."""
    out = output(a)
    x, y = nl.load(a), tile(a)
    i_p, i_f = nl.arange(128)[:, None], nl.arange(WIDTH // 2)[None, :]
    for i in nl.affine_range(COLUMNS // WIDTH):
        for _ in nl.static_range(INSTRUCTIONS // 4):
            y[i_p, i * WIDTH + i_f] = nisa.tensor_tensor(
                x[i_p, i * WIDTH + i_f], x[i_p, i * WIDTH + WIDTH // 2 + i_f], op=np.add
            )
            x[i_p, i * WIDTH + i_f] = nisa.tensor_scalar(y[i_p, i * WIDTH + i_f], np.multiply, 0.5)
            y[i_p, i * WIDTH + i_f] = nisa.activation(np.exp, x[i_p, i * WIDTH + i_f])
            x[i_p, i * WIDTH + i_f] = nl.copy(y[i_p, i * WIDTH + i_f])
    nl.store(out, x)
    return out


@nki.jit
def slices_in_a_loop(a: Any) -> Any:
    """nl.ds and slices at the variable of an affine_range."""
    out = output(a)
    x, y = nl.load(a), tile(a)
    for i in nl.affine_range(COLUMNS // WIDTH):
        for _ in nl.static_range(INSTRUCTIONS // 2):
            y[:, nl.ds(i * WIDTH, WIDTH)] = nisa.tensor_scalar(
                x[:, nl.ds(i * WIDTH, WIDTH)], np.multiply, 0.5
            )
            x[:, i * WIDTH : (i + 1) * WIDTH] = nisa.activation(
                np.exp, y[:, i * WIDTH : (i + 1) * WIDTH]
            )
    nl.store(out, x)
    return out


KERNELS = (
    *(assignments, operators, results, tiles_of_an_iteration, slices),
    *(loads_and_stores, masked_loads_and_stores, copies, products, sliced_operands),
    *(expressions_in_a_loop, slices_in_a_loop),
)
