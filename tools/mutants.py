#!/usr/bin/env python3
"""Changes one place of the sources at a time and looks whether the tests of its folder notice.

Usage: mutants.py [--room csrc ops python_bindings] [--mutants 12] [--seed 1]. A change is one of an
operator, a constant, a negation or a statement. C++ is changed in the tree, built in build/release
and installed; Python is changed in the installed package. Both are put back. A test that fails must
pass without the change. Prints what became of each change; the exit status is 1 when less than 85 %
of a room's are noticed.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import random
import re
import select
import subprocess
import sys
import sysconfig
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
BUILD, SITE = ROOT / "build" / "release", Path(sysconfig.get_path("platlib"))
ROOMS = ("csrc", "ops", "python_bindings")
SHARE, SECONDS = 0.85, 600  # noticed at least; without a line of output: it may run for ever
# Folders of tests/python of sources that have others, by the longest path; ops/ has core_tests.
MIRRORS = {
    "csrc": "torch_backend", "csrc/aten": "ops", "csrc/custom_ops": "custom_ops",
    "csrc/distributed": "distributed", "python_bindings/core_module": "core_module",
    "python_bindings/torch_module": "torch_backend", "python_bindings/neuron_sim_torch": "package",
    "python_bindings/neuron_sim": "package", "python_bindings/neuron_sim/sanitizer": "nki",
    "python_bindings/neuron_sim/terminal": "command_line",
    "python_bindings/neuron_sim/neuronxcc": "nki/old_language",
    "python_bindings/neuron_sim/nki/language": "nki/isa",
    "python_bindings/neuron_sim/nki/launch": "nki/launch nki/program_cache",
    "python_bindings/neuron_sim/nki/lowering": "nki/isa",
    "python_bindings/neuron_sim/nki/tracing": "nki/tracing nki/old_language",
}  # fmt: skip
# Targets of CMake, and the component to install, if any, for tests of Python; by room.
BUILT = {
    "csrc": (("torch_neuron_sim", "_C"), "torch"), "ops": (("neuron_sim_core",), ""),
    "python_bindings/core_module": (("_core",), "core"),
    "python_bindings/torch_module": (("_C",), "torch"),
}  # fmt: skip

# Texts, comments and directives, which stay.
_TEXTS = {
    ".cpp": r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'|//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*',
    ".py": r'(""").*?\1|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*',
}
_STATEMENT = r"(?<=\n)[ \t]+[\w.\->\[\]]+(?:\([^;{}\n]*\)| [+\-*/|&]?= [^;{}\n]*)"
_ANY = {
    r"(?<= )<=(?= )": "<", r"(?<= )<(?= )": "<=", r"(?<= )>=(?= )": ">", r"(?<= )>(?= )": ">=",
    r"(?<= )==(?= )": "!=", r"(?<= )!=(?= )": "==", r"(?<= )\+(?= )": "-", r"(?<= )-(?= )": "+",
    r"(?<= )\*(?= )": "+", r"(?<= )//?(?= )": "*", r"(?<= )%(?= )": "+",
    r"(?<![\w.'])\d{1,4}(?![\w.'])": "one more",
}  # fmt: skip
_RULES = {
    ".cpp": _ANY | {r"(?<= )&&(?= )": "||", r"(?<= )\|\|(?= )": "&&", r"!(?=[a-z(])": "",
                    r"\btrue\b": "false", r"\bfalse\b": "true", _STATEMENT + r";(?=\n)": ""},
    ".py": _ANY | {r"(?<= )and(?= )": "or", r"(?<= )or(?= )": "and", r"\bnot (?!in\b)": "",
                   r"\bTrue\b": "False", r"\bFalse\b": "True", _STATEMENT + r"(?=\n)": "pass"},
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: [start, end) of the file, from the root, becomes `text`."""

    path: Path
    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def described(self, source: str) -> str:
        old, number = source[self.start : self.end].strip(), source.count("\n", 0, self.end)
        line = source.splitlines()[number].strip()
        return f"{self.path}:{number + 1}: '{old}' becomes '{self.text.strip()}' in: {line}"


def mutants_of(path: Path, source: str) -> Iterator[tuple[str, Mutant]]:
    """All changes of a file, with the pattern that each follows."""
    blank = re.sub(_TEXTS[path.suffix], lambda text: re.sub(r"[^\n]", "_", text[0]), source,
                   flags=re.DOTALL | re.MULTILINE)  # fmt: skip
    for pattern, text in _RULES[path.suffix].items():
        for match in re.finditer(pattern, blank):
            new = str(int(match[0]) + 1) if text == "one more" else text
            if text == "pass":
                new = re.sub(r"\S.*", text, match[0])
            mutant = Mutant(path, *match.span(), new)
            with contextlib.suppress(SyntaxError):
                if path.suffix == ".py":
                    ast.parse(mutant.apply(source))
                yield pattern, mutant


def sample(room: str, source: random.Random) -> Mutant:
    """A change of a room: each file is as likely as another, and then each kind of change."""
    files = sorted(file for file in (ROOT / room).rglob("*") if file.suffix in _RULES)
    by_pattern: defaultdict[str, list[Mutant]] = defaultdict(list)
    while not by_pattern:
        path = source.choice(files)
        for pattern, mutant in mutants_of(path.relative_to(ROOT), path.read_text()):
            by_pattern[pattern].append(mutant)
    return source.choice(by_pattern[source.choice(list(by_pattern))])


def nearest(path: Path, table: Iterable[str]) -> str:
    """The entry that is the nearest folder above a file."""
    return next(str(folder) for folder in path.parents if str(folder) in table)


def tests_of(path: Path) -> list[str]:
    """The command for the tests of the folder that mirrors a file's, the nearest first."""
    if path.parts[0] == "ops":
        files = sorted((ROOT / "tests" / path.parent).glob("test_*.cpp"))
        found = re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+)",
                           "\n".join(file.read_text() for file in files), re.MULTILINE)  # fmt: skip
        names = ":".join(f"{suite}.*:*/{suite}.*" for suite in sorted(set(found)))
        command = [str(BUILD / "tests" / "core_tests"), "--gtest_brief=1", "--gtest_fail_fast"]
        return [*command, f"--gtest_filter={names}"] if names else ["true"]
    mirror = nearest(path, MIRRORS)
    own, tests = path.parent.relative_to(mirror), ROOT / "tests" / "python"
    folders = [tests / name for name in MIRRORS[mirror].split()]
    if mirror == "python_bindings/neuron_sim" and own.parts:
        folders = [tests / own]
    while not any(folders[0].glob("test_*.py")):
        folders = [folders[0].parent]
    words = [word[:6] for word in re.findall(r"[a-z]{3,}", str(path))]  # later ones say more

    def nearness(file: Path) -> int:
        named = sum(i for i, word in enumerate(words) if word in file.stem)
        return -named - min(9, file.read_text().count(words[-2]))  # the last is the suffix

    files = sorted(file for folder in folders for file in folder.glob("test_*.py"))
    files.sort(key=nearness)
    pytest = [sys.executable, "-m", "pytest", "-v", "-x", "-p", "no:cacheprovider"]
    return [*pytest, *(str(file.relative_to(ROOT)) for file in files)]


