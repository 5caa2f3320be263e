"""Energy and area of kernels' chips, from figures that others published of theirs (energy.toml)."""

from __future__ import annotations

import functools
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from neuron_sim import _core


@functools.cache
def _published() -> dict[str, float]:
    text = (resources.files(__package__) / "energy.toml").read_text(encoding="utf-8")
    return {name: figure["value"] for name, figure in tomllib.loads(text).items()}


def energy_figures(kernels: Sequence[Any], architecture: str) -> dict[str, float]:
    """Columns of traced kernels: energy in uJ of products, of the bytes of SBUF and PSUM, of those
    of HBM and of all three; and the area of these memories and of the Tensor engine's multipliers,
    relative to the built-in core of the same version as `architecture`."""
    counted: Counter[str] = Counter()
    for kernel in kernels:
        counted.update(kernel.program.counters(log=kernel.log))
    energy = _published()
    wide = counted["fp32_multiply_accumulates"]
    products = (counted["multiply_accumulates"] - wide) * energy["product_16bit"]
    products += wide * energy["product_32bit"]
    sram = _moved(counted, "sbuf", "psum") * energy["sram_byte"]
    hbm = _moved(counted, "hbm") * energy["hbm_byte"]
    area = _area(kernels[0].program.facts) / _area(_core.architecture_facts(_stock(architecture)))
    return {
        "assumed_products_uj": products / 1e6,
        "assumed_sram_uj": sram / 1e6,
        "assumed_hbm_uj": hbm / 1e6,
        "assumed_energy_uj": (products + sram + hbm) / 1e6,
        "assumed_relative_area": area,
    }


def _stock(architecture: str) -> str:
    """The built-in architecture of the same core; the architecture itself where there is none."""
    version = _version(architecture)
    same = (name for name in _core.architectures() if _version(name) == version)
    return next(same, architecture)


def _version(architecture: str) -> int:
    return int(_core.compile_time_queries(architecture)["get_nc_version"])


def _moved(counted: Mapping[str, int], *memories: str) -> int:
    return sum(counted[f"{memory}_{way}_bytes"] for memory in memories for way in ("read", "write"))


def _area(facts: Mapping[str, Mapping[str, Any]]) -> float:
    """Of a core: SBUF, PSUM and multipliers, in percent of TPUv4i's die."""
    partitions, columns, sbuf, banks, bank = (
        facts[f"limits.{name}"]["value"]
        for name in ("partitions", "stationary_free", "sbuf_partition", "psum_banks", "psum_bank")
    )
    mebibytes = partitions * (sbuf + banks * bank) / 2**20
    area = _published()
    return mebibytes * area["sram_mebibyte_area"] + partitions * columns * area["multiplier_area"]
