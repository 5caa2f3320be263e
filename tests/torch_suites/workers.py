"""Runs cases in several processes, so that a crash or a hang costs one case only."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

Run = Callable[[Any], Any]
# A new process imports PyTorch's databases before its first case.
START_SECONDS = 120.0
# How often the memory of the processes is looked at.
LOOK_SECONDS = 0.25


def _serve(connection: Connection, run: Run) -> None:
    """Runs the cases that arrive until None does."""
    import torch

    torch.set_num_threads(1)
    while (case := connection.recv()) is not None:
        connection.send(run(case))


class _Worker:
    def __init__(self, run: Run, case: Any, seconds: float, gigabytes: float) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, run), daemon=True)
        self.process.start()
        theirs.close()
        self.seconds, self.gigabytes = seconds, gigabytes
        self.give(case, START_SECONDS)

    def give(self, case: Any, allowance: float = 0.0) -> None:
        self.case = case
        self.deadline = time.monotonic() + self.seconds + allowance
        self.connection.send(case)

    def memory(self) -> float:
        """Resident gigabytes. A limit of addresses would count the device's reservation."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except (OSError, IndexError):  # it has ended
            return 0.0
        return pages * resource.getpagesize() / 1e9

    def finished(self) -> bool:
        """Whether the case has an outcome: it ended, or went beyond a limit."""
        self.too_large = self.memory() > self.gigabytes
        return self.connection.poll() or self.too_large or time.monotonic() >= self.deadline

    def outcome(self, lost: Callable[[str], Any]) -> tuple[Any, bool]:
        """What became of the case, and whether the process can take another."""
        if self.too_large and not self.connection.poll():
            return lost(f"it took more than {self.gigabytes:g} GB"), False
        if not self.connection.poll():
            return lost(f"it took more than {self.seconds:g} s"), False
        try:
            return self.connection.recv(), True
        except (EOFError, ConnectionResetError):
            self.process.join()
            return lost(f"the process ended with {self.process.exitcode}"), False

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def run_all(
    cases: Sequence[Any],
    run: Run,
    lost: Callable[[str], Any],
    processes: int = 2,
    seconds: float = 120.0,
    gigabytes: float = float("inf"),
) -> Iterator[tuple[Any, Any]]:
    """Yields (case, outcome) as they finish.

    A case that ends its process or takes more than `seconds` or `gigabytes` of memory has the
    outcome `lost(reason)`, and a new process takes the next.
    """
    waiting = list(reversed(cases))
    workers: list[_Worker] = []
    try:
        while waiting and len(workers) < processes:
            workers.append(_Worker(run, waiting.pop(), seconds, gigabytes))
        while workers:
            first = min(worker.deadline for worker in workers)
            left = max(0.0, first - time.monotonic())
            wait([w.connection for w in workers], timeout=min(LOOK_SECONDS, left))
            for worker in list(workers):
                if not worker.finished():
                    continue
                case = worker.case
                outcome, alive = worker.outcome(lost)
                if alive and waiting:
                    worker.give(waiting.pop())
                else:
                    worker.end()
                    workers.remove(worker)
                    if waiting:
                        workers.append(_Worker(run, waiting.pop(), seconds, gigabytes))
                yield case, outcome
    finally:
        for worker in workers:
            worker.end()
