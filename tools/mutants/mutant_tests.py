"""Which tests are near a place of a source, and runs of them, for mutants.py."""

from __future__ import annotations

import functools
import importlib
import os
import re
import select
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "release"
PYTEST = [sys.executable, "-m", "pytest"]
FILES = 8  # of Python tests, among which the nearest tests are sought
SECONDS = 300  # without a line of output: it may run for ever
# Folders of tests/python of sources that have others, by the longest path; ops/ has core_tests.
MIRRORS = {
    "csrc": "torch_backend", "csrc/aten": "ops", "csrc/aten/sparse": "ops/sparse",
    "csrc/custom_ops": "custom_ops", "csrc/launch": "torch_backend torch_compile",
    "csrc/distributed": "distributed", "python_bindings/core_module": "core_module",
    "python_bindings/core_module/tracing": "core_module nki nki/tracing nki/old_language",
    "python_bindings/torch_module": "torch_backend", "python_bindings/neuron_sim_torch": "package",
    "python_bindings/neuron_sim": "package", "python_bindings/neuron_sim/sanitizer": "nki",
    "python_bindings/neuron_sim/terminal": "command_line",
    "python_bindings/neuron_sim/neuronxcc": "nki/old_language",
    "python_bindings/neuron_sim/nki/language": "nki/isa nki",
    "python_bindings/neuron_sim/nki/launch": "nki/launch nki/program_cache",
    "python_bindings/neuron_sim/nki/lowering": "nki/isa",
    "python_bindings/neuron_sim/nki/tracing": "nki/tracing nki/old_language",
}  # fmt: skip


def nearest(path: Path, table: Iterable[str]) -> str:
    """The entry that is the nearest folder above a file."""
    return next(str(folder) for folder in path.parents if str(folder) in table)


def suites_of(program: str, folder: Path) -> list[list[str]]:
    """The command of a program of build/release/tests for the tests of a folder, if it has any."""
    files = sorted((ROOT / "tests" / folder).glob("test_*.cpp"))
    named = re.findall(r"^(?:TYPED_)?TEST(?:_[FP])?\((\w+)",
                       "\n".join(file.read_text() for file in files), re.MULTILINE)  # fmt: skip
    names = ":".join(f"{suite}.*:*/{suite}.*" for suite in sorted(set(named)))
    command = [str(BUILD / "tests" / program), "--gtest_fail_fast"]
    return [[*command, f"--gtest_filter={names}"]] if names else []


def words_of(path: Path, around: str) -> list[str]:
    """What a test that is near a place of a file may say."""
    words = [word[:6] for word in re.findall(r"[a-z]{3,}", str(path.with_suffix("")))]
    said = re.sub("(?=[A-Z])", " ", around).lower()
    return list(dict.fromkeys([*words, *re.findall(r"[a-z]{3,}", said)]))


def files_of(path: Path, words: list[str]) -> list[Path]:
    """The files of Python tests of a file's folder; those that say most of the rare words first."""
    mirror = nearest(path, MIRRORS)
    own, tests = path.parent.relative_to(mirror), ROOT / "tests" / "python"
    folders = [tests / name for name in MIRRORS[mirror].split()]
    if mirror == "python_bindings/neuron_sim" and own.parts:
        folders = [tests / own]
    while not any(folders[0].glob("test_*.py")):
        folders = [folders[0].parent]
    texts = {file: file.read_text() for folder in folders for file in folder.glob("test_*.py")}
    said = {word: sum(word in text for text in texts.values()) for word in words}
    own_words = words_of(path, "")  # later ones say more

    def nearness(file: Path) -> tuple[float, Path]:
        named = sum(i for i, word in enumerate(own_words) if word in file.stem)
        return -named - sum(4 / said[word] for word in words if word in texts[file]), file

    return sorted(texts, key=nearness)


def tests_of(path: Path, around: str = "", most: int = 0) -> list[list[str]]:
    """The commands for the tests of the folder that mirrors a file's, the nearest first: those of
    Python are at most `most` of the nearest files, unless it is 0."""
    if path.parts[0] == "ops":
        return suites_of("core_tests", path.parent)
    words = words_of(path, around)
    pytest = [*PYTEST, "-v", "-x", "-p", "no:cacheprovider"]
    if most:
        pytest += ["-p", "tools.mutants.nearest_tests", f"--nearest-tests={most}",
                   f"--nearest-words={' '.join(words)}"]  # fmt: skip
    files = [str(file.relative_to(ROOT)) for file in files_of(path, words)]
    return [[*pytest, *files[: FILES if most else None]], *suites_of("torch_tests", path.parent)]


@functools.cache
def import_slow_modules() -> None:
    """Modules that take more time than tests of a few files. The device is not among them."""
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    for name in ("hypothesis", "numpy", "torch", "torch._dynamo", "pytest"):
        importlib.import_module(name)
    del os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"]


def run_in_fork(command: list[str]) -> NoReturn:
    """Python tests run in this process, others in its place."""
    os.chdir(ROOT)
    if command[:3] != PYTEST:
        os.execv(command[0], command)
    sys.path.insert(0, str(ROOT))
    sys.argv = command[2:]
    sys.modules["torch"]._import_device_backends()
    status = sys.modules["pytest"].main(command[3:])
    sys.stdout.flush()
    os._exit(status)


def started(command: list[str]) -> tuple[int, int]:
    """The process of a command, and what reads its output."""
    if command[:3] == PYTEST:
        import_slow_modules()
    read, write = os.pipe()
    if (process := os.fork()) == 0:
        try:
            os.dup2(write, 1)
            os.dup2(write, 2)
            run_in_fork(command)
        finally:
            os._exit(1)
    os.close(write)
    return process, read


def failing(command: list[str]) -> list[str] | None:
    """None when tests pass (or all are left out: 5), else the command of the Python test that
    fails, or of the file of tests that crashes or is silent for too long."""
    process, read = started(command)
    output = b""
    while select.select([read], [], [], SECONDS)[0]:
        if not (some := os.read(read, 65536)):
            break
        output += some
    else:
        os.kill(process, signal.SIGKILL)
    os.close(read)
    if os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) in (0, 5):
        return None
    text = output.decode(errors="replace")
    last = re.findall(r"^(?:FAILED|ERROR) (tests/.*?)(?= - |$)", text, re.MULTILINE)[-1:]
    last = last or re.findall(r"^(tests/\S+\.py)::", text, re.MULTILINE)[-1:]
    options = [word for word in command if not word.startswith(("tests/", "--nearest-"))]
    return [*options, *last] if last else command


def check_unchanged(commands: list[list[str]]) -> None:
    """Tests that noticed pass without a change, or the run ends."""
    together: dict[str, list[str]] = {}
    for command in commands:
        tests = [word for word in command if word.startswith("tests/")]
        options = [word for word in command if word not in tests]
        known = together.setdefault(" ".join(options), options)
        known += [test for test in tests if test not in known]
    for command in together.values():
        if (fails := failing(command)) is not None:
            sys.exit(f"{' '.join(fails)} fails without a change.")
