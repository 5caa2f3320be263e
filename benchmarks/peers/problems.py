"""What every simulator computes."""

from __future__ import annotations

from typing import Any

PROBLEMS: dict[str, dict[str, Any]] = {
    "matmul 1024 x 1024 x 1024": {
        "kind": "matmul", "rows": 1024, "columns": 1024, "inner": 1024,
    },
    "convolution 3 x 3, 64 to 64 channels, 56 x 56": {
        "kind": "convolution", "height": 58, "width": 58, "kernel": 3, "inputs": 64, "outputs": 64,
        "stride": 1,
    },
}  # fmt: skip
"""By name, fp32; height and width are those of a padded image."""


def multiply_accumulates(problem: dict[str, Any]) -> int:
    """Of a problem, whoever computes it."""
    if problem["kind"] == "matmul":
        return int(problem["rows"] * problem["columns"] * problem["inner"])
    kernel, stride = problem["kernel"], problem["stride"]
    pixels = 1
    for size in (problem["height"], problem["width"]):
        pixels *= (size - kernel) // stride + 1
    return int(pixels * kernel * kernel * problem["inputs"] * problem["outputs"])
