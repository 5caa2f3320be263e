#!/usr/bin/env python3
"""Changes one place of the sources at a time and looks whether the tests of its folder notice.

Usage: mutants.py [--room csrc ops python_bindings] [--mutants 12] [--seed 1] [--tests 60]. A change
is one of an operator, a constant, a negation or a statement. Those of C++ are built in one, in
build/release, and installed; the environment chooses one, so that changes of constant expressions
do not compile and are left out. Python is changed in the installed package. Both are put back. The
nearest tests of the folder run, so that another may notice what is called unnoticed. A test that
fails must pass without the change. Prints what became of each change; the exit status is 1 when
less than 85 % of a room's are noticed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import subprocess
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from mutant_changes import Mutant, Switch, sample, switched
from mutant_tests import BUILD, ROOT, check_unchanged, failing, nearest, tests_of

SITE = Path(sysconfig.get_path("platlib"))
ROOMS = ("csrc", "ops", "python_bindings")
SHARE = 0.85  # noticed at least
# Targets of CMake, and the component to install, if any, for tests of Python; by room.
BUILT = {
    "csrc": (("torch_neuron_sim", "_C"), "torch"), "ops": (("neuron_sim_core",), ""),
    "ops/reference": (("core_tests",), ""),  # a static library
    "python_bindings/core_module": (("_core",), "core"),
    "python_bindings/torch_module": (("_C",), "torch"),
}  # fmt: skip


@contextlib.contextmanager
def written(texts: dict[Path, str]) -> Iterator[None]:
    """Files have other texts for a while."""
    sources = {path: path.read_text() for path in texts}
    try:
        for path, text in texts.items():
            path.write_text(text)
        yield
    finally:
        for path, source in sources.items():
            path.write_text(source)


def build(folders: set[str]) -> set[tuple[str, int]]:
    """Builds and installs folders of BUILT, or tells files and lines that do not compile."""
    commands = [["cmake", "--build", str(BUILD), "--target",
                 *(target for folder in folders for target in BUILT[folder][0]),
                 "--", "-k", "0"]]  # fmt: skip
    for component in filter(None, {BUILT[folder][1] for folder in folders}):
        commands.append(["cmake", "--install", str(BUILD), "--strip", "--prefix", str(SITE),
                         "--component", component])  # fmt: skip
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            wrong = re.findall(r"^(/\S+?):(\d+):\d+: (?:fatal )?error", done.stdout, re.MULTILINE)
            if not wrong:
                sys.exit(done.stdout + done.stderr)
            return {(name, int(line)) for name, line in wrong}
    return set()


def without_wrong(switches: dict[Path, list[Switch]], wrong: set[tuple[str, int]]) -> None:
    """Leaves out the changes of lines that do not compile."""
    for path, own in switches.items():
        source, lines = path.read_text(), {line for name, line in wrong if name == str(path)}
        own[:] = [
            switch for switch in own
            if not lines & set(range(source.count("\n", 0, switch.start) + 1,
                                     source.count("\n", 0, switch.end) + 2))
        ]  # fmt: skip


@contextlib.contextmanager
def built(mutants: dict[int, Mutant]) -> Iterator[set[int]]:
    """Builds all of C++ in one, for all which compile; a change has effect while the environment's
    MUTANT is its number. Yields the numbers of those, and of Python."""
    switches: defaultdict[Path, list[Switch]] = defaultdict(list)
    ready = {number for number, mutant in mutants.items() if mutant.path.suffix == ".py"}
    for number in mutants.keys() - ready:
        path = ROOT / mutants[number].path
        switch = Switch.of(number, mutants[number], path.read_text())
        if not any(switch.overlaps(other) for other in switches[path]):
            switches[path].append(switch)
    folders = {nearest(path.relative_to(ROOT), BUILT) for path in switches}
    wrong = {("", 0)} if folders else set()
    while wrong:
        with written({path: switched(path.read_text(), own) for path, own in switches.items()}):
            wrong = build(folders)
        without_wrong(switches, wrong)
    try:
        yield ready | {switch.number for own in switches.values() for switch in own}
    finally:
        if folders and build(folders):
            sys.exit("It does not compile without a change.")


def noticing(number: int, mutant: Mutant, most: int) -> list[str] | None:
    """The command that notices the change, of `most` Python tests."""
    source = (ROOT / mutant.path).read_text()
    line = source.count("\n", 0, mutant.end)
    around = "\n".join(source.splitlines()[max(0, line - 12) : line + 12])
    texts = {}
    if mutant.path.suffix == ".py":
        texts[SITE / mutant.path.relative_to("python_bindings")] = mutant.apply(source)
    os.environ["MUTANT"] = str(number)
    with written(texts):
        commands = (failing(command) for command in tests_of(mutant.path, around, most))
        noticed = next(filter(None, commands), None)
    del os.environ["MUTANT"]
    return noticed


def judged(room: str, count: int, source: random.Random, most: int) -> float:
    """Tries that many changes of a room with so many of the nearest tests; the share noticed."""
    mutants = {number: sample(room, source) for number in range(1, count + 1)}
    noticed = []
    with built(mutants) as compiled:
        for number in sorted(compiled):
            mutant = mutants[number]
            by = noticing(number, mutant, most)
            noticed += [by] if by else []
            name = Path(by[-1].partition("::")[0]).name if by else "nothing"
            text = mutant.described((ROOT / mutant.path).read_text())
            print(f"{number:3} noticed by {name}: {text}", flush=True)
        check_unchanged(noticed)
    print(f"{room}: {len(noticed)} of {len(compiled)} noticed", flush=True)
    return len(noticed) / len(compiled)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--room", dest="rooms", nargs="+", choices=ROOMS, default=ROOMS)
    parser.add_argument("--mutants", type=int, default=12, help="of each room")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tests", type=int, default=60, help="of Python, for a change")
    given = parser.parse_args()
    shares = [
        judged(room, given.mutants, random.Random(given.seed), given.tests) for room in given.rooms
    ]
    return 0 if min(shares) >= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
