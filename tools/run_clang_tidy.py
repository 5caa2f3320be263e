#!/usr/bin/env python3
"""Runs clang-tidy on the sources of device/ and ops/ that need it.

Usage: run_clang_tidy.py BUILD_FOLDER [--all]. By default only .cpp files that differ from the
last commit but one (what is being worked on and what was just committed); --all takes every file.
A file that passed is skipped until it, a header of ours, or .clang-tidy changes.
"""

from __future__ import annotations

import functools
import hashlib
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("device", "ops")
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def _git_lines(*arguments: str) -> set[str]:
    answer = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return set(answer.stdout.splitlines())


def changed_files() -> set[str]:
    """Paths that differ from the last commit but one, or are not tracked; all, without history."""
    if not _git_lines("rev-parse", "--verify", "--quiet", "HEAD~1"):
        return {file.relative_to(ROOT).as_posix() for file in all_sources()}
    changed = _git_lines("diff", "--name-only", "HEAD~1")
    return changed | _git_lines("ls-files", "--others", "--exclude-standard")


def all_sources() -> list[Path]:
    return sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.cpp"))


def _with_own_headers(source: Path) -> list[Path]:
    """The source and every header of ours that it includes, directly or not."""
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        file = waiting.pop()
        if file in found or not file.is_file():
            continue
        found[file] = None
        waiting += [ROOT / path for path in INCLUDE.findall(file.read_text(encoding="utf-8"))]
    return sorted(found)


def fingerprint(source: Path) -> str:
    """A hash of everything of ours that decides clang-tidy's answer for this source."""
    digest = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for file in _with_own_headers(source):
        digest.update(file.read_bytes())
    return digest.hexdigest()


@functools.cache
def _compiler_headers() -> list[str]:
    """Options to read omp.h, which is the compiler's; clang's own headers stay in front.

    clang 14 does not know the attribute __malloc__(deallocator) that GCC's omp.h uses.
    """
    answer = subprocess.run(["g++", "-print-file-name=include"], capture_output=True, text=True)
    options = (f"-idirafter{answer.stdout.strip()}", "-D__malloc__(deallocator)=")
    return [f"--extra-arg={option}" for option in options]


def check(source: Path, build: Path, passed: Path) -> str:
    """Runs clang-tidy on one source; returns its findings, empty when there are none."""
    stamp = passed / fingerprint(source)
    if stamp.exists():
        return ""
    command = ["clang-tidy", "--quiet", "-p", str(build), *_compiler_headers(), str(source)]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if answer.returncode == 0 and not answer.stdout.strip():
        stamp.touch()
        return ""
    return answer.stdout.strip() or answer.stderr.strip()


def main() -> int:
    build = Path(sys.argv[1]).resolve()
    passed = build / "clang-tidy"
    passed.mkdir(parents=True, exist_ok=True)
    sources = all_sources()
    if "--all" not in sys.argv:
        changed = changed_files()
        sources = [file for file in sources if file.relative_to(ROOT).as_posix() in changed]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = [text for text in pool.map(lambda f: check(f, build, passed), sources) if text]
    print("\n".join(findings) or f"clang-tidy: {len(sources)} files, no findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
