"""A progress bar on stderr for what takes longer than two seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE = 2.0  # seconds before a bar appears


class Progress:
    """Shows how many of how many are done, and how long it will last; nothing unless stderr is a
    terminal and the work takes longer than PATIENCE.

        with Progress("sweep") as progress:
            run_sweep(study, advance=progress)
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._began = time.monotonic()
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` are done."""
        if self._bar is None and time.monotonic() - self._began > PATIENCE and sys.stderr.isatty():
            self._begin(total)
        if self._bar is not None:
            self._bar.update(self._task, completed=done, total=total)

    def _begin(self, total: int) -> None:
        from rich import progress  # what is fast needs none
        from rich.console import Console  # as above

        columns = (
            progress.TextColumn("{task.description}"), progress.BarColumn(),
            progress.MofNCompleteColumn(), progress.TimeRemainingColumn(),
        )  # fmt: skip
        self._bar = progress.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task = self._bar.add_task(self._title, total=total)
        self._bar.start()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
