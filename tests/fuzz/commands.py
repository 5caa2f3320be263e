"""Runs neuron-sim in this process and checks how it ends: a status, and one sentence when it
fails."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from unittest import mock

from findings import FoundError
from neuron_sim import command_line

# Longest line that is still a sentence, and not a file that is quoted.
LONGEST = 6000


class _Executed(BaseException):
    """The command would replace this process."""


@dataclass
class Ended:
    status: int
    output: str
    errors: str


def _execute(path: str, arguments: Sequence[str], environment: Any) -> None:
    raise _Executed


def run(arguments: Sequence[str]) -> Ended:
    """Runs the command line; FoundError when it ends as no command may."""
    output, errors = io.StringIO(), io.StringIO()
    shown = " ".join(map(repr, arguments))[:500]
    try:
        with (
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
            mock.patch.object(os, "execve", _execute),
        ):
            status = command_line.main(arguments)
    except SystemExit as exit_:
        status = exit_.code if isinstance(exit_.code, int) else 0 if exit_.code is None else -1
    except _Executed:
        status = 0
    except RecursionError as error:
        raise FoundError(f"{arguments[0]}: RecursionError", f"{shown}: {error}") from None
    except Exception as error:
        raise FoundError(
            f"{arguments[0]}: a traceback of {type(error).__name__} at {_place(error)}",
            f"neuron-sim {shown}\n{str(error)[:500]}",
        ) from None
    ended = Ended(status, output.getvalue(), errors.getvalue())
    _check(arguments[0] if arguments else "", shown, ended)
    return ended


def _place(error: BaseException) -> str:
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno}"


def _check(command: str, shown: str, ended: Ended) -> None:
    lines = [line for line in ended.errors.splitlines() if line.strip()]
    if ended.status not in (0, 1, 2):
        raise FoundError(f"{command}: status {ended.status}", shown)
    if "Traceback (most recent call last)" in ended.errors + ended.output:
        raise FoundError(f"{command}: prints a traceback", f"{shown}\n{ended.errors[-2000:]}")
    if ended.status == 2 and not any("error: " in line for line in lines):
        raise FoundError(f"{command}: fails without a sentence", f"{shown}\n{ended.errors[-500:]}")
    if ended.status == 2 and max(map(len, lines)) > LONGEST:
        raise FoundError(f"{command}: an error of {max(map(len, lines))} characters", shown)
