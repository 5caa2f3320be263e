"""Times the rows of test suites, those of a file one after the other in one process."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.evaluate import Evaluated, without_number
from neuron_sim.fidelity.held_out.rows import Row, Suite
from neuron_sim.fidelity.published.evaluate import evaluated_from
from neuron_sim.run.environment import script_environment

SECONDS = 600
"""Limit of one row on the host, whatever else it is busy with: the longest takes half a minute."""


class _Worker:
    """A process that times the rows of a suite, started anew after a row that ended it.

    It does not keep the suite's compiled modules (`-B`): they would change the checkout, and a file
    edited within a second to the same length would be taken for the old one.
    """

    def __init__(self, suite: Suite, folder: Path, architecture: str) -> None:
        self._suite = dataclasses.asdict(suite) | {"folder": str(folder)}
        self._environment = script_environment(os.environ, architecture=architecture)
        self._process: subprocess.Popen[str] | None = None
        self._not_imported: dict[str, Any] = {}

    def reply(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply to a row: its times, or the reason why it has no time."""
        if self._not_imported:
            return self._not_imported
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-m", "neuron_sim.fidelity.held_out.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env=self._environment,
            )
            self._not_imported = self._ask(self._suite)
            if self._not_imported:
                return self._not_imported
        return self._ask(request)

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        late = threading.Timer(SECONDS, process.kill)
        late.start()
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        was_late = not late.is_alive()
        late.cancel()
        if line:
            return dict(json.loads(line))
        self.close()
        return {"reason": f"not timed within {SECONDS} s" if was_late else "the process ended"}

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def evaluate(
    rows: Sequence[Row], checkouts: Path, architecture: str | None = None
) -> Iterator[Evaluated]:
    """The outcome of every row, in order. A failure is a reason, not an exception."""
    for _, group in groupby(rows, key=lambda row: row.suite.file):
        alike = list(group)
        suite = alike[0].suite
        folder = suite.source.folder(checkouts)
        reason = "" if folder.is_dir() else f"no checkout '{folder}'"
        reason = reason or suite.source.other_commit(folder)
        if reason:
            yield from (without_number(row.measurement, reason) for row in alike)
            continue
        worker = _Worker(suite, folder, architecture or alike[0].measurement.architecture)
        try:
            for row in alike:
                request = {
                    "method": row.method,
                    "parameters": dict(row.parameters),
                    "cores": row.cores,
                }
                yield evaluated_from(row.measurement, [worker.reply(request)])
        finally:
            worker.close()
