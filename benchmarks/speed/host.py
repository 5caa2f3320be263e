"""The machine that measures."""

from __future__ import annotations

import functools
import platform
import re
import subprocess
from pathlib import Path

PEAK = Path(__file__).resolve().parents[2] / "build/release/benchmarks/host_peak"
VECTORS = {"amx_bf16": "AVX-512, AMX", "avx512f": "AVX-512", "avx2": "AVX2"}
"""By the flags of /proc/cpuinfo, the widest first."""


def processor() -> str:
    """The processor's name and the instruction set that products use, as far as the host says."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    fields = dict(re.findall(r"^(model name|cpu family|model)\s*: (.+)$", text, re.MULTILINE))
    if len(fields) < 3:
        return platform.machine()
    widest = next((name for flag, name in VECTORS.items() if flag in text), "no AVX2")
    numbers = f"family {fields['cpu family']}, model {fields['model']}"
    return f"{fields['model name']} ({numbers}; {widest})"


@functools.cache
def peak() -> float | None:
    """GFLOP/s of multiply-adds in fp32 registers on one thread; None unless `make build` ran."""
    if not PEAK.exists():
        return None
    printed = subprocess.run([str(PEAK)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return float(printed.split()[1])
