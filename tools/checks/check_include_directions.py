#!/usr/bin/env python3
"""Checks that every #include points the way the layers allow.

device <- ops <- csrc <- python_bindings, with models on public headers only. RULES is the
table of CONTRIBUTING.md in executable form; the first rule whose folder holds the file applies.
Usage: check_include_directions.py [ROOT]; prints one line per violation and ends with 1 if any.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# C++ headers have neither a dot nor a slash; C and POSIX headers are listed.
STANDARD = (
    r"[a-z_0-9]+",
    r"(sys|linux)/\w+\.h",
    r"(arm_neon|assert|cpuid|cxxabi|dirent|dlfcn|errno|execinfo|fcntl|fenv|float|immintrin|"
    r"inttypes|limits|link|math|poll|pthread|sched|semaphore|signal|spawn|std\w+|string|time|"
    r"ucontext|unistd|wchar)\.h",
)
CORE_LIBRARIES = (r"fmt/.+", r"toml\+\+/.+")
ONEDNN = (r"(oneapi/dnnl/)?dnnl.*\.hp?p?",)
LIBTORCH = (r"torch/.+", r"ATen/.+", r"c10/.+", r"kineto/.+")
# These headers of torch need Python, which libtorch_neuron_sim.so does not link.
TORCH_PYTHON = (r"torch/(extension|python)\.h", r"torch/csrc/(.*/)?(python_|pybind|THP).*")
GTEST = (r"g(test|mock)/.+",)
NANOBIND = (r"nanobind/.+", r"(Python|structmember)\.h")
# What programs include: the one public header, or anything marked as public.
PUBLIC_CSRC = (r"csrc/neuron_sim\.h", r"csrc/(.*/)?public(/|_|\.).*")
ANYTHING = (r".+",)


@dataclass(frozen=True)
class Rule:
    """What the files below `folder` may include; patterns match the whole include path."""

    folder: str
    own: tuple[str, ...]
    external: tuple[str, ...]
    external_in_sources: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


def _below(*folders: str) -> tuple[str, ...]:
    return tuple(f"{folder}/.+" for folder in folders)


RULES = (
    # The vendor's compiler, which is not part of the chip: nothing else of device/ knows it.
    Rule("device/compiler", _below("device"), STANDARD, CORE_LIBRARIES),
    Rule("device", _below("device"), STANDARD, CORE_LIBRARIES, never=_below("device/compiler")),
    Rule("ops", _below("device", "ops"), STANDARD, CORE_LIBRARIES + ONEDNN),
    Rule("csrc", _below("device", "ops", "csrc"), STANDARD + LIBTORCH, never=TORCH_PYTHON),
    Rule("models", PUBLIC_CSRC + _below("models"), STANDARD + LIBTORCH, never=TORCH_PYTHON),
    Rule(
        "python_bindings/core_module",
        _below("device", "ops", "python_bindings/core_module"),
        STANDARD + NANOBIND,
    ),
    Rule("python_bindings", _below("device", "ops", "csrc", "python_bindings"), ANYTHING),
    Rule(
        "tests/device",
        _below("device", "tests"),
        STANDARD + GTEST,
        CORE_LIBRARIES,
        never=(r"tests/(csrc|ops)/.+",),
    ),
    Rule(
        "tests/ops",
        _below("device", "ops", "tests"),
        STANDARD + GTEST,
        CORE_LIBRARIES,
        never=(r"tests/csrc/.+",),
    ),
    Rule("tests", _below("device", "ops", "csrc", "tests"), STANDARD + GTEST + LIBTORCH),
    Rule("benchmarks", _below("device", "ops", "benchmarks"), STANDARD, CORE_LIBRARIES),
)
LAYERS = ("device", "ops", "csrc", "models", "python_bindings", "tests", "benchmarks")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def _matches(path: str, patterns: tuple[str, ...]) -> bool:
    return any(re.fullmatch(pattern, path) for pattern in patterns)


def _complaint(root: Path, rule: Rule, file: Path, mark: str, path: str) -> str | None:
    """Why this include is wrong, or None."""
    is_own = path.split("/")[0] in LAYERS and "/" in path
    if _matches(path, rule.never):
        return f"{rule.folder}/ must not include {path}"
    if is_own:
        if not _matches(path, rule.own):
            return f"{rule.folder}/ must not include {path}"
        # A header that the build writes has its template in the tree.
        if not ((root / path).is_file() or (root / f"{path}.in").is_file()):
            return f"{path} does not exist"
        return f'{path} is ours: write "{path}"' if mark == "<" else None
    if mark == '"' and not _matches(path, rule.external + rule.external_in_sources):
        return f"{path} is not a full path from the repository root"
    if _matches(path, rule.external):
        return None
    if _matches(path, rule.external_in_sources):
        return None if file.suffix == ".cpp" else f"{path} may be included in .cpp files only"
    return f"{rule.folder}/ must not include {path}"


def check_cpp_file(root: Path, rule: Rule, file: Path) -> Iterator[str]:
    """Yields "file:line: reason" for each wrong include of one C++ file."""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        found = INCLUDE.match(line)
        complaint = found and _complaint(root, rule, file, found[1], found[2])
        if complaint:
            yield f"{file.relative_to(root)}:{number}: {complaint}"


def _private_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "neuron_sim" and any(part.startswith("_") for part in parts):
                yield node.lineno, name


def check_python_model(root: Path, file: Path) -> Iterator[str]:
    """Models use the public Python interface: no neuron_sim name that starts with "_"."""
    for number, name in _private_imports(ast.parse(file.read_text(encoding="utf-8"))):
        yield f"{file.relative_to(root)}:{number}: models/ must not import {name}"


def check_tree(root: Path) -> list[str]:
    """All violations below `root`, sorted by file."""
    complaints: list[str] = []
    for layer in LAYERS:
        for file in sorted((root / layer).rglob("*")):
            name = file.relative_to(root).as_posix()
            if file.suffix in (".h", ".cpp"):
                rule = next(rule for rule in RULES if name.startswith(rule.folder + "/"))
                complaints += check_cpp_file(root, rule, file)
            elif layer == "models" and file.suffix == ".py":
                complaints += check_python_model(root, file)
    return complaints


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    complaints = check_tree(root)
    print("\n".join(complaints) or "include directions: all as the layers allow")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
