"""Runs at the start of every process of a public script: notes what it did on the device.

At its end the process adds a line to the file PUBLIC_SCRIPTS_REPORT: simulated milliseconds and the
operators that fell back to the CPU.
"""

import atexit
import json
import os
import sys
from typing import NoReturn

_PROCESS = os.getpid()
_leave = os._exit


def _report() -> None:
    torch = sys.modules.get("torch")
    device = getattr(torch, "neuron_sim", None)
    if device is None or not device.is_initialized() or os.getpid() != _PROCESS:
        return  # a forked child has the numbers of its parent
    line = {
        "milliseconds": max(device.simulated_time(index) for index in range(device.device_count()))
        * 1e3,
        "fallbacks": device.fallback_counts(),
    }
    with open(os.environ["PUBLIC_SCRIPTS_REPORT"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def _end_and_leave(status: int) -> NoReturn:
    if os.getpid() == _PROCESS:
        atexit._run_exitfuncs()
    _leave(status)


atexit.register(_report)
os._exit = _end_and_leave  # with which scripts pass over a crash of the vendor's runtime
