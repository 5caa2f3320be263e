"""Reads sizes of matrices, variants and dtypes out of a measurement."""

from __future__ import annotations

import re

from neuron_sim.fidelity import wording
from neuron_sim.fidelity.measurement import Measurement


def dtype_of(measurement: Measurement) -> str | None:
    """The first dtype that the field names, as the Builder calls it."""
    return wording.dtype(measurement.dtype)


def _named(text: str, name: str) -> int | None:
    found = re.search(rf"(?<![a-z0-9_]){name}\s*[=:]\s*(\d+)", text)
    return int(found[1]) if found else None


def _operands(text: str) -> tuple[int, int, int] | None:
    """M, K, N from "lhsT (K, M) rhs (K, N)" or "lhs (M, K) rhs (K, N)"."""
    pair = r"[\s:]*[\[(]\s*(\d+)\s*[,x]\s*(\d+)\s*[\])]"
    left = re.search(rf"lhs(_?t)?{pair}", text)
    right = re.search(rf"rhs{pair}", text)
    if not left or not right:
        return None
    rows, columns = int(left[2]), int(left[3])
    m, k = (columns, rows) if left[1] else (rows, columns)
    return (m, k, int(right[2])) if k == int(right[1]) else None


def _sizes_in(text: str) -> tuple[int, int, int] | None:
    m, k, n = (_named(text, name) for name in "mkn")
    if m is not None and k is not None and n is not None:
        return m, k, n
    operands = _operands(text)
    if operands:
        return operands
    found = re.search(r"(?<![\dx])(\d+)\s*x\s*(\d+)\s*x\s*(\d+)(?![\dx])", text)
    if found:
        return int(found[1]), int(found[2]), int(found[3])
    cube = re.search(r"(?<!\d)(\d+)\s*(?:\^3|³|cubed)", text)
    return (int(cube[1]),) * 3 if cube else None


def matrix_sizes(measurement: Measurement) -> tuple[int, int, int] | None:
    """M, K, N of a matrix product, from "M=.. K=.. N=..", the operands' shapes, "MxKxN".

    The description counts only when the shapes say nothing: it may also describe blocks.
    """
    return _sizes_in(measurement.shapes.lower()) or _sizes_in(measurement.description.lower())


def pair_of(measurement: Measurement) -> tuple[int, int] | None:
    """The first pair of sizes of the shapes: "(128,512)", "[128, 512]", "128x512"."""
    text = measurement.shapes.lower()
    found = re.search(r"[\[(]\s*(\d+)\s*[,x]\s*(\d+)\s*[\])]", text)
    found = found or re.search(r"(?<![\dx])(\d+)\s*x\s*(\d+)(?![\dx])", text)
    return (int(found[1]), int(found[2])) if found else None


def step_of(measurement: Measurement) -> int | None:
    """N of "step N", "candidate N", "version N", "vN" of an optimisation ladder."""
    texts = (measurement.kernel.lower(), measurement.description.lower())
    for text in texts:
        found = re.search(r"\b(?:step|candidate|version|rung|v)[\s_]*(\d+)\b", text)
        if found:
            return int(found[1])
    return None
