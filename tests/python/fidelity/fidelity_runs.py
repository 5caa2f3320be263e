"""Runs programs of the fidelity suite on NumPy arrays, for its tests."""

import numpy as np


def compute(program, arrays):
    """Runs `program` on `arrays`, in place; 2-byte floats go in as their bits."""
    program.run([x.view(np.uint16) if x.dtype.itemsize == 2 else x for x in arrays])


def uniform(rows, columns, dtype, seed=0):
    """A matrix in [-1, 1) of a dtype, the same in every run."""
    random = np.random.default_rng((rows, columns, seed))
    return random.uniform(-1, 1, (rows, columns)).astype(dtype)
