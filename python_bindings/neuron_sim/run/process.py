"""The part of `neuron-sim run` inside each Python process of its tree."""

from __future__ import annotations

import logging
import os

from neuron_sim import settings
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


def follow_device_name() -> None:
    """Installs the import hook in a process whose device has the vendor's name."""
    if os.environ.get(settings.DEVICE) == settings.VENDORS_NAME:
        aliases.install(override=os.environ.get(settings.OVERRIDE) == "1")
