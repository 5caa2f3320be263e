"""Random command lines of neuron-sim: a status and one sentence, never a traceback."""

from __future__ import annotations

import argparse
import functools
import os
import random
import sys
import tempfile
from pathlib import Path

import commands
from findings import FoundError, source_of
from neuron_sim.command_line.parser import COMMANDS, build_parser

_FOLDER = Path(tempfile.mkdtemp(prefix="fuzz-commands"))
WORDS = (
    "", " ", "-", "--", "-1", "0", "1", "nan", "inf", "1e400", "9" * 40, "1.5", "trn1", "trn2",
    "trn3", "trn9", "é", "\udcff", "a b", "missing.toml", "missing/folder/file.json",
    "/", ".", "a" * 300, "x.svg", "x.png", "vector_add", "transpose", "tensor.clock=1:2",
    "tensor.clock=2:1", "dma.hardware_first_load", "a=b", "=", "k=1:",
    "in8_out8_filter3x3_batch1_8x8_float32",
    "in0_out8_filter3x3_batch1_8x8_float32", "in8_out8_filter9x9_batch1_8x8_float16",
    "in99999999999_out8_filter3x3_batch1_8x8_float32", "fused_bf16", "%s", "\n", "--help",
)  # fmt: skip
# No slash: files are written into this folder only.
_CHARACTERS = [chr(code) for code in range(1, 0x180) if chr(code) != "/"]
_SMALL = "in8_out8_filter3x3_batch1_8x8_float32"


@functools.cache
def _files() -> tuple[str, ...]:
    """A file, a folder, one that nobody may read or write into, and one of nonsense."""
    (_FOLDER / "nonsense").write_bytes(b"\xff\x00nonsense")
    (_FOLDER / "folder").mkdir(exist_ok=True)
    (_FOLDER / "empty").touch()
    (_FOLDER / "script.py").write_text("print('done')\n")
    names = ("nonsense", "folder", "empty", "script.py", "new.json", "folder/new.svg")
    return tuple(str(_FOLDER / name) for name in names)


@functools.cache
def _actions(command: str) -> list[argparse.Action]:
    return build_parser([command]).commands[command].actions


def _value(source: random.Random, action: argparse.Action) -> str:
    way = source.random()
    if action.choices and way < 0.6:
        return str(source.choice(list(action.choices)))
    if way < 0.5:
        return source.choice(_files())
    if way < 0.6:
        return "".join(source.choices(_CHARACTERS, k=source.randrange(8)))
    return source.choice(WORDS)


def _options(source: random.Random, actions: list[argparse.Action], share: float) -> list[str]:
    words: list[str] = []
    for action in source.sample(actions, len(actions)):
        wanted = 0.8 if action.required or not action.option_strings else share
        if source.random() > wanted:
            continue
        if isinstance(action, argparse._SubParsersAction):
            choice = source.choice(list(action.choices))
            words += [choice, *_options(source, action.choices[choice].actions, 0.5)]
            continue
        if action.option_strings:
            words.append(source.choice(action.option_strings))
        if action.nargs != 0 and not isinstance(action, argparse._HelpAction):
            count = source.choice((0, 1, 1, 1, 2)) if action.nargs else 1
            words += [_value(source, action) for _ in range(count)]
    return words


def _is_long(arguments: list[str]) -> bool:
    """Whether the command, if it is accepted, takes seconds."""
    command, rest = arguments[0], arguments[1:]
    if command == "fleet":
        return not ("--list" in rest or "--help" in rest) and _SMALL not in rest
    if command == "fidelity":
        return "--data" not in rest and "--family" not in rest
    if command == "model":
        return "--published" in rest
    return command == "replay" and not any(
        word.startswith((str(_FOLDER), "/")) or "." in word for word in rest
    )


def run_case(seed: int) -> str:
    """Runs one command line."""
    source = source_of("commands", seed)
    command = source.choice([*COMMANDS, "profile", "run"])
    arguments = [command, *_options(source, list(_actions(command)), source.choice((0.2, 0.5)))]
    for _ in range(source.choice((0, 0, 0, 1, 2))):
        way, place = source.randrange(4), source.randrange(len(arguments))
        if way == 0:
            arguments.insert(place, source.choice(WORDS))
        elif way == 1 and len(arguments) > 1:
            del arguments[place]
        elif way == 2:
            arguments[place] = source.choice((*WORDS, *_files()))
        else:
            arguments.append("--" + source.choice(("nonsense", "arch", "json", "x=1")))
    if _is_long(arguments) and source.random() < 0.999:
        return "left out, it takes seconds"
    os.chdir(_FOLDER)
    with open(os.devnull) as nothing:
        before, sys.stdin = sys.stdin, nothing
        try:
            status = commands.run(arguments).status
        except FoundError as error:
            raise FoundError(error.kind, error.text) from None
        finally:
            sys.stdin = before
    return f"status {status}"
