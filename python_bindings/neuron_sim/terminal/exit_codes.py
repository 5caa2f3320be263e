"""Exit codes of all subcommands of neuron-sim, and the error of a program of the user."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from neuron_sim.terminal.extras import missing_package_sentence

SUCCESS, FAILURE, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130

EXIT_CODES = {
    SUCCESS: "success",
    FAILURE: "failure: a kernel, model or program of yours failed, or a comparison did not hold; "
    "also: the host is out of memory, or nobody reads standard output any more",
    WRONG_USAGE: "wrong usage: an option, a file or a value that is refused; a missing package",
    INTERRUPTED: "interrupted: Ctrl-C (SIGINT), as in a shell",
}
"""What each means. With FAILURE and WRONG_USAGE one sentence on standard error says why, unless the
result itself does."""


def exit_codes_of(fails: str | None) -> str:
    """The codes of a command as one sentence; `fails`: when it ends with FAILURE, None for a
    command that runs nothing of the user."""
    told = {code: text.partition(":")[0] for code, text in EXIT_CODES.items()}
    if fails is None:
        del told[FAILURE]
    else:
        told[FAILURE] = fails
    return f"Exit codes: {'; '.join(f'{code} {text}' for code, text in told.items())}."


def reader_left() -> int:
    """The code after a BrokenPipeError: the reader, such as `head`, has enough. What is still
    buffered does not fail at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILURE


class ProgramError(ValueError):
    """A kernel, a model or a program of the user failed; the message is one sentence."""


@contextmanager
def failures_of(program: str, *spared: type[Exception]) -> Iterator[None]:
    """Any error of what runs meanwhile is a ProgramError that names the program, but for the spared
    classes and for a missing package of an extra."""
    try:
        yield
    except SystemExit as error:
        raise ProgramError(f"{program}: it ends the process with {error.code}.") from error
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and missing_package_sentence(error)
        if missing or isinstance(error, (ProgramError, *spared)):
            raise
        raise ProgramError(f"{program}: {sentence_of(error)}") from error


_SPOKEN = (ValueError, TypeError, RuntimeError, ImportError, MemoryError, OSError)
"""Classes whose messages are sentences; that of a KeyError, say, is the key alone."""


def sentence_of(error: Exception) -> str:
    """The first line of the message; of an error of plain Python also its class and line."""
    sentence = str(error).split("\n", 1)[0]
    if isinstance(error, _SPOKEN) and sentence:
        return sentence
    named = f"{type(error).__name__}: {sentence}" if sentence else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    if not frames or isinstance(error, SyntaxError):  # which says its place itself
        return named
    return f"{named} ({frames[-1].filename}, line {frames[-1].lineno})"
