"""The entry of `neuron-sim`: runs a subcommand and turns its errors into sentences."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from neuron_sim.command_line.commands import completion
from neuron_sim.command_line.parser import COMMANDS, build_parser
from neuron_sim.terminal.exit_codes import (
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    WRONG_USAGE,
    ProgramError,
    reader_left,
)
from neuron_sim.terminal.extras import missing_package_sentence
from neuron_sim.terminal.json_output import reserved_output
from neuron_sim.terminal.suggestions import did_you_mean_file


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit code, one of EXIT_CODES.

    An error of the simulator or the host (ValueError, TypeError, MemoryError, OSError, a package
    of an extra that is not installed) is one line on stderr. SystemExit for a wrong option.
    """
    given = sys.argv[1:] if arguments is None else arguments
    _open_closed_streams()
    try:
        return _main(given)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        return reader_left()


def _main(given: Sequence[str]) -> int:
    words = completion.asked()
    if words is not None:
        completion.answer(build_parser(_named(words)))
    parser = build_parser(_named(given))
    if not given:
        parser.print_help()
        return SUCCESS
    parsed = parser.parse_args(given)
    code = WRONG_USAGE
    try:
        with reserved_output(parsed):
            done = parsed.run(parsed)
        sys.stdout.flush()
        return done
    except (ProgramError, MemoryError) as error:
        sentence, code = _first_line(error) or "the host is out of memory.", FAILURE
    except (ValueError, TypeError) as error:
        sentence = _first_line(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        sentence = _of_file(error) if error.filename else f"{error.strerror or error}."
    except ModuleNotFoundError as error:
        missing = missing_package_sentence(error, parsed.command)
        if missing is None:
            raise
        sentence = missing
    print(f"{parsed.subparser.prog}: error: {sentence}", file=sys.stderr)
    return code


def _open_closed_streams() -> None:
    """A process that begins with a closed stream (`2>&-`) writes into nothing instead; print()
    would write errors to standard output."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))


def _named(given: Sequence[str]) -> Iterable[str]:
    """A known command does not load the others' modules: `neuron-sim run` starts fast."""
    return given[:1] if given and given[0] in COMMANDS else COMMANDS


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]


def _of_file(error: OSError) -> str:
    near = did_you_mean_file(str(error.filename)) if isinstance(error, FileNotFoundError) else ""
    return f"{error.filename}: {error.strerror}{near}."
