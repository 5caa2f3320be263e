#!/usr/bin/env python3
"""Writes requirements-lock.txt: every Python package that setup installs, with version and hashes.

Usage: lock.py [--check]. --check only says whether the lock file satisfies requirements-dev.txt.
Resolving downloads every package once (minutes). Versions that stand in the lock stay, where they
satisfy requirements-dev.txt: remove a package's lines to get its newest version.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ROOT / "requirements-dev.txt"
LOCK = ROOT / "requirements-lock.txt"
OTHERS = "# The other targets:\n"
"""Begins what neither the packages nor the demo need, in requirements-dev.txt and in the lock."""
HEADER = """\
# Written by tools/lock.py from requirements-dev.txt: what tools/setup.sh installs, with hashes.
# A torch with CUDA brings its own packages, which follow from its version.
"""
# What a torch with CUDA brings.
OF_TORCH = ("torch==", "nvidia-", "cuda-", "triton==")
# Hashes of torch 2.13.0 for x86-64 Linux: the wheels of PyPI for Python 3.11 and later, and the
# build without CUDA, which a package index may offer instead.
TORCH_HASHES = (
    "60fcdcb2f3876e21146cb4524ef06397d727ca9ad5f020818547e25075fe3cb7",
    "796633c4cdf0fe2cdced72d8f88f22e73dbcfce83132763162f6d4bff13b820b",
    "a3a9a21312872af8a26950b2c15680335a386a1f56ed03e780653d78b9607e9e",
    "49f1ea385c754e54919408a9bb3b5a72b0b755bbe2c916c1d6f70afbec4908a2",
    "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b",
)


def requirements() -> list[Requirement]:
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


def locked_versions() -> dict[str, str]:
    """Name, in PyPI's normal form, to version."""
    pins = re.findall(r"^([A-Za-z0-9_.-]+)==(\S+)", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    return {normal(name): version for name, version in pins}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def problems() -> list[str]:
    """Requirements that the lock file does not satisfy."""
    locked = locked_versions()
    return [
        f"requirements-lock.txt does not satisfy '{requirement}': run tools/lock.py"
        for requirement in requirements()
        if normal(requirement.name) not in locked
        or not requirement.specifier.contains(locked[normal(requirement.name)])
    ]


def resolve(compiler: Path, requirements: str, pinned: str) -> list[str]:
    """Pins and hashes of requirements and what they need, by pip-tools; where `pinned` has a
    version, that one."""
    with tempfile.TemporaryDirectory() as name:
        source, result = Path(name) / "requirements.in", Path(name) / "locked.txt"
        source.write_text(requirements, encoding="utf-8")
        result.write_text(pinned, encoding="utf-8")
        options = ["--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-header"]
        options += ["--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--quiet"]
        options += ["--no-reuse-hashes", "--output-file", str(result), str(source)]
        subprocess.run([compiler, *options], check=True)
        text = re.sub(r"\n#.*", "", result.read_text(encoding="utf-8"))
    entries = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE | re.IGNORECASE)
    return [entry.rstrip() + "\n" for entry in entries if entry.strip()]


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        for problem in problems():
            print(problem, file=sys.stderr)
        return bool(problems())
    torch = next(requirement for requirement in requirements() if requirement.name == "torch")
    every = REQUIREMENTS.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        subprocess.run([f"{folder}/bin/pip", "install", "--quiet", "pip-tools"], check=True)
        compiler = Path(folder) / "bin/pip-compile"
        entries = resolve(compiler, every, LOCK.read_text(encoding="utf-8"))
        first = resolve(compiler, every.partition(OTHERS)[0], "".join(entries))
    first = [entry for entry in first if not entry.startswith(OF_TORCH)]
    others = [entry for entry in entries if not entry.startswith(OF_TORCH) and entry not in first]
    hashes = " \\\n".join(f"    --hash=sha256:{value}" for value in TORCH_HASHES)
    text = f"{HEADER}{torch} \\\n{hashes}\n{''.join(first)}{OTHERS}{''.join(others)}"
    LOCK.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
