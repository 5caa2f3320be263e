"""Reads numbers, shapes and dtypes out of the texts of a measurement."""

from __future__ import annotations

import re

DTYPES = {
    "float32": "float32",
    "fp32": "float32",
    "f32": "float32",
    "bfloat16": "bfloat16",
    "bf16": "bfloat16",
    "float16": "float16",
    "fp16": "float16",
    "f16": "float16",
}

ITEM_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def number(text: str, *names: str) -> int | None:
    """The integer after the first of `names` that the text has: NAME=2, name = 2, name 2."""
    for name in names:
        found = re.search(rf"\b{name}\s*[=:]?\s*(\d+)", text, re.IGNORECASE)
        if found:
            return int(found.group(1))
    return None


def shapes(text: str) -> list[tuple[int, ...]]:
    """All lists of integers in brackets or parentheses, separated by commas or x: [128x2000]."""
    found = re.findall(r"[(\[]\s*(\d+(?:\s*[,x]\s*\d+)*)\s*,?\s*[)\]]", text)
    return [tuple(int(size) for size in re.split(r"[,x]", sizes)) for sizes in found]


def shape_after(text: str, *names: str) -> tuple[int, ...] | None:
    """The list of integers right after the first of `names` that has one: W (256,256,3,3)."""
    for name in names:
        found = re.search(rf"\b{name}\s*[=:]?\s*([(\[][^)\]]*[)\]])", text, re.IGNORECASE)
        sizes = shapes(found.group(1)) if found else []
        if sizes:
            return sizes[0]
    return None


def dtype(text: str) -> str | None:
    """The dtype that the text names, as the Builder calls it; None if absent or unknown."""
    for word in re.findall(r"[a-z]+\d+", text.lower()):
        if word in DTYPES:
            return DTYPES[word]
    return None
