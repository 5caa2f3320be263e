"""The environment that `neuron-sim run` gives to the script and all its child processes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from neuron_sim import settings

CLOCKS = ("host", "simulated")
"""Whose time the functions of `time` tell a script."""

_FOLDER = Path(__file__).resolve().parent


def script_environment(
    base: Mapping[str, str],
    *,
    device: str | None = None,
    architecture: str | None = None,
    sanitize: bool = False,
    legality: str | None = None,
    nki_version: str | None = None,
    profile: str | None = None,
    dump: str | None = None,
    explain_memory: bool = False,
    timeline: str | None = None,
    advice: bool = False,
    override: bool = False,
    full_traceback: bool = False,
    eager: bool = False,
    clock: str | None = None,
    summary: bool | None = None,
) -> dict[str, str]:
    """`base` with the import hook on PYTHONPATH, our commands on PATH, and the settings.

    ValueError for an architecture, a pass, a clock, a level of legality or a version of nki that
    does not exist, or a folder or page that cannot be made.
    """
    environment = dict(base)
    _put_first(environment, "PYTHONPATH", _FOLDER / "site")
    _put_first(environment, "PATH", command_folder())
    environment[settings.INTERPRETER] = sys.executable
    environment[settings.PACKAGE_FOLDER] = str(_FOLDER.parents[1])
    if device is not None:
        environment[settings.DEVICE] = device
    if architecture is not None:
        environment[settings.ARCHITECTURE] = settings.architecture_setting(architecture)
    flags = {
        settings.SANITIZE: sanitize,
        settings.EXPLAIN_MEMORY: explain_memory,
        settings.ADVICE: advice,
        settings.OVERRIDE: override,
        settings.EAGER: eager,
        settings.FULL_TRACEBACK: full_traceback,
    }
    environment.update((variable, "1") for variable, wanted in flags.items() if wanted)
    _set_member(environment, settings.LEGALITY, legality, settings.LEGALITY_LEVELS)
    _set_member(environment, settings.NKI_VERSION, nki_version, settings.NKI_VERSIONS)
    if timeline is not None:
        environment[settings.TIMELINE] = _writable(timeline)
    if clock is not None:
        environment[settings.CLOCK] = clock
    if (given := environment.get(settings.CLOCK) or CLOCKS[0]) not in CLOCKS:
        raise ValueError(f"{settings.CLOCK} is '{given}'; there are: {', '.join(CLOCKS)}.")
    if summary:
        environment.setdefault(settings.SUMMARY, "1")
    elif summary is not None:
        environment[settings.SUMMARY] = "0"
    if profile is not None:
        environment[settings.PROFILE] = _made(profile)
    if dump is not None:
        environment[settings.DUMP] = _dump_request(dump)
    return environment


def command_folder() -> Path:
    """The folder of `neuron-profile` and `neuron-explorer`, made executable."""
    folder = _FOLDER / "bin"
    for command in folder.iterdir():
        if not os.access(command, os.X_OK):
            # Some installers drop the mode of a file; a read-only installation keeps it.
            with contextlib.suppress(OSError):
                command.chmod(0o755)
    return folder


def _set_member(
    environment: dict[str, str], variable: str, given: str | None, known: tuple[str, ...]
) -> None:
    """Sets a variable to what is given; ValueError where its value is not among `known`."""
    if value := given or environment.get(variable):
        settings.check_member(variable, value, known)
        environment[variable] = value


def _put_first(environment: dict[str, str], variable: str, folder: Path) -> None:
    others = [entry for entry in environment.get(variable, "").split(os.pathsep) if entry]
    entries = [str(folder), *(entry for entry in others if entry != str(folder))]
    environment[variable] = os.pathsep.join(entries)


def _dump_request(name: str) -> str:
    from neuron_sim import _core  # only to check a name

    request = f"after:{name}"
    _core.check_dump_request(request)  # fails with the names that exist
    return request


def _writable(page: str) -> str:
    """The whole path of a page to write: the script may change its working directory."""
    folder = os.path.dirname(os.path.abspath(page))
    if not page or os.path.isdir(page) or not os.access(folder, os.W_OK):
        raise ValueError(f"--timeline {page}: no file can be written there.")
    return os.path.abspath(page)


def _made(folder: str) -> str:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise ValueError(f"--profile {folder}: {error.strerror}.") from error
    return os.path.abspath(folder)
