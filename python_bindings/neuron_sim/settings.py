"""Variables of the environment that carry the options of `neuron-sim run` to its processes."""

from __future__ import annotations

import functools
import os
from typing import Literal

DEVICE = "NEURON_SIM_DEVICE"
"""The name of the device in PyTorch: `neuron_sim`, or `neuron` as in TorchNeuron (`--device`)."""

DEVICE_NAMES = OWN_NAME, VENDORS_NAME = "neuron_sim", "neuron"
"""The first one is the default. csrc/runtime/device_name.cpp knows them too."""

SEMANTICS = "NEURON_SIM_SEMANTICS"
"""`vendor`: where TorchNeuron differs from torch, so does the device; `torch`: it never does."""

OVERRIDE = "NEURON_SIM_OVERRIDE"
"""`1`: the simulator's packages come before installed ones of the vendor (`--override`)."""

PROFILE = "NEURON_SIM_PROFILE"
"""Folder in which every kernel that runs leaves its files and a line of an index (`--profile`)."""

SANITIZE = "NEURON_SIM_SANITIZE"
"""`1`: kernels run with run-time checks (`--sanitize`)."""

LEGALITY = "NEURON_SIM_LEGALITY"
"""What becomes of kernels that the vendor's tools refuse, one of LEGALITY_LEVELS (`--legality`)."""

LEGALITY_LEVELS = ("compiler", "documented", "warn", "off")
"""Refused is what the vendor's build was seen to refuse; that, and what documents say is refused;
nothing, but stderr has a line for each; nothing, in silence."""

NKI_VERSION = "NEURON_SIM_NKI_VERSION"
"""Version of the vendor's `nki` whose rules kernels are judged by, one of NKI_VERSIONS
(`--nki-version`)."""

NKI_VERSIONS = ("0.2", "0.3", "0.4", "0.5", "0.6", "0.7")
"""Those of the new language; their names are in the order of their text."""

DUMP = "NEURON_SIM_DUMP"
"""`after:PASS` or `after:all`: programs are printed after that pass of the compiler (`--dump`)."""

EXPLAIN_MEMORY = "NEURON_SIM_EXPLAIN_MEMORY"
"""`1`: what fills SBUF and PSUM is printed for every kernel (`--explain-memory`)."""

TIMELINE = "NEURON_SIM_TIMELINE"
"""File for the timeline page of every kernel that runs (`--timeline`)."""

ADVICE = "NEURON_SIM_ADVICE"
"""`1`: what bounds every kernel, and what would help, is printed (`--advice`)."""

CLOCK = "NEURON_SIM_CLOCK"
"""`simulated`: the functions of `time` tell scripts the chip's time (`--clock`)."""

SUMMARY = "NEURON_SIM_SUMMARY"
"""`1`: a process that launched something with torch says so at its end (`--no-summary`: `0`)."""

EAGER = "NEURON_SIM_EAGER"
"""`1`: instructions of kernels run as they are traced, so that tiles have values (`--eager`)."""

FULL_TRACEBACK = "NEURON_SIM_FULL_TRACEBACK"
"""`1`: errors of kernels are shown with the simulator's own frames (`--full-traceback`)."""

ARCHITECTURE = "NEURON_SIM_ARCH"
"""Architecture of all kernels: a name or a TOML file (`--arch`)."""

INTERPRETER = "NEURON_SIM_PYTHON"
"""The interpreter that runs `neuron-profile`."""

PACKAGE_FOLDER = "NEURON_SIM_PACKAGE"
"""The folder that holds the package `neuron_sim`, for interpreters that do not find it."""


@functools.cache
def device_name() -> str:
    """The name of the device in this process, which PyTorch takes once: from NEURON_SIM_DEVICE.

    ValueError for a name that is not in DEVICE_NAMES.
    """
    return _one_of(DEVICE, DEVICE_NAMES, OWN_NAME)


@functools.cache
def semantics() -> Literal["vendor", "torch"]:
    """Whom the device follows in this process, from NEURON_SIM_SEMANTICS; without it the vendor
    under the name `neuron`, else torch. ValueError for anything else."""
    by_name = "vendor" if device_name() == VENDORS_NAME else "torch"
    return _one_of(SEMANTICS, ("vendor", "torch"), by_name)  # type: ignore[return-value]


def legality() -> str:
    """The member of LEGALITY_LEVELS in NEURON_SIM_LEGALITY, "off" without one; ValueError for
    anything else."""
    return _one_of(LEGALITY, LEGALITY_LEVELS, "off")


def nki_version() -> str:
    """The member of NKI_VERSIONS in NEURON_SIM_NKI_VERSION, "0.6" without one; ValueError for
    anything else."""
    return _one_of(NKI_VERSION, NKI_VERSIONS, "0.6")


def _one_of(variable: str, known: tuple[str, ...], default: str) -> str:
    value = os.environ.get(variable) or default
    check_member(variable, value, known)
    return value


def check_member(variable: str, value: str, known: tuple[str, ...]) -> None:
    """ValueError for a value of a variable that is not among those it may have."""
    if value not in known:
        raise ValueError(f"{variable} is '{value}'; it must be {' or '.join(known)}.")


def architecture_setting(name_or_file: str) -> str:
    """The value of NEURON_SIM_ARCH for a name or a file; ValueError when there is no such one."""
    from neuron_sim import _core  # `neuron-sim run` starts without it

    _core.architecture_facts(name_or_file)  # fails with the names that exist
    # The script may change its working directory.
    return os.path.abspath(name_or_file) if os.path.isfile(name_or_file) else name_or_file
