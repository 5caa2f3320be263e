"""The part of `neuron-sim run` inside each Python process of its tree."""

from __future__ import annotations

import atexit
import logging
import os
import sys
from types import ModuleType

from neuron_sim import settings
from neuron_sim.after_import import after_import
from neuron_sim.run import aliases, tracebacks

OFF = 60
"""`logging.OFF` of the vendor's package: above CRITICAL, so that `logging.disable(OFF)` silences
everything. The vendor's number is not public; scripts only pass it on."""


def install() -> None:
    """Installs the import hook and what scripts expect from the vendor's package."""
    aliases.install(override=os.environ.get(settings.OVERRIDE) == "1")
    if os.environ.get(settings.FULL_TRACEBACK) != "1":
        tracebacks.install()
    if not hasattr(logging, "OFF"):
        logging.OFF = OFF  # type: ignore[attr-defined]
    if os.environ.get(settings.CLOCK) == "simulated":
        from neuron_sim.run import clock  # takes 50 ms

        clock.install()
    after_import("neuron_sim._C", _watch_launches)


def _watch_launches(extension: ModuleType) -> None:
    """Sums what torch launches, where the end of the process shows it."""
    says = os.environ.get(settings.SUMMARY) == "1"
    writes = any(map(os.environ.get, (settings.PROFILE, settings.TIMELINE, settings.ADVICE)))
    if says or writes:
        atexit.register(_finish, extension, extension.start_tally(writes), says, writes)


def _finish(extension: ModuleType, number: int, says: bool, writes: bool) -> None:
    from neuron_sim.run import launch_profile, summary  # only at the end

    tally = extension.finish_tally(number)
    if writes:
        try:
            launch_profile.write_wanted(tally, pages=summary.reports())
        except (OSError, ValueError) as error:
            print(f"neuron-sim run: {error}", file=sys.stderr)
    if says:
        summary.print_summary(extension, tally)


def follow_device_name() -> None:
    """Installs the import hook in a process whose device has the vendor's name."""
    if os.environ.get(settings.DEVICE) == settings.VENDORS_NAME:
        aliases.install(override=os.environ.get(settings.OVERRIDE) == "1")
