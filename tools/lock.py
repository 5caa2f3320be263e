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


def resolve(folder: Path) -> str:
    """Pins and hashes by pip-tools, from a separate environment."""
    venv.create(folder / "environment", with_pip=True)
    bin_folder = folder / "environment" / "bin"
    result = folder / "locked.txt"
    result.write_text(LOCK.read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run([bin_folder / "pip", "install", "--quiet", "pip-tools"], check=True)
    options = ["--generate-hashes", "--allow-unsafe", "--strip-extras", "--no-header", "--quiet"]
    options += ["--no-annotate", "--no-emit-index-url", "--no-emit-find-links"]
    options += ["--no-reuse-hashes", "--output-file", str(result), str(REQUIREMENTS)]
    command = [f"{bin_folder}/pip-compile", *options]
    subprocess.run(command, check=True)
    return result.read_text(encoding="utf-8")


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        for problem in problems():
            print(problem, file=sys.stderr)
        return bool(problems())
    torch = next(requirement for requirement in requirements() if requirement.name == "torch")
    with tempfile.TemporaryDirectory() as folder:
        entries = re.split(r"^(?=[a-z])", resolve(Path(folder)), flags=re.MULTILINE | re.IGNORECASE)
    text = "".join(entry for entry in entries if not entry.startswith(OF_TORCH))
    hashes = " \\\n".join(f"    --hash=sha256:{value}" for value in TORCH_HASHES)
    LOCK.write_text(f"{HEADER}{torch} \\\n{hashes}\n{text}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
