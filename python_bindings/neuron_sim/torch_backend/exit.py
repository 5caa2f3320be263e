"""Clean exit of processes that have used autograd on the device."""

from __future__ import annotations

import pathlib
import time

_TASKS = pathlib.Path("/proc/self/task")


def settle(limit: float = 1.0) -> None:
    """Waits, at most `limit` seconds, until autograd's threads are idle.

    When `backward()` returns, its thread may still be freeing Python objects. If Python finalizes
    then, the thread is terminated while it waits for the interpreter, which aborts the process.
    """
    end = time.monotonic() + limit
    idle = 0
    while idle < 3 and time.monotonic() < end:
        time.sleep(0.001)  # without the GIL, which such a thread may wait for
        idle = 0 if _is_busy() else idle + 1


def _is_busy() -> bool:
    """Whether an autograd thread is running."""
    try:
        return any(_state(task) == "R" for task in _TASKS.iterdir())
    except OSError:  # no such file system, or a thread has just ended
        return False


def _state(task: pathlib.Path) -> str:
    """R, S, ... of an autograd thread; empty for other threads."""
    text = (task / "stat").read_text()
    name, _, rest = text.partition("(")[2].rpartition(")")
    return rest.split()[0] if name.startswith("pt_autograd") else ""
