#!/usr/bin/env python3
"""Checks the folders of the source tree: no circles, none too large, each says what it holds.

A folder includes (C++) or imports (Python) others in one direction only; it has at most LARGEST
files; its README.md, or the docstring of its __init__.py, says what lives there. An import within
a function says why in a comment on its line.

A room of the Python package is a folder or module directly in it; folders of the extension modules
are rooms too. There are at most ROOMS, the package has at most PORCH files beside its folders, and
no arrow between rooms runs back up: imports within functions count, and so do modules that are
named by strings. The package's own __init__.py is its face, which no module of it imports.
Usage: check_rooms.py [ROOT]; prints one line per violation and ends with 1 if there are any.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

LARGEST, PORCH, ROOMS = 35, 12, 24
#: Folders of C++ that include each other by the path from the root.
CPP = ("device", "ops", "csrc", "python_bindings")
PACKAGE = PurePosixPath("python_bindings/neuron_sim")
FACE = PACKAGE / "__init__.py"
EXTENSIONS = tuple(PACKAGE.parent / name for name in ("core_module", "torch_module"))
COMPILED = ("._core", "._C", "._build")  # made by the build; they import nothing of the package
LOADER = "_C.py"  # gives way to the compiled module of its name
#: Data; the tests, which mirror the tree; what `neuron-sim run` puts on paths (see its package).
UNDOCUMENTED = (
    "tests/", ".", f"{PACKAGE}/fidelity/data", f"{PACKAGE}/fidelity/traces/", f"{PACKAGE}/run/bin",
    f"{PACKAGE}/run/site",
)  # fmt: skip

_DOTTED = f"{PACKAGE.name}."
_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)

Edges = dict[str, dict[str, str]]  # folder -> folder -> "file includes file"


def tracked(root: Path) -> list[PurePosixPath]:
    """The files under version control; of a plain folder, all files."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        names = [PurePosixPath(line) for line in listed.stdout.splitlines()]
        return [name for name in names if (root / name).is_file()]
    files = (path for path in sorted(root.rglob("*")) if path.is_file())
    return [PurePosixPath(path.relative_to(root).as_posix()) for path in files]


def cpp_edges(root: Path, files: list[PurePosixPath]) -> Edges:
    """Which folder of C++ includes which."""
    edges: Edges = defaultdict(dict)
    for file in files:
        if file.parts[0] not in CPP or file.suffix not in (".h", ".cpp"):
            continue
        for name in _INCLUDE.findall((root / file).read_text(encoding="utf-8")):
            target = PurePosixPath(name)
            if target.parent != file.parent and (root / target).is_file():
                edges[str(file.parent)].setdefault(str(target.parent), f"{file} includes {name}")
    return edges


