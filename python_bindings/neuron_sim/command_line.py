"""The command `neuron-sim`, also `python -m neuron_sim`: one subcommand per module.

A module with a subcommand has SUMMARY (one sentence), `add_arguments(parser)` and
`run(arguments) -> int`, one of EXIT_CODES; where that may be FAILURE, FAILS says when, or maps its
commands to when. The help is its docstring, with an example. It imports torch in `run` only, so
that `--help` is fast.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from neuron_sim import __version__
from neuron_sim._extras import missing_package_sentence
from neuron_sim.arguments import add_commands
from neuron_sim.terminal import completion
from neuron_sim.terminal.exit_codes import (
    FAILURE,
    INTERRUPTED,
    WRONG_USAGE,
    ProgramError,
    exit_codes_of,
)
from neuron_sim.terminal.help_text import help_of
from neuron_sim.terminal.json_output import reserved_output
from neuron_sim.terminal.suggestions import did_you_mean, did_you_mean_file

COMMANDS = {
    "arch": "neuron_sim.architectures",
    "calibrate": "neuron_sim.fidelity.calibrate.command",
    "compare": "neuron_sim.timeline.command",
    "completion": "neuron_sim.terminal.completion",
    "explain": "neuron_sim.commands.explain",
    "fidelity": "neuron_sim.fidelity.command",
    "fleet": "neuron_sim.commands.fleet",
    "info": "neuron_sim.commands.info",
    "model": "neuron_sim.model.command",
    "profile": "neuron_sim.nki.measurement.command",
    "replay": "neuron_sim.fidelity.replay.command",
    "report": "neuron_sim.layer_report.command",
    "run": "neuron_sim.run.command",
    "sweep": "neuron_sim.sweep.command",
    "tune": "neuron_sim.tune.command",
}
"""Subcommands and their modules."""


_WRONG_WORD = re.compile(
    r"invalid choice: '([^']*)'|unrecognized arguments: (\S+)|ignored explicit argument '([^']*)'"
)
"""Messages of argparse about a word that it does not take."""


class Parser(argparse.ArgumentParser):
    """A parser whose help has colours on a terminal, and that names the nearest word that it knows
    in place of a wrong one."""

    def format_help(self) -> str:
        """The text of --help."""
        from rich_argparse import RawDescriptionRichHelpFormatter  # only help needs it

        class Formatter(RawDescriptionRichHelpFormatter):
            # Brackets are those of shapes and tables, not of styles.
            text_markup = help_markup = False

            def _get_help_string(self, action: argparse.Action) -> str:
                return help_of(action)

        self.formatter_class = Formatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Ends with status 2 and one sentence, which ends with a suggestion if there is one."""
        super().error(message + self._suggestion(message))

    def _suggestion(self, message: str) -> str:
        wrong = _WRONG_WORD.search(message)
        if wrong is None:
            return ""
        word = next(each for each in wrong.groups() if each is not None).split("=", 1)[0]
        if word.endswith(".json"):
            return f" (--json takes no file; --output {word} writes one)"
        return did_you_mean(word, self._words())

    @property
    def actions(self) -> list[argparse.Action]:
        """Its options and positional arguments."""
        return self._actions

    @property
    def commands(self) -> dict[str, Parser]:
        """The parsers of its commands, by name."""
        found = (each for each in self.actions if isinstance(each, argparse._SubParsersAction))
        return next((each.choices for each in found), {})

    def _words(self) -> list[str]:
        """Options and choices of this parser and of the subcommand that it calls."""
        words = [word for action in self.actions for word in action.option_strings]
        words += [str(each) for action in self.actions for each in action.choices or ()]
        if len(self.commands) == 1:
            (inner,) = self.commands.values()
            words += inner._words()
        return words


def build_parser(names: Iterable[str] = COMMANDS) -> Parser:
    """The parser of the command with these subcommands."""
    parser = Parser(
        prog="neuron-sim",
        description="A simulator of AWS NeuronCores: what they compute, and when.",
    )
    parser.add_argument("--version", action="version", version=f"neuron-sim {__version__}")
    subparsers = add_commands(parser)
    for name in names:
        module = importlib.import_module(COMMANDS[name])
        subparser = subparsers.add_parser(name, help=module.SUMMARY, description=module.__doc__)
        module.add_arguments(subparser)
        fails = getattr(module, "FAILS", None)
        for command, each in {"": subparser, **subparser.commands}.items():
            when = fails.get(command) if isinstance(fails, Mapping) else fails
            each.epilog = textwrap.fill(exit_codes_of(when), 80)
        subparser.set_defaults(run=module.run, subparser=subparser)
    return parser


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
        # The reader, such as `head`, has enough. What is still buffered must not fail at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE


def _main(given: Sequence[str]) -> int:
    words = completion.asked()
    if words is not None:
        completion.answer(build_parser(_named(words)))
    parsed = build_parser(_named(given)).parse_args(given)
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
        missing = missing_package_sentence(error)
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


if __name__ == "__main__":
    sys.exit(main())
