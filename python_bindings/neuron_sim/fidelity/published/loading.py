"""A kernel out of its author's file, which is executed as it stands."""

from __future__ import annotations

import ast
import atexit
import importlib.util
import shutil
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any


def candidates(text: str) -> list[str]:
    """The kernels' texts in a search's trace, oldest first.

    A trace is one nested expression `CodeCandidate(parent=CodeCandidate(...), code='...')`.
    """
    node: ast.AST | None = ast.parse(text, mode="exec").body[0]
    call = node.value if isinstance(node, ast.Expr | ast.Assign) else None
    found: list[str] = []
    while isinstance(call, ast.Call):
        named = {each.arg: each.value for each in call.keywords}
        code = named.get("code")
        if isinstance(code, ast.Constant) and isinstance(code.value, str):
            found.append(code.value)
        call = named.get("parent")
    return found[::-1]


def edited(text: str, edits: dict[str, str], where: str) -> str:
    """The text with every line replaced. ValueError for one that does not stand there."""
    for old, new in edits.items():
        if old not in text:
            raise ValueError(f"{where} has no '{old}': is the checkout at its commit?")
        text = text.replace(old, new)
    return text


def load(path: Path, launch: dict[str, Any]) -> ModuleType:
    """The module of a launch's file, candidate or edited text."""
    text = path.read_text()
    if launch["candidate"] is not None:
        text = f"{launch['prelude']}\n{candidates(text)[launch['candidate']]}\n"
    text = edited(text, launch["edits"], f"'{launch['file']}'")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))  # for the files beside it
    name = f"published_{path.stem}"
    if launch["candidate"] is None and not launch["edits"]:
        return _executed(path, name)
    return _executed_text(path, text, name)


def load_module(path: Path, edits: dict[str, str], name: str) -> ModuleType:
    """The module `name` of a file with edits, imported as such from then on."""
    return _executed_text(path, edited(path.read_text(), edits, f"'{path.name}'"), name)


def _executed_text(path: Path, text: str, name: str) -> ModuleType:
    # Kernels are read from files: errors quote the line, loops are analysed in the source.
    folder = tempfile.mkdtemp(prefix="published_")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = Path(folder) / path.name
    copy.write_text(text)
    return _executed(copy, name)


def _executed(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
