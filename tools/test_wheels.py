#!/usr/bin/env python3
"""Tries the wheels of dist/ as users do, each in a fresh environment of its Python.

Usage: test_wheels.py [--core [3.12 ...]] [--pair 3.12+2.14.1 ...] [--quick]; without --core and
--pair, everything.

Without torch: from `pip install` to the time of a kernel and its timeline page, within the limits
below; then, without --quick, the suites of kernels, timelines and commands, of which
tests/python/conftest.py leaves out what needs torch. With torch: the first operator of README.md,
torch.compile, DistributedDataParallel with two ranks and a C++ program outside of this repository.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from build_wheels import DIST, ROOT, interpreter, python_versions, run
from torch_versions import PAIRS

MOST_SECONDS, MOST_MEGABYTES = 60, 200
"""From `pip install` to a kernel's timeline page, and what that adds to the environment."""
SUITES = (
    "nki", "timeline", "command_line", "core_module", "sweep", "tune", "fidelity",
    "run/test_run_command.py", "package/test_extras.py", "test_new_generation.py",
)  # fmt: skip
"""Those of tests/python that kernels without torch need."""
COMPILED = """\
import torch

model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 8))
x = torch.randn(16, 64)
expected = model(x)
compiled = torch.compile(model.to("neuron_sim"), backend="neuron_sim")
y = compiled(x.to("neuron_sim"))
assert (y.cpu() - expected).abs().max() < 1e-3
y.sum().backward()
print(torch.neuron_sim.compiled_graphs()[0])
"""


class Environment:
    """A fresh virtual environment in a folder."""

    def __init__(self, version: str, folder: Path) -> None:
        run(interpreter(version), "-m", "venv", folder)
        self.bin = folder / "bin"
        self.site = folder / f"lib/python{version}/site-packages"
        self.work = folder / "work"
        self.work.mkdir()

    def install(self, *requirements: object) -> None:
        """With pip, from dist/ what is there."""
        pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
        run(self.bin / "python", *pip, "--find-links", DIST, *requirements)

    def megabytes(self) -> float:
        """The size of all packages."""
        files = (path for path in self.site.rglob("*") if path.is_file() and not path.is_symlink())
        return sum(path.stat().st_size for path in files) / 2**20

    def python(self, *words: object) -> None:
        """Runs Python in the empty folder `work`."""
        run(self.bin / "python", *words, cwd=self.work)


def check_core(version: str, folder: Path, quick: bool) -> str:
    """The core without torch; a line of figures. SystemExit beyond a limit."""
    environment = Environment(version, folder)
    before = environment.megabytes()
    start = time.monotonic()
    environment.install("neuron_sim")
    page = environment.work / "timeline.html"
    kernel = ROOT / "models/nki/vector_add.py"
    run(environment.bin / "neuron-sim", "run", "--timeline", page, "--advice", kernel)
    seconds = time.monotonic() - start
    megabytes = environment.megabytes() - before
    if not page.read_text(encoding="utf-8").startswith("<!"):
        raise SystemExit(f"test_wheels: {page} is no page")
    line = f"{version} without torch: {seconds:.1f} s, {megabytes:.0f} MB"
    if seconds > MOST_SECONDS or megabytes > MOST_MEGABYTES:
        raise SystemExit(f"test_wheels: {line}: more than {MOST_SECONDS} s, {MOST_MEGABYTES} MB")
    return line if quick else f"{line}; {suites_without_torch(environment)}"


def suites_without_torch(environment: Environment) -> str:
    """What pytest counts. CalledProcessError when a test fails."""
    environment.install(
        "neuron_sim[sweep,profile]", "scipy", "pytest", "pytest-xdist", "hypothesis", "jsonschema"
    )
    options = ("-q", "-p", "no:cacheprovider", "-n", os.cpu_count(), "--dist", "loadfile")
    report = environment.work / "report.txt"
    words = (environment.bin / "python", "-m", "pytest", *options, *SUITES)
    with report.open("w") as file:
        result = subprocess.run(list(map(str, words)), cwd=ROOT / "tests/python", stdout=file)
    lines = report.read_text(encoding="utf-8").splitlines()
    if result.returncode:
        print("\n".join(lines), file=sys.stderr)
        result.check_returncode()
    left_out = re.findall(r"^SKIPPED \[(\d+)\].*(?:torch is not|import .torch.)", "\n".join(lines),
                          re.MULTILINE)  # fmt: skip
    return f"{lines[-1]}, {sum(map(int, left_out))} files or tests left out for torch"


def check_pair(pair: str, folder: Path) -> str:
    """The device for a pair of Python and torch; a line of figures."""
    python, torch = pair.split("+")
    environment = Environment(python, folder)
    environment.install(f"torch=={torch}", "numpy")
    start = time.monotonic()
    environment.install("neuron_sim[torch]")
    seconds = time.monotonic() - start
    environment.python("-m", "pip", "check")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    section = readme[readme.index("## A first operator") :]
    program = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    assert program is not None
    environment.python("-c", program[1])
    environment.python("-c", COMPILED)
    for name in ("ddp.py", "digits.py", "digits.csv.gz", "processes.py"):
        shutil.copy(ROOT / "models" / name, environment.work)
    environment.python("ddp.py", "--processes", 2)
    check_consumer(environment)
    size = sum(path.stat().st_size for path in environment.site.glob("neuron_sim*/**/*.so*"))
    return f"{pair}: installed in {seconds:.1f} s beside torch, {size / 2**20:.0f} MB of libraries"


def check_consumer(environment: Environment) -> None:
    """Builds models/consumer from a copy outside of the repository, and runs it."""
    for name in ("consumer", "cpp"):
        shutil.copytree(ROOT / "models" / name, environment.work / name)
    program = "import neuron_sim; print(neuron_sim.cmake_prefix_path())"
    command = [str(environment.bin / "python"), "-c", program]
    prefix = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    build = environment.work / "build"
    options = (f"-DCMAKE_PREFIX_PATH={prefix}", "-DPROGRAMS=custom_ops")
    run("cmake", "-S", environment.work / "consumer", "-B", build, *options, CXX="g++")
    run("cmake", "--build", build)
    run(build / "custom_ops")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Tries the wheels of dist/ in fresh environments.")
    parser.add_argument("--core", nargs="*", choices=python_versions(), help="without torch")
    parser.add_argument("--pair", nargs="+", choices=PAIRS, help="with torch")
    parser.add_argument("--quick", action="store_true", help="leave out the suites")
    parsed = parser.parse_args(arguments)
    cores, pairs = parsed.core, parsed.pair
    if cores is None and pairs is None:
        cores, pairs = [], PAIRS
    if cores == []:
        cores = python_versions()
    lines = []
    with tempfile.TemporaryDirectory() as name:
        for version in cores or ():
            lines.append(check_core(version, Path(name) / version, parsed.quick))
        for pair in pairs or ():
            lines.append(check_pair(pair, Path(name) / pair))
            shutil.rmtree(Path(name) / pair)
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
