#!/usr/bin/env python3
"""Changes one place of the core at a time and checks that a test fails.

Usage: mutation_sample.py [--mutants 100] [--seed 1] [--minutes M] [--build build/release]. Each
mutant is one source file of an instruction, the timeline or a kernel with one small change. It is
compiled with the flags of build/release, linked into a copy of the library, and run against the
core tests named after the file, core tests of its folder, all core tests, and the Python tests of
kernels and times, until one fails. A change that compiles to the same object does not count. The
exit status is 1 when less than 85 % of the mutants are killed. Survivors are printed: they point at
missing tests.
"""

from __future__ import annotations

import argparse
import random
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (
    "device/instruction", "device/isa", "device/timeline", "ops/attention", "ops/blocks",
    "ops/contract", "ops/conv2d", "ops/copies", "ops/ffnn", "ops/matmul", "ops/pooling",
    "ops/vector_add",
)  # fmt: skip
SHARE = 0.85
# A test that runs so many times as long as with the original, and a while, does not end.
TIMES, SECONDS = 4.0, 20.0
LIBRARY = "libneuron_sim_core.so"
# Tests of the installed package: what kernels compute, and how long they take.
PYTHON_TESTS = (
    "tests/python/core_module/test_*.py", "tests/python/custom_ops/test_*.py",
    "tests/python/ops/test_*.py", "tests/python/nki/isa/test_*.py",
    "tests/python/nki/test_measure*.py", "tests/python/fidelity/test_*.py",
    "tests/python/tools/test_*_docs.py",
)  # fmt: skip

_TEXT = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\'|//[^\n]*|/\*.*?\*/|^\s*#[^\n]*',
                   re.DOTALL | re.MULTILINE)  # fmt: skip
_TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+)", re.MULTILINE)
# Kind, pattern, replacements.
_RULES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("comparison", r"(?<= )<=(?= )", ("<",)),
    ("comparison", r"(?<= )<(?= )", ("<=",)),
    ("comparison", r"(?<= )>=(?= )", (">",)),
    ("comparison", r"(?<= )>(?= )", (">=",)),
    ("comparison", r"(?<= )==(?= )", ("!=",)),
    ("comparison", r"(?<= )!=(?= )", ("==",)),
    ("logic", r"(?<= )&&(?= )", ("||",)),
    ("logic", r"(?<= )\|\|(?= )", ("&&",)),
    ("arithmetic", r"(?<= )\+(?= )", ("-",)),
    ("arithmetic", r"(?<= )-(?= )", ("+",)),
    ("arithmetic", r"(?<= )\*(?= [\w(])", ("+",)),
    ("arithmetic", r"(?<= )/(?= )", ("*",)),
    ("constant", r"(?<![\w.'])\d{1,4}(?![\w.'])", ("+1", "-1")),
    ("constant", r"\btrue\b", ("false",)),
    ("constant", r"\bfalse\b", ("true",)),
    ("condition", r"\bif \((?=[^;{]*\) )", ("if (!",)),
    ("statement", r"(?<=\n)  +[\w.\->\[\]]+(?:\([^;{}]*\)| [+\-*/|&]?= [^;{}]*);(?=\n)", ("",)),
)


@dataclass(frozen=True)
class Mutant:
    """A change of one place: [start, end) of the file becomes `text`."""

    path: str
    kind: str
    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def describe(self, source: str) -> str:
        line = source.count("\n", 0, self.start) + 1
        old = source[self.start : self.end].strip()
        around = source.split("\n")[line - 1].strip() if self.kind != "statement" else old
        return f"{self.path}:{line} {self.kind}: '{old}' becomes '{self.text}' in: {around[:110]}"


def masked(source: str) -> str:
    """The source with texts, comments and directives blank, so that places stay."""
    return _TEXT.sub(lambda match: re.sub(r"[^\n]", "_", match[0]), source)


def _negated(source: str, start: int) -> tuple[int, str] | None:
    """The end of `if (condition)` that starts there, and its negation; not of initialisers."""
    opening = source.index("(", start)
    depth = 0
    for place in range(opening, len(source)):
        depth += {"(": 1, ")": -1}.get(source[place], 0)
        if depth == 0:
            condition = source[opening + 1 : place]
            if ";" in condition or " = " in condition:
                return None
            return place + 1, f"if (!({condition}))"
    return None


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """All changes of a file."""
    blank = masked(source)
    for kind, pattern, replacements in _RULES:
        for match in re.finditer(pattern, blank):
            start, end = match.span()
            for text in replacements:
                if kind == "condition":
                    negated = _negated(source, start)
                    if negated is not None:
                        yield Mutant(path, kind, start, negated[0], negated[1])
                elif text in ("+1", "-1"):
                    number = int(match[0]) + int(text)
                    if number >= 0:
                        yield Mutant(path, kind, start, end, str(number))
                elif kind != "statement" or "return" not in match[0]:
                    yield Mutant(path, kind, start, end, text)


