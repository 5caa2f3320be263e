"""The command `neuron-sim`, also `python -m neuron_sim`: one subcommand per module.

A module with a subcommand has SUMMARY (one sentence), `add_arguments(parser)` and
`run(arguments) -> int`, the exit status. It imports torch in `run` only, so that `--help` is fast.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

COMMANDS = {
    "calibrate": "neuron_sim.fidelity.calibrate.command",
    "fidelity": "neuron_sim.fidelity.command",
    "fleet": "neuron_sim.fleet",
    "replay": "neuron_sim.fidelity.replay.command",
}
"""Subcommands and their modules."""


def build_parser() -> argparse.ArgumentParser:
    """The parser of the command with all its subcommands."""
    parser = argparse.ArgumentParser(
        prog="neuron-sim",
        description="A simulator of AWS NeuronCores: what they compute, and when.",
    )
    subparsers = parser.add_subparsers(title="commands", metavar="command", required=True)
    for name, module_name in COMMANDS.items():
        module = importlib.import_module(module_name)
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
    """Runs the command line; 0 when all went well, 1 when something failed, 2 for wrong usage.

    What the simulator refuses (ValueError, TypeError, MemoryError) is one line on stderr.
    """
    parsed = build_parser().parse_args(arguments)
    try:
        return parsed.run(parsed)
    except (ValueError, TypeError, MemoryError) as error:
        sentence = str(error).split("\n", 1)[0]
        print(f"{parsed.subparser.prog}: error: {sentence}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
