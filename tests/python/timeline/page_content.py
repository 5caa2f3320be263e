"""Reads the recording back from a page, without the page's own code."""

import base64
import gzip
import json
import re

import numpy as np
from recorded_programs import TYPES


def unpacked(page: str):
    """Header and columns (arrays by name) of a page."""
    text = re.search(r'<script id="recording"[^>]*>([^<]*)</script>', page).group(1)
    content = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    first = 8 + -(-length // 8) * 8
    columns = {
        name: np.frombuffer(content, TYPES[kind], count, first + offset)
        for name, kind, offset, count in header["columns"]
    }
    return header, columns
