"""What `neuron-sim run` says at the end of a process that launched something with torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from neuron_sim import settings

ROWS = 5
"""Operators that are shown, those with the most time."""


def print_summary(extension: Any, tally: Mapping[str, Any]) -> None:
    """Prints the summary of this process to stderr, unless it launched nothing.

    `extension`: neuron_sim._C; `tally`: what its read_tally() says."""
    if not tally["launches"] or not reports():
        return
    devices = range(extension.device_count())
    end = max(extension.simulated_time_ps(device) for device in devices) * 1e-6
    chip = extension.device_properties(0)["architecture"]
    print(summary_text(tally, chip, end, extension.fallbacks()), file=sys.stderr)


def reports() -> bool:
    """Whether this is the process of a run that reports: of several ranks the first one."""
    children = sys.modules.get("multiprocessing.process")
    order = getattr(children.current_process(), "_identity", ()) if children else ()
    return os.environ.get("RANK", "0") == "0" and all(number == 1 for number in order)


def summary_text(
    tally: Mapping[str, Any], chip: str, end_us: float, fallbacks: Sequence[tuple]
) -> str:
    """The summary, at most 12 lines.

    `end_us`: the devices' clock at the end; `fallbacks`: (operator, count, reason, bytes)."""
    total = tally["latency_us"]
    overhead = total - tally["body_us"]
    lines = [
        f"neuron-sim run: {tally['launches']:,} launches of {tally['programs']:,} programs took "
        f"{_time(total)} on {chip}, whose clock ended at {_time(end_us)}",
        f"  bound by {_shares(tally['bounds'], total)}; {overhead / total:.0%} is launch overhead",
    ]
    ranked = sorted(tally["operators"].items(), key=lambda item: -item[1][1])
    rows = [(name, *figures) for name, figures in ranked[:ROWS]]
    if others := ranked[ROWS:]:
        counts, times = zip(*(figures for _, figures in others), strict=True)
        rows.append((f"{len(others)} other operators", sum(counts), sum(times)))
    width = max(len(name) for name, _, _ in rows)
    lines += [
        f"  {name.ljust(width)} {count:>9,} x {_time(time):>10} {time / total:6.1%}"
        for name, count, time in rows
    ]
    if fallbacks:
        lines.append(f"  on the CPU: {_fallen_back(fallbacks)}")
    return "\n".join([*lines, f"  {_clock()}"])


def _time(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:,.4g} {unit}"
    return f"{microseconds:.4g} us"


def _shares(times: Mapping[str, float], total: float) -> str:
    ranked = sorted(times.items(), key=lambda item: -item[1])[:3]
    return ", ".join(f"{name} {time / total:.0%}" for name, time in ranked)


def _fallen_back(fallbacks: Sequence[tuple]) -> str:
    counts: dict[str, int] = {}
    for name, count, *_ in fallbacks:
        counts[name] = counts.get(name, 0) + count
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{name} {count:,} x" for name, count in ranked[:ROWS])
    return shown + (f" and {len(ranked) - ROWS} others" if len(ranked) > ROWS else "")


def _clock() -> str:
    from neuron_sim.run import clock  # most processes print nothing

    if os.environ.get(settings.CLOCK) == "simulated":
        return (
            "clock of the script: simulated (waits for the device, and "
            f"{clock.LAUNCH_COST_US:g} us of host time per launch, assumed)"
        )
    return "clock of the script: the host's; --clock simulated is the chip's"