class Build:
    """Compiles and links mutants beside a finished build, which stays as it is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.durations: dict[tuple[str, ...], float] = {}  # of commands, with the original
        answer = subprocess.run(
            ["ninja", "-C", str(folder), "-t", "commands", LIBRARY],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        self.commands = answer.stdout.strip().splitlines()
        self.link = self.commands[-1].removeprefix(": && ").removesuffix(" && :")

    def compiled(self, path: str, source: Path, target: Path) -> bool:
        """Compiles `source` as the build compiles `path`."""
        command = next(each for each in self.commands if each.endswith(f"/{path}"))
        words = shlex.split(command)
        words = words[next(i for i, word in enumerate(words) if word.endswith("g++")) :]
        words[words.index("-o") + 1] = str(target)
        for option in ("-MF", "-MT"):
            if option in words:
                words[words.index(option) + 1] = str(target.with_suffix(".d"))
        words[-1] = str(source)
        # The object says where its source lies.
        words.append(f"-fmacro-prefix-map={source}={path}")
        done = subprocess.run(words, cwd=self.folder, capture_output=True)
        return done.returncode == 0

    def linked(self, path: str, made: Path, target: Path) -> None:
        """Links the library with one object replaced."""
        words = shlex.split(self.link)
        words[words.index("-o") + 1] = str(target)
        original = f"CMakeFiles/neuron_sim_core.dir/{path}.o"
        words[words.index(original)] = str(made)
        subprocess.run(words, cwd=self.folder, check=True, capture_output=True)

    def fails(self, library: Path, tests: str) -> str:
        """How core_tests fail with a library: failed, crashed or timeout; empty if they pass."""
        command = [str(self.folder / "tests" / "core_tests"), f"--gtest_filter={tests}"]
        return self._fate_of((*command, "--gtest_brief=1", "--gtest_fail_fast"), library)

    def fails_in_python(self, library: Path) -> str:
        """The fate in the Python tests, with the library in place of the package's."""
        files = [str(file) for each in PYTHON_TESTS for file in sorted(ROOT.glob(each))]
        command = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files)
        return self._fate_of(command, library)

    def _fate_of(self, command: tuple[str, ...], library: Path) -> str:
        if command not in self.durations:
            start = time.monotonic()
            if reason := self._run(command, self.folder, None):
                raise RuntimeError(f"without a change, {shlex.join(command)[:200]}: {reason}")
            self.durations[command] = time.monotonic() - start
        return self._run(command, library.parent, TIMES * self.durations[command] + SECONDS)

    @staticmethod
    def _run(command: tuple[str, ...], libraries: Path, seconds: float | None) -> str:
        try:
            done = subprocess.run(
                command, env={"LD_LIBRARY_PATH": str(libraries), "PATH": "/usr/bin:/bin"},
                capture_output=True, timeout=seconds, cwd=ROOT,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "timeout"
        if done.returncode < 0:
            return "crashed"
        return "failed" if done.returncode else ""


def suites(paths: list[Path]) -> str:
    """The gtest filter of all tests in some files; empty when there are none."""
    names = {name for path in paths for name in _TEST.findall(path.read_text())}
    return ":".join(f"{name}.*:*/{name}.*" for name in sorted(names))


def filters(path: str) -> list[str]:
    """Tests that should notice: of the file's name, then of its folder."""
    file = Path(path)
    folder = ROOT / "tests" / file.parent
    named = sorted(folder.glob(f"test_{file.stem}*.cpp"))
    others = sorted(set(folder.glob("test_*.cpp")) - set(named))
    return [each for each in (suites(named), suites(others)) if each]


def fate(build: Build, mutant: Mutant, source: str, folder: Path) -> str:
    """What became of a mutant: killed by what, "survived", "same object" or "does not compile"."""
    changed, made = folder / Path(mutant.path).name, folder / "made.o"
    changed.write_text(mutant.apply(source))
    if not build.compiled(mutant.path, changed, made):
        return "does not compile"
    library = folder / LIBRARY
    build.linked(mutant.path, made, library)
    for tests in filters(mutant.path):
        if reason := build.fails(library, tests):
            return f"killed: {reason}"
    changed.write_text(source)
    original = folder / "original.o"
    if not build.compiled(mutant.path, changed, original):
        raise RuntimeError(f"{mutant.path} does not compile unchanged")
    if made.read_bytes() == original.read_bytes():
        return "same object"
    if reason := build.fails(library, "*"):
        return f"killed: {reason}"
    if reason := build.fails_in_python(library):
        return f"killed: {reason} in Python"
    return "survived"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    given = parser.parse_args()
    build = Build(given.build.resolve())
    source = random.Random(given.seed)
    files = [path for each in FOLDERS for path in sorted((ROOT / each).rglob("*.cpp"))]
    fates: Counter[str] = Counter()
    survivors: list[str] = []
    end = time.monotonic() + given.minutes * 60
    while (tried := fates["killed"] + fates["survived"]) < given.mutants:
        if time.monotonic() > end:
            break
        path = source.choice(files)
        text = path.read_text()
        changes = list(mutants_of(str(path.relative_to(ROOT)), text))
        if not changes:
            continue
        kind = source.choice(sorted({each.kind for each in changes}))
        mutant = source.choice([each for each in changes if each.kind == kind])
        with tempfile.TemporaryDirectory(prefix="mutant") as folder:
            result = fate(build, mutant, text, Path(folder))
        fates[result.partition(":")[0]] += 1
        print(f"{tried + 1:>4} {result:<17} {mutant.describe(text)}", flush=True)
        if result == "survived":
            survivors.append(mutant.describe(text))
    tried = fates["killed"] + fates["survived"]
    share = fates["killed"] / tried if tried else 0.0
    print(
        f"{fates['killed']} of {tried} mutants killed ({100 * share:.0f} %), seed {given.seed}; "
        f"{fates['same object']} changed nothing, {fates['does not compile']} did not compile"
    )
    for each in survivors:
        print(f"survived: {each}")
    return 0 if share >= SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
