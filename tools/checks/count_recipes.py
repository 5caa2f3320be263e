#!/usr/bin/env python3
"""Counts what an addition to the tree costs, and the rooms of the Python package, against limits.

Code is .h, .cpp, .py and .js outside tests/, without comments. A name counts in every spelling:
two_inputs, kTwoInputs and TwoInputs are one.
Usage: count_recipes.py [ROOT]; prints each count with its limit, and the first places of one that
exceeds it; ends with 1 if any does.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import check_rooms

ARCHITECTURES = PurePosixPath("device/arch")
INSTRUCTIONS = PurePosixPath("device/isa")
#: A row per instruction, for the tests of all of them; the folder counts as one file.
ROWS = PurePosixPath("tests/python/nki/isa/isa_functions")
#: A file that names this share of all instructions is a list of them.
LIST_SHARE = 0.9
#: Here no program is read: an instruction's name in quotes means something else unless compared.
NO_PROGRAMS = ("device/arch", "device/numerics", "ops", "csrc", "python_bindings")
COMMENTS = {".h": "//", ".cpp": "//", ".js": "//", ".py": "# "}

_INSTRUCTION = re.compile(r"^extern const InstructionType k(\w+);$", re.MULTILINE)
_COMPARED = r'(?:[!=]=\s*|(?:starts_with|ends_with|contains|compare)\()"{0}"|"{0}"\s*[!=]='


class Count(NamedTuple):
    """What is counted, the places that were counted, and how many there may be."""

    name: str
    places: list[str]
    limit: int


@cache
def plain(name: str) -> str:
    """A name without its spelling: kTwoInputs and two_inputs become twoinputs."""
    return re.sub(r"^k(?=[A-Z0-9])", "", name).replace("_", "").lower()


class Tree:
    """The files under version control below `root`, and what they name."""

    def __init__(self, root: Path):
        self.root = root
        self.files = check_rooms.tracked(root)

    def text(self, file: PurePosixPath) -> str:
        return (self.root / file).read_text(encoding="utf-8")

    def code(self) -> Iterator[tuple[PurePosixPath, int, str]]:
        """File, number and text of each line of code."""
        for file in self.files:
            if file.suffix in COMMENTS and file.parts[0] != "tests":
                for number, line in enumerate(self.text(file).splitlines(), start=1):
                    yield file, number, line.split(COMMENTS[file.suffix])[0]

    @cached_property
    def lines_naming(self) -> dict[str, list[tuple[PurePosixPath, int]]]:
        """The lines of code that contain a name, by the plain name."""
        lines = defaultdict(list)
        for file, number, line in self.code():
            for name in {plain(word) for word in re.findall(r"\w+", line)}:
                lines[name].append((file, number))
        return lines

    @cached_property
    def instructions(self) -> dict[str, str]:
        """The name of each instruction, by its plain name; a header declares one."""
        headers = [f for f in self.files if INSTRUCTIONS in f.parents and f.suffix == ".h"]
        declared = {file.stem: _INSTRUCTION.search(self.text(file)) for file in headers}
        return {plain(match[1]): name for name, match in declared.items() if match}


def fact_counts(tree: Tree) -> Iterator[Count]:
    """Lines that a rate and a fact take: medians over those whose names have two words or more."""
    rates, facts, whole, lines = [], [], [], {}
    for file in (f for f in tree.files if f.parent == ARCHITECTURES and f.suffix == ".toml"):
        lines[file.stem] = tree.text(file).splitlines()
        document = tomllib.loads(tree.text(file))
        whole += [] if "base" in document else [str(file)]
        for section, table in document.items():
            for key in (key for key in table if "_" in key) if isinstance(table, dict) else ():
                named = tree.lines_naming[plain(key)]
                facts.append([f"{f}:{n}" for f, n in named if f.parent == ARCHITECTURES])
                if section == "rates":
                    rates.append([f"{f}:{n}" for f, n in named if INSTRUCTIONS not in f.parents])
    rate, fact = (sorted(every, key=len)[len(every) // 2] for every in (rates, facts))
    yield Count("lines of code of a rate, outside device/isa", rate, 2)
    yield Count("lines of code of a fact", [*fact, "the line that uses it"], 3)
    yield Count("lines of TOML of either: architectures without a base", whole, 1)
    yield Count("lines of trn1.toml", lines["trn1"], 160)
    yield Count("lines of trn3.toml", lines["trn3"], 100)


def instruction_counts(tree: Tree) -> Iterator[Count]:
    """Files that an instruction takes, and comparisons with its name outside of them."""
    named: dict[str, set[str]] = defaultdict(set)
    own: dict[str, list[str]] = defaultdict(list)
    for file in tree.files:
        if file.suffix in (*COMMENTS, ".toml", ".json", ".cmake", ".txt"):
            words = {plain(word) for word in re.findall(r"\w+", tree.text(file))}
            place = str(ROWS if ROWS in file.parents else file)
            named[place] |= words & tree.instructions.keys()
            if str(INSTRUCTIONS) in place:
                own[file.stem.removeprefix("test_")].append(place)
    lists = [f for f, names in named.items() if len(names) >= LIST_SHARE * len(tree.instructions)]
    most = max((own[name] for name in tree.instructions.values()), key=len)
    yield Count("files of an instruction: its own, and lists of all", [*most, *lists], 4)

    comparisons = []
    for file, number, line in tree.code():
        if '"' in line and file.suffix in (".h", ".cpp"):
            pattern = _COMPARED if str(file).startswith(NO_PROGRAMS) else '"{0}"'
            names = f'(?!{file.stem}")(?:{"|".join(tree.instructions.values())})'
            if re.search(pattern.format(names), line):
                comparisons.append(f"{file}:{number}")
    yield Count("comparisons with the name of an instruction", comparisons, 0)


def _imported(arrows: check_rooms.Edges, start: str) -> set[str]:
    """A room and all that it imports, directly or not."""
    reached, ahead = {start}, [start]
    while ahead:
        new = arrows.get(ahead.pop(), {}).keys() - reached
        reached |= new
        ahead += new
    return reached


def room_counts(tree: Tree) -> Iterator[Count]:
    """Size and directions of the rooms of python_bindings, and the largest folder of the tree."""
    arrows = check_rooms.room_edges(check_rooms.python_edges(tree.root, tree.files))
    back = [link for a in arrows for b, link in arrows[a].items() if a in _imported(arrows, b)]
    folders = defaultdict(list)
    for file in tree.files:
        folders[file.parent].append(str(file))
    yield Count("files in the root of neuron_sim", folders[check_rooms.PACKAGE], check_rooms.PORCH)
    yield Count("rooms of python_bindings", check_rooms.rooms(tree.files), check_rooms.ROOMS)
    yield Count("arrows between them that lie on a circle", back, 0)
    yield Count("files of the largest folder", max(folders.values(), key=len), check_rooms.LARGEST)


def main() -> int:
    tree = Tree(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2])
    counts = [*fact_counts(tree), *instruction_counts(tree), *room_counts(tree)]
    print(f"{'count':55} {'now':>5} {'limit':>5}")
    for name, places, limit in counts:
        print(f"{name:55} {len(places):5} {limit:5}")
        if len(places) > limit:
            print("".join(f"    {place}\n" for place in places[:20]), end="")
    return 1 if any(len(count.places) > count.limit for count in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