def build(path: Path) -> bool:
    """Whether a C++ file compiles; its library is where the tests look for it."""
    targets, component = BUILT[nearest(path, BUILT)]
    install = ["cmake", "--install", str(BUILD), "--strip", "--prefix", str(SITE), "--component"]
    commands = [["cmake", "--build", str(BUILD), "--target", *targets]]
    commands += [[*install, component]] if component else []
    return all(subprocess.run(each, capture_output=True).returncode == 0 for each in commands)


def failing(command: list[str]) -> list[str] | None:
    """None when tests pass (or all are left out: 5), else the command of the file of tests that
    fails, crashes or is silent for too long."""
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        assert process.stdout is not None
        output = b""
        while select.select([process.stdout], [], [], SECONDS)[0]:
            if not (some := os.read(process.stdout.fileno(), 65536)):
                break
            output += some
        else:
            process.kill()
        if process.wait() in (0, 5):
            return None
    last = re.findall(r"^(?:FAILED |ERROR )?(tests/\S+\.py)::", output.decode(), re.MULTILINE)[-1:]
    return [word for word in command if not word.endswith(".py")] + last if last else command


def fate(mutant: Mutant) -> str:
    """The last word of the command that notices, "nothing", or "no compiler"."""
    is_python = mutant.path.suffix == ".py"
    changed = SITE / mutant.path.relative_to("python_bindings") if is_python else ROOT / mutant.path
    source = changed.read_text()
    changed.write_text(mutant.apply((ROOT / mutant.path).read_text()))
    try:
        if not is_python and not build(mutant.path):
            return "no compiler"
        noticed = failing(tests_of(mutant.path))
    finally:
        changed.write_text(source)
        if not is_python and not build(mutant.path):
            sys.exit(f"{mutant.path} does not compile unchanged.")
    if noticed is not None and failing(noticed) is not None:
        sys.exit(f"{' '.join(noticed)} fails without a change.")
    return "nothing" if noticed is None else Path(noticed[-1]).name


def judged(room: str, count: int, source: random.Random) -> float:
    """Tries that many changes of a room; the share that is noticed."""
    noticed = tried = 0
    while tried < count:
        mutant = sample(room, source)
        text = mutant.described((ROOT / mutant.path).read_text())
        if (by := fate(mutant)) == "no compiler":
            continue
        tried, noticed = tried + 1, noticed + (by != "nothing")
        print(f"{tried:3} noticed by {by}: {text}", flush=True)
    print(f"{room}: {noticed} of {tried} noticed", flush=True)
    return noticed / tried


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--room", dest="rooms", nargs="+", choices=ROOMS, default=ROOMS)
    parser.add_argument("--mutants", type=int, default=12, help="of each room")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    shares = [judged(room, given.mutants, random.Random(given.seed)) for room in given.rooms]
    return 0 if min(shares) >= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
