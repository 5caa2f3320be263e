#!/usr/bin/env python3
"""Writes docs/commands.md: the commands of neuron-sim, from the parsers that read their options.

Usage: write_command_docs.py [--check]; --check writes nothing and ends with 1 if the page is
stale.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from generated_page import fill, write_or_check
from neuron_sim.command_line.parser import Parser, build_parser
from neuron_sim.terminal.exit_codes import EXIT_CODES

PAGE = Path(__file__).resolve().parents[1] / "docs" / "commands.md"


def page() -> str:
    """The page for the commands as they are."""
    codes = "\n".join(f"| {code} | {_cell(text)} |" for code, text in EXIT_CODES.items())
    commands = "\n".join(map(_row, all_commands(build_parser())))
    return fill(PAGE.name, {"exit_codes": codes, "commands": commands})


def all_commands(parser: Parser) -> Iterator[Parser]:
    """The commands that run, in the order of their names; groups give their commands."""
    for _, command in sorted(parser.commands.items()):
        if command.commands:
            yield from all_commands(command)
        else:
            yield command


def synopsis(parser: Parser) -> str:
    """How the command is called: what it needs, in the order of its line."""
    words = [parser.prog]
    actions = [each for each in parser.actions if not isinstance(each, argparse._HelpAction)]
    needed = [each for each in actions if each.option_strings and each.required]
    if any(each.option_strings and not each.required for each in actions):
        words.append("[OPTION ...]")
    words += [f"{each.option_strings[0]} {_value(each)}" for each in needed]
    words += [_value(each) for each in actions if not each.option_strings]
    return " ".join(words)


def _value(action: argparse.Action) -> str:
    """What stands for the value, in brackets where it may be absent."""
    choices = "|".join(map(str, action.choices or ()))
    name = str(action.metavar or choices or action.dest.upper())
    optional, several = f"[{name}]", f"[{name} ...]"
    forms = {"?": optional, "*": several, "...": several, "+": f"{name} ...", 0: ""}
    return name if action.nargs is None else forms[action.nargs]


def _row(parser: Parser) -> str:
    """Synopsis, first sentence and first example of a command."""
    blocks = (parser.description or "").strip().split("\n\n")
    sentence = " ".join(blocks[0].split())
    return f"| {_code(synopsis(parser))} | {_cell(sentence)} | {_example(parser, blocks)} |"


def _example(parser: Parser, blocks: list[str]) -> str:
    """The first line of the indented blocks that calls the command, or the first line."""
    code = "\n".join(block for block in blocks if block.startswith("  "))
    lines = [" ".join(line.split()) for line in code.replace("\\\n", " ").splitlines()]
    calls = [line for line in lines if line.startswith(parser.prog)]
    return "".join(map(_code, (calls or lines)[:1]))


def _code(text: str) -> str:
    """A command within a table."""
    return "`" + text.replace("|", "\\|") + "`"


def _cell(text: str) -> str:
    """Text within a table: without what ends a cell or begins a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    raise SystemExit(write_or_check(PAGE, page()))
