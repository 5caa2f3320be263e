"""The machine that measures."""

from __future__ import annotations

import platform
import re
from pathlib import Path


def processor() -> str:
    """The processor's name and the instruction set that products use, as far as the host says."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    numbers = [
        found[1]
        for key in ("cpu family", "model")
        if (found := re.search(rf"^{key}\s*:\s*(\d+)$", text, re.MULTILINE))
    ]
    widest = "AVX-512" if "avx512f" in text else "AVX2" if "avx2" in text else "no AVX2"
    label = name[1] if name else platform.machine()
    return f"{label} (family {', model '.join(numbers)}; {widest})" if numbers else label
