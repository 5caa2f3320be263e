"""Options that several commands share, with one meaning everywhere."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from neuron_sim.settings import NKI_VERSIONS, architecture_setting
from neuron_sim.terminal.exit_codes import FAILURE, SUCCESS
from neuron_sim.terminal.json_output import give_json

ARCHITECTURE_FORMS = "a name (inf2, trn1, trn2, trn3) or a TOML file"
"""What names an architecture on a command line and in NEURON_SIM_ARCH."""


def add_architecture(parser: argparse.ArgumentParser, meaning: str = "") -> None:
    """`--arch A`. `meaning`: what a command does beyond using it."""
    parser.add_argument(
        "--arch",
        metavar="A",
        help=f"architecture: {ARCHITECTURE_FORMS}{meaning}; default: NEURON_SIM_ARCH, "
        "NEURON_PLATFORM_TARGET_OVERRIDE, else trn2",
    )


def add_nki_version(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--nki-version",
        choices=NKI_VERSIONS,
        help="the version of the vendor's package `nki` whose rules count; default: "
        "NEURON_SIM_NKI_VERSION, else 0.6",
    )


def add_commands(parser: argparse.ArgumentParser) -> Any:
    """A place for the commands of a command."""
    return parser.add_subparsers(title="commands", dest="command", metavar="command", required=True)


def add_command(commands: Any, name: str, meaning: str, example: str) -> argparse.ArgumentParser:
    """A command of add_commands(); its help ends with the example."""
    description = f"{meaning[0].upper()}{meaning[1:]}.\n\n  {example}"
    return commands.add_parser(name, help=meaning, description=description)


def print_result(arguments: argparse.Namespace, result: Any, text: Callable[[], object]) -> None:
    """Gives the result as JSON where add_json()'s options ask for it; prints it by calling `text`
    without --json."""
    if not give_json(arguments, result):
        text()


DIFFERENCE_FAILS = "with --exit-code: they differ"
"""When a command with add_exit_code() ends with FAILURE."""


def add_exit_code(parser: argparse.ArgumentParser) -> None:
    """`--exit-code`, as of `git diff`."""
    parser.add_argument(
        "--exit-code",
        action="store_true",
        help=f"end with {FAILURE} if they differ, else {SUCCESS}",
    )


def comparison_code(arguments: argparse.Namespace, differ: bool) -> int:
    """FAILURE where --exit-code asks for it and the two differ, else SUCCESS."""
    return FAILURE if arguments.exit_code and differ else SUCCESS


def named_architecture(given: str | None) -> str | None:
    """The name or file that `--arch` or the environment names; None when neither does. ValueError
    for one that is not there."""
    from neuron_sim import _core  # `neuron-sim run` starts without it

    chosen = given or _core.environment_architecture()
    return architecture_setting(chosen) if chosen else None


def chosen_architecture(given: str | None) -> str:
    """named_architecture(), or the default."""
    from neuron_sim import _core  # as above

    return named_architecture(given) or _core.DEFAULT_ARCHITECTURE


def core_of(architecture: str) -> str:
    """The built-in architecture with the same NeuronCore."""
    from neuron_sim import _core  # as above

    versions = {
        name: _core.compile_time_queries(name)["get_nc_version"]
        for name in (*_core.architectures(), architecture)
    }
    return next(name for name, version in versions.items() if version == versions[architecture])
