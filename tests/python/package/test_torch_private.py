"""docs/torch_private.md lists every private name of torch that the package uses, and no other."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from test_package import ROOT

PACKAGE = ROOT / "python_bindings/neuron_sim"
PAGE = ROOT / "docs/torch_private.md"


def is_private(name: str) -> bool:
    parts = name.split(".")
    return parts[0] == "torch" and any(
        part.startswith("_") and not part.startswith("__") for part in parts
    )


def dotted(node: ast.expr) -> str:
    """`torch.a.b` of nested attributes; empty when they do not begin with a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def names(tree: ast.AST) -> Iterator[str]:
    """Private names of torch that a module imports or reads, each as far as it is written."""
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Attribute) and id(node) not in inner:
            yield dotted(node)


def used() -> dict[str, set[str]]:
    """Private names to the files that use them."""
    found: dict[str, set[str]] = {}
    for file in PACKAGE.rglob("*.py"):
        for name in filter(is_private, names(ast.parse(file.read_text(encoding="utf-8")))):
            found.setdefault(name, set()).add(str(file.relative_to(PACKAGE)))
    return found


def test_the_page_lists_what_the_package_uses():
    row = r"^\| `(torch[\w.]+)` \| `([^|]+)` \| [^|\n]+ \|$"  # of three cells
    rows = re.findall(row, PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = {name: set(files.split("`, `")) for name, files in rows}
    assert listed == used()


def test_a_private_name_is_one_with_an_underscore_in_any_part():
    tree = ast.parse(
        "import torch._dynamo\nfrom torch.a import _b\nfrom torch import nn\n"
        "torch._x.y(torch.z)\ntorch.__version__\nself.torch._q\n"
    )
    found = set(filter(is_private, names(tree)))
    assert found == {"torch._dynamo", "torch.a._b", "torch._x.y"}
    assert Path(PAGE).is_file()
