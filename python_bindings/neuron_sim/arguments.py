"""Arguments that several commands share, with one meaning everywhere."""

from __future__ import annotations

import argparse

from neuron_sim import _core
from neuron_sim.run import ARCHITECTURE
from neuron_sim.run.environment import architecture_setting

ARCHITECTURE_HELP = (
    "architecture: trn1, trn2, trn3 or a TOML file; default: NEURON_SIM_ARCH, "
    "NEURON_PLATFORM_TARGET_OVERRIDE, else trn2"
)


def add_architecture(parser: argparse.ArgumentParser) -> None:
    """`--arch A`."""
    parser.add_argument("--arch", metavar="A", help=ARCHITECTURE_HELP)


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")


def chosen_architecture(given: str | None) -> str:
    """The name or file that `--arch` and the environment choose. ValueError when there is none."""
    chosen = given or _core.setting(ARCHITECTURE)
    chosen = chosen or _core.setting("NEURON_PLATFORM_TARGET_OVERRIDE") or "trn2"
    return architecture_setting(chosen)
