"""Times the authors' files: every measurement through the door that users take."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.case import TIMES
from neuron_sim.fidelity.evaluate import STACKS, Evaluated, without_number
from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.fidelity.published.sources import PublishedKernel, published_kernels
from neuron_sim.run.environment import script_environment
from neuron_sim.timeline.interval import kind_of

SECONDS = 1800
"""Limit of one kernel on the host."""
REASON_LENGTH = 200
"""Characters of a failure's reason in the report."""


def evaluate(
    measurement: Measurement, checkouts: Path, architecture: str | None = None
) -> Evaluated:
    """Times the author's file of a measurement. A failure is a reason, not an exception."""
    kernel = published_kernels().get(measurement.id)
    if kernel is None:
        return without_number(measurement, "the author's file is not public or named")
    return evaluate_kernel(measurement, kernel, checkouts, architecture)


def evaluate_kernel(
    measurement: Measurement,
    kernel: PublishedKernel,
    checkouts: Path,
    architecture: str | None = None,
) -> Evaluated:
    """Evaluates a kernel that is given."""
    folder = kernel.source.folder(checkouts)
    if not folder.is_dir():
        return without_number(measurement, f"no checkout '{folder}'")
    if reason := kernel.source.other_commit(folder):
        return without_number(measurement, reason)
    architecture = architecture or measurement.architecture
    return evaluated_from(measurement, _replies(kernel, folder, architecture))


def without_rules(
    measurement: Measurement,
    checkouts: Path,
    rules: Sequence[str],
    kernel: PublishedKernel | None = None,
) -> dict[str, float]:
    """The simulated time of the author's file, or of another `kernel`, under "published", and
    without single rules of the compiler, under their names; nothing when it does not run here."""
    kernel = kernel or published_kernels().get(measurement.id)
    if kernel is None or not kernel.source.folder(checkouts).is_dir():
        return {}
    folder = kernel.source.folder(checkouts)
    replies = _replies(kernel, folder, measurement.architecture, rules)
    if any("reason" in reply for reply in replies):
        return {}
    scale = TIMES.get(measurement.unit, 1.0)

    def number(key: str) -> float:
        times = [reply.get(key, reply["published"]) for reply in replies]
        return scale * sum(each[measurement.time] for each in times)

    return {"published": number("published")} | {rule: number(f"without {rule}") for rule in rules}


def evaluated_from(measurement: Measurement, replies: Sequence[dict[str, Any]]) -> Evaluated:
    """The outcome for one measurement, from a worker's replies to its launches."""
    for reply in replies:
        if "reason" in reply:
            return without_number(measurement, _short(reply["reason"]), has_kernel=True)
    scale = TIMES.get(measurement.unit, 1.0)
    simulated: dict[str, float | None] = {
        stack: scale * sum(reply[stack][measurement.time] for reply in replies) for stack in STACKS
    }
    stacks = list(dict.fromkeys(reply["stack"] for reply in replies))
    return Evaluated(
        measurement,
        simulated,
        " + ".join(stacks),
        {stack: _core.published_stacks()[stack]["settings"] for stack in stacks},
        has_kernel=True,
        kind=kind_of([reply["published"] for reply in replies]),
        profile={
            key: sum(reply["profile"][key] for reply in replies)
            for key in measurement.profile.keys() & replies[0]["profile"].keys()
        },
    )


def _short(reason: str) -> str:
    """A reason of one line, without the folders of files."""
    named = re.sub(r"(?<=[\s('\"])/\S*/(?=[^/\s]+\.py\b)", "", reason)
    return textwrap.shorten(named, REASON_LENGTH)


def _replies(
    kernel: PublishedKernel, folder: Path, architecture: str, without: Sequence[str] = ()
) -> Sequence[dict[str, Any]]:
    """The worker's replies to all launches of a kernel, from a separate process: the files of two
    authors may have the same names."""
    environment = script_environment(os.environ, architecture=architecture)
    more = {"folder": str(folder), "without": list(without)}
    requests = [dataclasses.asdict(launch) | more for launch in kernel.launches]
    try:
        done = subprocess.run(
            [sys.executable, "-B", "-m", "neuron_sim.fidelity.published.worker"],
            input="".join(json.dumps(request) + "\n" for request in requests),
            capture_output=True,
            text=True,
            env=environment,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return [{"reason": f"not timed within {SECONDS} s"}]
    lines = done.stdout.splitlines()
    if len(lines) != len(requests):
        last = done.stderr.strip().rpartition("\n")[2]
        return [{"reason": f"the process ended with {done.returncode}: {last}"}]
    return [json.loads(line) for line in lines]
