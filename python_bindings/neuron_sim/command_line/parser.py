"""The parser of `neuron-sim`: one subcommand per module.

A module with a subcommand has SUMMARY (one sentence), `add_arguments(parser)` and
`run(arguments) -> int`, one of EXIT_CODES. If `run` may return FAILURE, FAILS is a sentence that
says when, or a dict of such sentences by subcommand. The help is the module's docstring, with an
example. It imports torch in `run` only, so that `--help` is fast.
"""

from __future__ import annotations

import argparse
import importlib
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import NoReturn

from neuron_sim._build import VERSION
from neuron_sim.terminal.arguments import add_commands
from neuron_sim.terminal.exit_codes import exit_codes_of
from neuron_sim.terminal.help_text import help_of
from neuron_sim.terminal.suggestions import did_you_mean

COMMANDS = {
    "arch": "neuron_sim.command_line.commands.arch",
    "bits": "neuron_sim.fidelity.bits",
    "check": "neuron_sim.command_line.commands.check",
    "compare": "neuron_sim.timeline.command",
    "completion": "neuron_sim.command_line.commands.completion",
    "explain": "neuron_sim.command_line.commands.explain",
    "fidelity": "neuron_sim.fidelity.command",
    "fleet": "neuron_sim.command_line.commands.fleet",
    "info": "neuron_sim.command_line.commands.info",
    "model": "neuron_sim.command_line.commands.model",
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
    parser.add_argument("--version", action="version", version=f"neuron-sim {VERSION}")
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
