"""The syntax trees of kernels' files."""

import ast
import linecache
from types import CodeType
from typing import Any

_trees: dict[str, tuple[list[str], ast.Module | None]] = {}


def tree_of(code: CodeType, names: dict[str, Any] | None = None) -> ast.Module | None:
    """The tree of the file that code comes from; None when its source is not known."""
    lines = linecache.getlines(code.co_filename, names)
    known = _trees.get(code.co_filename)
    if known is not None and (known[0] is lines or known[0] == lines):
        return known[1]
    try:
        tree = ast.parse("".join(lines)) if lines else None
    except (SyntaxError, ValueError):
        tree = None
    _trees[code.co_filename] = (lines, tree)
    return tree
