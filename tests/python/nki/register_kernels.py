"""Kernels whose loops depend on registers."""

import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest


def int32(*values):
    return np.array([values], np.int32)


def normal(*shape):
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


@nki.jit
def doubled_rows(x, bounds, step=1):
    """Row i of the output is twice that of x, for i in range(bounds[0], bounds[1], step)."""
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    zeros = nl.zeros((x.shape[0], x.shape[1]), dtype=x.dtype)
    nisa.dma_copy(dst=out, src=zeros)
    start, stop = nisa.register_alloc(), nisa.register_alloc()
    nisa.register_load(start, bounds[0:1, 0:1])
    nisa.register_load(stop, bounds[0:1, 1:2])
    for i in nl.dynamic_range(start, stop, step):
        row = nl.ndarray((1, x.shape[1]), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=row, src=x.ap([[x.shape[1], 1], [1, x.shape[1]]], scalar_offset=i))
        nisa.tensor_scalar(dst=row, data=row, op0=nl.multiply, operand0=2.0)
        nisa.dma_copy(dst=out.ap([[x.shape[1], 1], [1, x.shape[1]]], scalar_offset=i), src=row)
    return out


def countdown(kind):
    """A kernel that adds x as often as count says, with one of the three ways to loop."""

    @nki.jit
    def kernel(x, count):
        tile = nl.load(x)
        total = nl.zeros(x.shape, dtype=nl.float32)
        left = nl.load(count)
        reg = nisa.register_alloc(left)

        def step():
            nisa.tensor_tensor(dst=total, data1=total, data2=tile, op=nl.add)
            nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1)

        if kind == "while":
            while reg:
                step()
                nisa.register_load(reg, left)
        elif kind == "while_loop":

            def body(r):
                step()
                nisa.register_load(r, left)
                return r

            nl.while_loop(reg, body)
        elif kind == "another register":

            def body(r):
                step()
                return nisa.register_alloc(left)

            nl.while_loop(reg, body)
        else:
            nl.fori_loop(0, reg, lambda i: step())
        out = nl.ndarray(x.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, total)
        after = nl.ndarray((1, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        nisa.register_store(after, reg)
        return out, after

    return kernel


def failure(kernel, *arguments):
    """The error that a call raises."""
    with pytest.raises(Exception) as error:
        kernel(*arguments)
    return error.value
