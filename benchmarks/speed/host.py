"""The machine that measures."""

from __future__ import annotations

import platform
import re
from pathlib import Path


def processor() -> str:
    """The processor's name and the instruction set that products use, as far as the host says."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^(model name|cpu family|model)\s*: (.+)$", text, re.MULTILINE))
    if len(fields) < 3:
        return platform.machine()
    widest = "AVX-512" if "avx512f" in text else "AVX2" if "avx2" in text else "no AVX2"
    numbers = f"family {fields['cpu family']}, model {fields['model']}"
    return f"{fields['model name']} ({numbers}; {widest})"
