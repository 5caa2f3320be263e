"""The command `neuron-sim`, also `python -m neuron_sim`: one subcommand per module.

A module with a subcommand has SUMMARY (one sentence), `add_arguments(parser)` and
`run(arguments) -> int`, the exit status. It imports torch in `run` only, so that `--help` is fast.
"""

from __future__ import annotations

import argparse
import difflib
import importlib
import re
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

from neuron_sim._extras import missing_package_sentence

COMMANDS = {
    "arch": "neuron_sim.architectures",
    "calibrate": "neuron_sim.fidelity.calibrate.command",
    "compare": "neuron_sim.timeline.command",
    "explain": "neuron_sim.explain",
    "fidelity": "neuron_sim.fidelity.command",
    "fleet": "neuron_sim.fleet",
    "info": "neuron_sim.info",
    "model": "neuron_sim.model.command",
    "profile": "neuron_sim.nki.measurement.command",
    "replay": "neuron_sim.fidelity.replay.command",
    "run": "neuron_sim.run.command",
    "sweep": "neuron_sim.sweep.command",
    "tune": "neuron_sim.tune.command",
}
"""Subcommands and their modules."""

INTERRUPTED = 130
"""The exit status after SIGINT."""


class Version(argparse.Action):
    """`--version`, which looks for the version only when it is asked."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print the version")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version  # slow to import

        print(f"neuron-sim {version('neuron_sim')}")
        parser.exit()


class Parser(argparse.ArgumentParser):
    """A parser that names the nearest word that it knows in place of a wrong one."""

    def error(self, message: str) -> NoReturn:
        """Ends with status 2 and one sentence, which ends with a suggestion if there is one."""
        super().error(message + self._suggestion(message))

    def _suggestion(self, message: str) -> str:
        wrong = re.search(r"invalid choice: '([^']*)'|unrecognized arguments: (\S+)", message)
        if wrong is None:
            return ""
        word = (wrong[2] if wrong[1] is None else wrong[1]).split("=", 1)[0]
        near = difflib.get_close_matches(word, self._words(), n=1)
        return f" (did you mean {near[0]}?)" if near else ""

    def _words(self) -> list[str]:
        """Options and choices of this parser and of the subcommand that it calls."""
        words: list[str] = []
        for action in self._actions:
            words += action.option_strings
            choices = action.choices or ()
            words += [each for each in choices if isinstance(each, str)]
            if isinstance(choices, dict) and len(choices) == 1:
                (inner,) = choices.values()
                words += inner._words()
        return words


def build_parser(names: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of the command with these subcommands."""
    parser = Parser(
        prog="neuron-sim",
        description="A simulator of AWS NeuronCores: what they compute, and when.",
    )
    parser.add_argument("--version", action=Version)
    subparsers = parser.add_subparsers(title="commands", metavar="command", required=True)
    for name in names:
        module = importlib.import_module(COMMANDS[name])
        subparser = subparsers.add_parser(
            name,
            help=module.SUMMARY,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(subparser)
        subparser.set_defaults(run=module.run, subparser=subparser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; 0 on success, 1 on failure, 2 for wrong usage.

    An error of the simulator or the host (ValueError, TypeError, MemoryError, OSError, a package
    of an extra that is not installed) is one line on stderr; Ctrl-C ends with 130, as in a shell.
    """
    given = sys.argv[1:] if arguments is None else arguments
    # A known command does not load the others' modules: `neuron-sim run` starts fast.
    names = given[:1] if given and given[0] in COMMANDS else COMMANDS
    parsed = build_parser(names).parse_args(given)
    try:
        return parsed.run(parsed)
    except (ValueError, TypeError, MemoryError) as error:
        sentence = str(error).split("\n", 1)[0] or "the host is out of memory."
    except OSError as error:
        sentence = f"{error.filename}: {error.strerror}." if error.filename else f"{error}."
    except ModuleNotFoundError as error:
        missing = missing_package_sentence(error)
        if missing is None:
            raise
        sentence = missing
    except KeyboardInterrupt:
        return INTERRUPTED
    print(f"{parsed.subparser.prog}: error: {sentence}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
