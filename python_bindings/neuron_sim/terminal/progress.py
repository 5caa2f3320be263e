"""A progress bar on stderr for what takes longer than two seconds."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

PATIENCE = 2.0  # seconds before a bar appears

Item = TypeVar("Item")


class Progress:
    """Shows how many of how many are done, and how long it will last; nothing unless stderr is a
    terminal and the work takes longer than PATIENCE.

        with Progress("sweep") as progress:
            run_sweep(study, advance=progress)

    The bar appears also while a single call lasts: then it shows that time passes.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._bar: Any = None
        self._task: Any = None
        self._state: tuple[int, int | None] = (0, None)
        self._lock = threading.Lock()
        self._timer = threading.Timer(PATIENCE, self._begin) if sys.stderr.isatty() else None

    def __call__(self, done: int, total: int | None) -> None:
        """`done` of `total` are done; None: nobody knows how many there will be."""
        with self._lock:
            self._state = done, total
            if self._bar is not None:
                self._bar.update(self._task, completed=done, total=total)

    def over(self, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
        """The items, each counted when the next one is asked for."""
        done = 0
        self(done, total)
        for item in items:
            yield item
            done += 1
            self(done, total)

    def _begin(self) -> None:
        from rich import progress  # what is fast needs none
        from rich.console import Console  # as above

        columns = (
            progress.SpinnerColumn(), progress.TextColumn("{task.description}"),
            progress.BarColumn(), progress.MofNCompleteColumn(), progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
        )  # fmt: skip
        with self._lock:
            if self._timer is None:
                return  # the work ended meanwhile
            done, total = self._state
            # What is printed goes above the bar, unless it goes elsewhere.
            self._bar = progress.Progress(
                *columns,
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=sys.stdout.isatty(),
            )
            self._task = self._bar.add_task(self._title, completed=done, total=total)
            self._bar.start()

    def __enter__(self) -> Progress:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._bar is not None:
                self._bar.stop()
