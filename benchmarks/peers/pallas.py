"""Pallas' interpreters on a matrix product, run by the interpreter that has JAX: pallas.py PROBLEM.

PROBLEM is JSON as of problems.py; the answer on standard output is, too: processor seconds of each
run, and the largest error against a product in float64.
"""

from __future__ import annotations

import json
import os
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS, COLUMNS, INNER = 128, 512, 128
"""Sizes of a tile: those of an nc_matmul."""
MODES = {"interpret": lambda: True, "tpu_interpret": pltpu.InterpretParams}
"""By name: the arguments `interpret` of pallas_call."""


def product_of_tiles(a_tile, b_tile, out_tile):
    """out += a @ b; the grid's last axis walks over the inner dimension."""

    @pl.when(pl.program_id(2) == 0)
    def _():
        out_tile[...] = jnp.zeros_like(out_tile)

    out_tile[...] += jnp.dot(a_tile[...], b_tile[...], preferred_element_type=jnp.float32)


def product(problem: dict):
    """The kernel for a problem, compiled for the CPU."""
    rows, columns, inner = (problem[name] for name in ("rows", "columns", "inner"))
    call = pl.pallas_call(
        product_of_tiles,
        out_shape=jax.ShapeDtypeStruct((rows, columns), jnp.float32),
        grid=(rows // ROWS, columns // COLUMNS, inner // INNER),
        in_specs=[
            pl.BlockSpec((ROWS, INNER), lambda i, j, k: (i, k)),
            pl.BlockSpec((INNER, COLUMNS), lambda i, j, k: (k, j)),
        ],
        out_specs=pl.BlockSpec((ROWS, COLUMNS), lambda i, j, k: (i, j)),
        interpret=MODES[problem["mode"]](),
    )
    return jax.jit(call)


def main() -> None:
    problem = json.loads(sys.argv[1])
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    generator = np.random.default_rng(0)
    a = generator.standard_normal((problem["rows"], problem["inner"]), np.float32)
    b = generator.standard_normal((problem["inner"], problem["columns"]), np.float32)
    operands = jax.block_until_ready((jnp.asarray(a), jnp.asarray(b)))
    small = {"rows": ROWS, "columns": COLUMNS, "inner": INNER, "mode": problem["mode"]}
    jax.block_until_ready(product(small)(operands[0][:ROWS, :INNER], operands[1][:INNER, :COLUMNS]))
    spent = []
    call = product(problem)
    for _ in range(problem["runs"]):
        start = time.process_time()
        found = jax.block_until_ready(call(*operands))
        spent.append(time.process_time() - start)
    error = np.abs(np.asarray(found) - a.astype(np.float64) @ b.astype(np.float64)).max()
    print(json.dumps({"seconds": spent, "found": {"error": float(error)}}))


if __name__ == "__main__":
    main()
