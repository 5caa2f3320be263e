"""Measured steps of autocomp's optimisation of the AWS tutorial's matrix multiplication.

Source: ucb-bar/autocomp, examples/trn-tutorial/2_gemm_trace.py (1_gemm_trace.py has the same
steps), candidates 0, 2 and 4, innermost first. Written anew. result[M, N] = lhsT[K, M].T @ rhs[K,
N]: groups of `m` x `n` tiles of the result are summed at once, each in its own PSUM bank, one slab
of K after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuron_sim import _core
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


@dataclass(frozen=True)
class Step:
    """How one candidate groups tiles and loads them."""

    m: int = 1
    n: int = 1
    lhs_tiles: int = 1
    """Tiles of lhsT per load."""
    lhs_first: bool = False
    """lhsT is loaded before rhs, and every tile of rhs right before its product."""


STEPS = {0: Step(lhs_first=True), 2: Step(m=2, n=2), 4: Step(m=4, n=2, lhs_tiles=2)}


class _Gemm:
    def __init__(
        self, architecture: str, sizes: tuple[int, int, int], dtype: str, step: Step
    ) -> None:
        m, k, n = sizes
        self.b = Builder("gemm", architecture)
        self.step = step
        self.dtype = dtype
        self.lhs = self.b.argument("lhsT", [k, m], dtype)
        self.rhs = self.b.argument("rhs", [k, n], dtype)
        self.result = self.b.argument("result", [m, n], dtype)
        self.depth = k // PARTITIONS
        self.groups = (m // PARTITIONS // step.m, n // MOVING // step.n)

    def load_lhs(self, k: Index, m: Index, first: int) -> list[View]:
        """lhs_tiles tiles of group m from tile `first` on, in one load."""
        width = self.step.lhs_tiles * PARTITIONS
        start = (m * self.step.m + first) * PARTITIONS
        wide = load(self.b, self.lhs[block(k, PARTITIONS), start : start + width])
        return [wide[:, block(i, PARTITIONS)] for i in range(self.step.lhs_tiles)]

    def load_rhs(self, k: Index, n: Index, first: int) -> View:
        return load(self.b, self.rhs[block(k, PARTITIONS), block(n * self.step.n + first, MOVING)])

    def slab(self, sums: list[list[View]], k: Index, m: Index, n: Index) -> None:
        """One slab of K of a group."""
        step = self.step
        if step.lhs_first:
            stationary = self.load_lhs(k, m, 0)[0]
            for j in range(step.n):
                self.b.nc_matmul(sums[0][j], stationary, self.load_rhs(k, n, j), accumulate=True)
            return
        movings = [self.load_rhs(k, n, j) for j in range(step.n)]
        for i in range(0, step.m, step.lhs_tiles):
            for t, stationary in enumerate(self.load_lhs(k, m, i)):
                for sum_, moving in zip(sums[i + t], movings, strict=True):
                    self.b.nc_matmul(sum_, stationary, moving, accumulate=True)

    def group(self, m: Index, n: Index) -> None:
        """step.m x step.n tiles of the result."""
        step = self.step
        sums = [[zeros(self.b, [PARTITIONS, MOVING]) for _ in range(step.n)] for _ in range(step.m)]
        self.b.loop(self.depth, lambda k: self.slab(sums, k, m, n))
        for i, row in enumerate(sums):
            for j, sum_ in enumerate(row):
                rows, columns = block(m * step.m + i, PARTITIONS), block(n * step.n + j, MOVING)
                out = copied(self.b, sum_, self.dtype)
                store(self.b, self.result[rows, columns], out)


def gemm(architecture: str, sizes: tuple[int, int, int], dtype: str, step: Step) -> _core.Program:
    """Whole groups only: M a multiple of 128 step.m, K of 128, N of 512 step.n."""
    g = _Gemm(architecture, sizes, dtype, step)
    g.b.loop(g.groups[0], lambda m: g.b.loop(g.groups[1], lambda n: g.group(m, n)))
    return g.b.finish()
