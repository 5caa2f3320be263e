"""Blocks of residuals from the published measurements and the traces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from neuron_sim import _core
from neuron_sim.fidelity.calibrate.problem import LATENCY_SCALE, TRACE_SCALE, Block, log_ratio
from neuron_sim.fidelity.evaluate import PreparedCase
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.suite import find_case

TRACED = {"trn2": Path(__file__).parents[1] / "traces"}
"""Folder of the traces of a core."""


def latency_blocks(measurements: Sequence[Measurement]) -> tuple[list[Block], dict[str, str]]:
    """A block per family of the measurements that have a kernel, and why others are left out.

    Kernels are built and compiled here, once.
    """
    families: dict[str, list[PreparedCase]] = defaultdict(list)
    left_out = {}
    for measurement in measurements:
        try:
            case = find_case(measurement)
            if case is None:
                left_out[measurement.id] = "no kernel of the suite matches"
                continue
            prepared = PreparedCase(case)
            prepared.time()
            families[measurement.family].append(prepared)
        except Exception as error:  # as in the fidelity command: one case fewer
            left_out[measurement.id] = str(error).split("\n", 1)[0]
    blocks = [
        Block(f"family {family}", "latency", LATENCY_SCALE, _family_residuals(cases))
        for family, cases in sorted(families.items())
    ]
    return blocks, left_out


def _family_residuals(cases: Sequence[PreparedCase]) -> Callable[[str], np.ndarray]:
    def residuals(architecture: str) -> np.ndarray:
        return np.array(
            [
                log_ratio(case.time(architecture=architecture), case.case.measurement.value)
                for case in cases
            ]
        )

    return residuals


def trace_blocks(architecture: str) -> list[Block]:
    """Durations and intervals of the instructions in each trace of the core; empty without any."""
    folder = TRACED.get(architecture)
    if folder is None or not folder.is_dir():
        return []
    from neuron_sim.fidelity.replay.program import build_replay
    from neuron_sim.fidelity.replay.reader import read_trace, trace_names

    blocks = []
    for name in trace_names(folder):
        replay = build_replay(read_trace(folder, name), architecture)
        for kind in ("duration", "interval"):
            residuals = _trace_residuals(replay, kind)
            blocks.append(Block(f"trace {name}", kind, TRACE_SCALE, residuals))
    return blocks


def _trace_residuals(replay: Any, kind: str) -> Callable[[str], np.ndarray]:
    from neuron_sim.fidelity.replay.compare import compare, intervals

    def residuals(architecture: str) -> np.ndarray:
        window = _core.architecture_facts(architecture)["tensor.gate_window"]["value"]
        comparison = compare(replay, window=window, architecture=architecture)
        both = (
            intervals(comparison)
            if kind == "interval"
            else [(pair.real_duration, pair.duration) for pair in comparison.pairs]
        )
        return np.array([(ours - real) / real for real, ours in both])

    return residuals
