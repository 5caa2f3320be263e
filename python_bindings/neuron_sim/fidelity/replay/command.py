"""Replays profiles of real kernels and compares instruction by instruction.

  neuron-sim replay
  neuron-sim replay fused_fp32_s512 --output instructions.json

A TRACE is the name of a profile that comes with the package, a folder of profiles, or FOLDER/NAME
for FOLDER/NAME_instructions.csv and its companions; without one all profiles of the package. Each
becomes a Program with the same instructions, engines, order and addresses. Printed are the median
error of durations and of the time between neighbours of an engine, the mean error of starts, and
the error of the kernel's time; with --json also every instruction.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.replay.compare import Comparison, Figures, compare, figures
from neuron_sim.fidelity.replay.order import unordered_waits
from neuron_sim.fidelity.replay.program import Replay, build_replay
from neuron_sim.fidelity.replay.reader import TRACES, read_trace, trace_names
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import SUCCESS
from neuron_sim.terminal.json_output import add_json

SUMMARY = "replay profiles of real kernels, instruction by instruction"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument("traces", metavar="TRACE", nargs="*", help="a profile, or a folder of them")
    parser.add_argument(
        "--architecture",
        metavar="A",
        default="trn2",
        help="name or TOML file of the core's parameters",
    )
    add_json(parser)
    parser.add_argument(
        "--clock-phase",
        metavar="NS",
        type=float,
        help="where the windows of the PE clock begin after the kernel's start (from the profile)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Replays and prints."""
    window = float(_core.architecture_facts(arguments.architecture)["tensor.gate_window"]["value"])
    replays: list[Replay] = []
    comparisons: list[Comparison] = []
    for folder, name in chosen(arguments.traces):
        replay = build_replay(read_trace(folder, name), arguments.architecture)
        replays.append(replay)
        comparisons.append(compare(replay, phase=arguments.clock_phase, window=window))
    overall = figures(comparisons)
    result = {
        "architecture": arguments.architecture,
        "traces": [
            record(replay, comparison)
            for replay, comparison in zip(replays, comparisons, strict=True)
        ],
        "overall": _figures_record(overall),
    }
    print_result(arguments, result, lambda: print("\n".join(lines(comparisons, overall))))
    return SUCCESS


def chosen(traces: Sequence[str]) -> list[tuple[Path, str]]:
    """(folder, name) of every profile that the arguments name."""
    packaged = trace_names()
    result: list[tuple[Path, str]] = []
    for trace in traces or [str(TRACES)]:
        path = Path(trace)
        if path.is_dir():
            result += [(path, name) for name in trace_names(path)]
        elif trace in packaged:
            result.append((TRACES, trace))
        else:
            result.append((path.parent, path.name.removesuffix("_instructions.csv")))
    return result


def lines(comparisons: Sequence[Comparison], overall: Figures) -> list[str]:
    """The table."""
    width = max(len("overall"), *(len(comparison.name) for comparison in comparisons))
    result = [
        f"{'trace':<{width}}  {'instructions':>12}  {'duration':>8}  {'interval':>8}  {'start':>7}"
        f"  {'body':>22}"
    ]
    for comparison in comparisons:
        body = (
            f"{comparison.real_body / 1e3:.2f} {comparison.body / 1e3:.2f} us "
            f"{100 * comparison.body_error:+.1f} %"
        )
        result.append(_line(comparison.name, comparison.figures, width) + f"  {body:>22}")
        result += [f"{'':<{width}}  not simulated: {row.where}" for row in comparison.missing]
    result.append(_line("overall", overall, width))
    result.append(
        "duration, interval: median error; start: mean error; body: real and simulated time to the "
        "last data packet"
    )
    return result


def _line(name: str, figures: Figures, width: int) -> str:
    return (
        f"{name:<{width}}  {figures.instructions:>12}  {100 * figures.duration_error:>6.2f} %"
        f"  {100 * figures.interval_error:>6.2f} %  {figures.start_error:>4.0f} ns"
    )


def _figures_record(figures: Figures) -> dict[str, Any]:
    return {
        "instructions": figures.instructions,
        "duration_error_percent": 100 * figures.duration_error,
        "interval_error_percent": 100 * figures.interval_error,
        "start_error_ns": figures.start_error,
    }


def record(replay: Replay, comparison: Comparison) -> dict[str, Any]:
    """One profile for JSON, with every instruction; times in nanoseconds since the kernel's first
    instruction."""
    return {
        "trace": comparison.name,
        **_figures_record(comparison.figures),
        "clock_phase_ns": comparison.clock_phase,
        "body_ns": {"real": comparison.real_body, "simulated": comparison.body},
        "body_error_percent": 100 * comparison.body_error,
        "last_semaphore_ns": {"real": comparison.real_visible, "simulated": comparison.visible},
        "not_simulated": [row.where for row in comparison.missing],
        "waits_not_implied": [
            f"{wait.consumer.where} for S[{wait.semaphore}] >= {wait.value}"
            for wait in unordered_waits(replay)
        ],
        "instructions_ns": [
            {
                "line": pair.row.row.line,
                "engine": pair.row.row.engine,
                "opcode": pair.row.opcode,
                "start": {"real": pair.real_start, "simulated": pair.start},
                "duration": {"real": pair.real_duration, "simulated": pair.duration},
            }
            for pair in comparison.pairs
        ],
    }
