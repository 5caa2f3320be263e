"""Kernels that the tests of sweeps and of tuning time, in a language with declared parameters."""

import nki
import nki.isa as nisa
import nki.language as nl

INPUTS = {"a": "bfloat16[768, 768]", "b": "bfloat16[768, 1024]"}
PARAMETERS = {
    "rows": [1, 2, 3, 6], "columns": [1, 2, 4, 8, 16], "width": [64, 128, 256],
    "depth": [1, 2, 3, 4, 6],
}  # fmt: skip
"""300 tilings: blocks of `rows` x `columns` tiles of the result, each 128 x `width`; `depth` tiles
of the inner dimension are loaded at once."""


@nki.jit
def scaled(x, factor):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), factor))
    return out


def not_a_kernel(size):
    return scaled.traced(_declared(size), 2.0)


def two_kernels(size):
    return [not_a_kernel(size), not_a_kernel(size)]


def returns_nothing(size):
    return size


def _declared(size):
    import numpy as np

    return np.zeros((128, size), np.float32)


@nki.jit
def product(a, b, rows, columns, width, depth):
    inner, m, n = a.shape[0], a.shape[1], b.shape[1]
    out = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    for row in range(0, m, 128 * rows):
        for column in range(0, n, width * columns):
            block(out, a, b, inner, row, column, rows, min(columns, (n - column) // width), width,
                  depth)  # fmt: skip
    return out


def block(out, a, b, inner, row, column, rows, columns, width, depth):
    totals = [nl.zeros((128, width * columns), dtype=nl.float32, buffer=nl.sbuf)
              for _ in range(rows)]  # fmt: skip
    for first in range(0, inner, 128 * depth):
        steps = range(first, min(inner, first + 128 * depth), 128)
        right = [nl.load(b[step : step + 128, column : column + width * columns]) for step in steps]
        for i in range(rows):
            at = row + 128 * i
            left = [nl.load(a[step : step + 128, at : at + 128]) for step in steps]
            for j in range(columns):
                part = nl.zeros((128, width), dtype=nl.float32, buffer=nl.psum)
                place = slice(j * width, (j + 1) * width)
                for x, y in zip(left, right, strict=True):
                    nisa.nc_matmul(part, x, y[:, place])
                nisa.tensor_tensor(totals[i][:, place], totals[i][:, place], part, op=nl.add)
    for i in range(rows):
        at = row + 128 * i
        nl.store(out[at : at + 128, column : column + width * columns],
                 nl.copy(totals[i], dtype=out.dtype))  # fmt: skip
