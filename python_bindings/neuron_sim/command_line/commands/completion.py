"""Print what makes a shell complete commands and options.

  eval "$(neuron-sim completion bash)"
  eval "$(neuron-sim completion zsh)"
  neuron-sim completion fish | source

The line goes into ~/.bashrc, into ~/.zshrc after compinit, or into ~/.config/fish/config.fish.
"""

from __future__ import annotations

import argparse
import os

from neuron_sim.terminal.exit_codes import SUCCESS

SUMMARY = "print what makes a shell complete commands and options"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that reads it")


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS."""
    import argcomplete  # only to print

    print(argcomplete.shellcode(["neuron-sim"], shell=arguments.shell))
    return SUCCESS


def asked() -> list[str] | None:
    """The words that a shell wants to complete, after the command's name; None when none asks."""
    if "_ARGCOMPLETE" not in os.environ:
        return None
    return os.environ.get("COMP_LINE", "").split()[1:]


def answer(parser: argparse.ArgumentParser) -> None:
    """Answers the shell and ends the process."""
    import argcomplete  # only when the shell asks

    argcomplete.autocomplete(parser)
