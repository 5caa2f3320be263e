"""`neuron-sim run --clock simulated`: the functions of `time` tell the chip's time to scripts.

The clock is the simulated time of the process's program (device/runtime/schedule.h): it advances
when the program waits for a device, at `synchronize()` or where it reads a result, and by
LAUNCH_COST_US for every kernel and copy that it submits. What Python does in between takes no time,
except one nanosecond per reading, and after IDLE_READINGS of them without work for a device, which
only a loop that waits makes, the host's own time. `time.sleep()` sleeps and counts.

Code outside of the standard library and of installed packages sees it, and those of STOPWATCHES.
All others keep the host's time, so that their timeouts end when they should.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAUNCH_COST_US = 5.0
"""Host microseconds of a kernel or copy that a script submits, until the call returns. Assumed: no
source has the chip's. Less than the launch on the chip (`launch.benchmark` of its architecture), so
that the device never waits for a host that submits ahead."""

IDLE_READINGS = 100

STOPWATCHES = (
    "accelerate", "lightning", "pytorch_lightning", "timm", "torch.utils.benchmark", "tqdm",
    "transformers",
)  # fmt: skip
"""Installed packages that measure for their users."""

READERS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
"""Functions of `time` that tell the simulated time, with those in nanoseconds (`time_ns`)."""

_MICROSECOND = 10**6  # picoseconds
_NANOSECOND = 10**3
_PACKAGE = str(Path(__file__).resolve().parents[1])
_LIBRARIES = tuple(
    {os.path.realpath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib")}
)
_INSTALLED = ("site-packages", "dist-packages")


class _SimulatedClock:
    """Readings of the simulated time of this process."""

    def __init__(self) -> None:
        from neuron_sim import _core  # scripts with the host's clock may never need it

        self._core = _core
        self._host_ns = time.perf_counter_ns
        _core.set_submission_cost(round(LAUNCH_COST_US * _MICROSECOND))
        self._start = _core.host_time_ps()
        self._last = self._start
        self._idle = 0
        self._last_host = 0

    def elapsed_ns(self) -> int:
        """Nanoseconds since the clock was made; more at each reading."""
        now = self._core.host_time_ps()
        host = self._host_ns()
        self._idle = self._idle + 1 if now == self._last else 0
        passed = _NANOSECOND
        if self._idle > IDLE_READINGS:
            passed += (host - self._last_host) * _NANOSECOND
        self._core.spend_host_time(passed)
        self._last, self._last_host = self._core.host_time_ps(), host
        return (self._last - self._start) // _NANOSECOND

    def sleep(self, seconds: float) -> None:
        """Counts a sleep of the main thread, on whose time the others do not take part."""
        if threading.current_thread() is threading.main_thread():
            self._core.spend_host_time(round(seconds * 10**6 * _MICROSECOND))


def install() -> None:
    """Gives the functions of `time` to scripts of this process."""
    clock = _SimulatedClock()
    for name in READERS:
        host, host_ns = getattr(time, name), getattr(time, f"{name}_ns")
        start = host_ns()
        _replace(f"{name}_ns", _reading(clock, start, 1, host_ns))
        _replace(name, _reading(clock, start, 1e-9, host))
    _replace("sleep", _sleeping(clock, time.sleep))
    if "timeit" in sys.modules:
        sys.modules["timeit"].default_timer = time.perf_counter  # type: ignore[attr-defined]


def _replace(name: str, function: Callable) -> None:
    replaced = functools.wraps(getattr(time, name))(function)
    replaced._torchdynamo_disable = True  # type: ignore[attr-defined]  # called, not traced
    setattr(time, name, replaced)


def _reading(
    clock: _SimulatedClock, start_ns: int, unit: float, host: Callable[[], float]
) -> Callable[[], float]:
    def read() -> float:
        if _measures(sys._getframe(1)):
            return (start_ns + clock.elapsed_ns()) * unit
        return host()

    return read


def _sleeping(clock: _SimulatedClock, host: Callable[[float], None]) -> Callable[[float], None]:
    def sleep(seconds: float, /) -> None:
        host(seconds)
        if _measures(sys._getframe(1)):
            clock.sleep(seconds)

    return sleep


_kinds: dict[str, bool] = {}


def _measures(frame: Any) -> bool:
    """Whether the code of a frame measures with the simulated clock."""
    file = frame.f_code.co_filename
    known = _kinds.get(file)
    if known is None:
        known = _kinds[file] = _is_measuring(file, frame.f_globals.get("__name__") or "")
    return known


def _is_measuring(file: str, module: str) -> bool:
    if any(module == name or module.startswith(f"{name}.") for name in STOPWATCHES):
        return True
    whole = os.path.realpath(file)
    return not (
        file.startswith("<frozen ")
        or any(folder in Path(whole).parts for folder in _INSTALLED)
        or whole.startswith((*_LIBRARIES, _PACKAGE + os.sep))
    )
