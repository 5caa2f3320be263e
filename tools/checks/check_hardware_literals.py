#!/usr/bin/env python3
"""Refuses sizes of the hardware as numbers in the NKI languages: the architecture file has them.

They come from `trace.target.limits`, or from `neuron_sim._core` where architectures share them.
A number that only looks like one says so on its line: `# no size of the hardware: what it is`.
Usage: check_hardware_literals.py [ROOT]; prints one line per number, ends with 1 if there are any.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("python_bindings/neuron_sim/nki", "python_bindings/neuron_sim/neuronxcc")
SIZES = {
    32: "partitions of a quadrant, or the Vector engine's transpose",
    128: "partitions, or columns of a stationary tile",
    512: "columns of a moving tile, or of a PSUM bank in fp32",
    2048: "bytes of a PSUM bank",
    24 * 2**20: "bytes of SBUF",
}
EXCUSE = "# no size of the hardware: "


def value_of(node: ast.AST) -> int | None:
    """The int that an expression of literals is, such as 24 * 1024 * 1024."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if not isinstance(node, ast.BinOp):
        return None
    left, right = value_of(node.left), value_of(node.right)
    if left is None or right is None:
        return None
    if isinstance(node.op, ast.Mult):
        return left * right
    if isinstance(node.op, ast.LShift):
        return left << right
    return left**right if isinstance(node.op, ast.Pow) and 0 <= right < 64 else None


def literals(source: str) -> Iterator[tuple[int, int]]:
    """(line, number) of the sizes of the hardware in a source."""
    lines = source.splitlines()
    for node in ast.walk(ast.parse(source)):
        value = value_of(node)
        if value in SIZES and EXCUSE not in lines[node.lineno - 1]:  # type: ignore[attr-defined]
            yield node.lineno, value  # type: ignore[attr-defined]


def main(root: Path) -> int:
    """Prints the numbers; 1 if there are any."""
    found = [
        f"{file.relative_to(root)}:{line}: {number} ({SIZES[number]}) is a size of the hardware: "
        "take it from the architecture"
        for folder in FOLDERS
        for file in sorted((root / folder).rglob("*.py"))
        for line, number in sorted(literals(file.read_text(encoding="utf-8")))
    ]
    print("\n".join(found) or "hardware literals: none")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]))