def _target(module: str, files: set[PurePosixPath]) -> PurePosixPath | None:
    """The file of a dotted name below the package, or None."""
    path = PurePosixPath(*module.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if PACKAGE.parent / candidate in files:
            return PACKAGE.parent / candidate
    return None


def imports(
    file: PurePosixPath, nodes: Iterable[ast.AST], files: set[PurePosixPath]
) -> Iterator[tuple[PurePosixPath, int]]:
    """The files of the package that a file imports, or names by a string, and the line of each."""
    package = file.relative_to(PACKAGE.parent).parent
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = list(package.parts)
            base = parts[: len(parts) - node.level + 1] if node.level else []
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{prefix}.{alias.name}" for alias in node.names]
            names = [name if _target(name, files) else prefix for name in names
                     if not name.endswith(COMPILED)]  # fmt: skip
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # The name of a package alone is a prefix of names.
            target = _target(node.value, files) if node.value.startswith(_DOTTED) else None
            names = [node.value] if target is not None and target.stem != "__init__" else []
        else:
            continue
        for name in names:
            target = _target(name, files)
            if target is not None and target != file:
                yield target, node.lineno


def python_edges(root: Path, files: list[PurePosixPath]) -> Edges:
    """Which module of the package imports which."""
    edges: Edges = defaultdict(dict)
    known = {file for file in files if PACKAGE in file.parents}
    for file in files:
        if file not in known or file.suffix != ".py":
            continue
        tree = ast.parse((root / file).read_text(encoding="utf-8"))
        checked = {
            id(child)
            for node in ast.walk(tree)
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for child in ast.walk(node)
        }
        nodes = [node for node in ast.walk(tree) if id(node) not in checked]
        for target, line in imports(file, nodes, known):
            edges[str(file)].setdefault(str(target), f"{file}:{line} imports {target}")
    return edges


def package_edges(modules: Edges) -> Edges:
    """Which package imports which; a package may import its own subpackages."""
    edges: Edges = defaultdict(dict)
    for module, targets in modules.items():
        for target, link in targets.items():
            package, other = PurePosixPath(module).parent, PurePosixPath(target).parent
            if package != other and package not in other.parents:
                edges[str(package)].setdefault(str(other), link)
    return edges


def room(file: PurePosixPath) -> str:
    """The room of a file of the package."""
    return file.relative_to(PACKAGE).parts[0]


def rooms(files: list[PurePosixPath]) -> list[str]:
    """The rooms of the package and the folders of the extension modules."""
    package = {room(file) for file in files if PACKAGE in file.parents and file.suffix == ".py"}
    folders = {str(file.parent) for file in files if file.parent.parent in EXTENSIONS}
    return sorted(package - {FACE.name, LOADER} | folders)


def room_edges(modules: Edges) -> Edges:
    """Which room of the package imports which; the face is none."""
    edges: Edges = defaultdict(dict)
    for module, targets in modules.items():
        for target, link in targets.items():
            here, there = room(PurePosixPath(module)), room(PurePosixPath(target))
            if here != there and FACE.name not in (here, there):
                edges[here].setdefault(there, link)
    return edges


def porch(files: list[PurePosixPath], modules: Edges) -> Iterator[str]:
    """Too many files or rooms in the package, and imports of its face."""
    flat = sum(file.parent == PACKAGE for file in files)
    if flat > PORCH:
        yield f"{PACKAGE}: {flat} files beside its folders, more than {PORCH}"
    named = rooms(files)
    if len(named) > ROOMS:
        yield f"{PACKAGE.parent}: {len(named)} rooms, more than {ROOMS}: {', '.join(named)}"
    for targets in modules.values():
        if str(FACE) in targets:
            yield f"{targets[str(FACE)]}, the face of the package"


def circle(edges: Edges) -> Iterator[str]:
    """One line when the graph has a circle."""
    try:
        TopologicalSorter({node: set(targets) for node, targets in edges.items()}).prepare()
    except CycleError as error:
        path = error.args[1][::-1]
        links = [edges[a][b] for a, b in zip(path, path[1:], strict=False)]
        yield f"circle of {len(links)}: {'; '.join(links)}"


def inner_imports(root: Path, files: list[PurePosixPath]) -> Iterator[str]:
    """Imports of the package within functions, without a comment that says why."""
    for file in files:
        if PACKAGE not in file.parents or file.suffix != ".py":
            continue
        text = (root / file).read_text(encoding="utf-8")
        lines = text.splitlines()
        for function in ast.walk(ast.parse(text)):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    around = lines[node.lineno - 2 : node.end_lineno]
                    if not any("# " in line for line in around):
                        yield f"{file}:{node.lineno}: an import within a function needs a reason"


def folders(root: Path, files: list[PurePosixPath]) -> Iterator[str]:
    """Folders that are too large, or do not say what they hold."""
    for folder, count in sorted(Counter(str(file.parent) for file in files).items()):
        if count > LARGEST:
            yield f"{folder}: {count} files, more than {LARGEST}"
        if folder.startswith(UNDOCUMENTED):
            continue
        page, package = root / folder / "README.md", root / folder / "__init__.py"
        if page.is_file():
            continue
        if package.is_file() and ast.get_docstring(ast.parse(package.read_text(encoding="utf-8"))):
            continue
        yield f"{folder}: neither README.md nor the docstring of __init__.py says what it holds"


def check_tree(root: Path) -> list[str]:
    """All violations below `root`."""
    files = tracked(root)
    modules = python_edges(root, files)
    graphs = (cpp_edges(root, files), modules, package_edges(modules), room_edges(modules))
    return [
        *dict.fromkeys(line for edges in graphs for line in circle(edges)),
        *porch(files, modules),
        *inner_imports(root, files),
        *folders(root, files),
    ]


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    complaints = check_tree(root)
    print("\n".join(complaints) or "rooms: no circles, none too large, all documented")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
