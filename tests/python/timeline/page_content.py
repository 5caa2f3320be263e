"""Reads the recordings back from a page, without the page's own code."""

import base64
import gzip
import json
import re

import numpy as np
from recorded_programs import TYPES


def unpacked(page: str):
    """Header and columns (arrays by name) of a page of one run."""
    ((header, columns),) = all_unpacked(page)
    return header, columns


def all_unpacked(page: str):
    """The same of every run of a page."""
    texts = re.findall(r'<script class="recording"[^>]*>([^<]*)</script>', page)
    return [_recording(gzip.decompress(base64.b64decode(text))) for text in texts]


def differences(page: str) -> list[dict]:
    """The rows of differences of a page."""
    return json.loads(re.search(r'<script id="differences-data"[^>]*>([^<]*)</script>', page)[1])


def _recording(content: bytes):
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    body = content[8 + length :]
    return header, {name: _column(body, *place) for name, *place in header["columns"]}


def _column(body: bytes, kind: str, coding: str, planes: int, offset: int, count: int):
    """One number after the other, as the layout is described in packing.py."""
    rows = [body[offset + k * count : offset + (k + 1) * count] for k in range(planes)]
    numbers = [bytes(number) for number in zip(*rows, strict=True)]
    if coding == "raw":
        return np.frombuffer(b"".join(numbers), TYPES[kind])
    assert coding == "delta"
    values, value = [], 0
    for number in numbers:
        coded = int.from_bytes(number, "little")
        value += -(coded + 1) // 2 if coded % 2 else coded // 2
        values.append(value)
    return np.array(values, TYPES[kind])
