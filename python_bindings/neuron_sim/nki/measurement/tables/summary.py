"""The metrics of a run under the names of the vendor's profiler.

Names, units and formulas: the profile schema reference of the vendor's profiler; times are in
seconds, and `_percent` fields are shares from 0 to 1. Metrics that the model does not have
(collectives, throttling, the framework's graph) are left out rather than set to 0. Those that the
profiler lacks: `bottleneck`, and `total_time_low` and `total_time_high`, between which the share
`total_time_interval_percent` of measured kernels lies.
"""

from __future__ import annotations

from typing import Any

from neuron_sim.timeline.peaks import hbm_bandwidth, peak_operations

from ..tracing.generations import GENERATIONS
from .interval import COVERAGE, interval, kind_of

_ENGINES = ("tensor", "vector", "scalar", "gpsimd", "sync")
_ENGINE_KEYS = {
    "tensor": "Tensor",
    "vector": "Vector",
    "scalar": "Scalar",
    "gpsimd": "GpSimd",
    "sync": "Sync",
}
_DMA_KINDS = ("static_dma", "hardware_dynamic_dma", "software_dynamic_dma")


def profile_summary(kernel: Any) -> dict[str, Any]:
    """Metrics of one run of a traced kernel, sorted by name."""
    program = kernel.program
    timing = kernel.time()
    counters = program.counters(log=getattr(kernel, "log", []))
    total = timing["profile_us"] * 1e-6
    generation = GENERATIONS.get(program.generation)
    error = interval(kind_of([timing]))
    summary = {
        "total_time": total,
        "total_time_low": error.low * total,
        "total_time_high": error.high * total,
        "total_time_interval_percent": COVERAGE,
        "instance_type": generation.instance if generation else program.architecture,
        # The profiler counts cycles of the clock that the model gives Sync.
        "neuroncore_cycle_count": round(total * program.facts["clocks.sync"]["value"] * 1e9),
        "nc_idx": 0,
        "nd_idx": 0,
        **_engines(timing, total),
        **_dma(timing, counters, total),
        **_memories(program, counters),
        **_flops(counters, program.facts, total),
    }
    return {name: summary[name] for name in sorted(summary)}


def _engines(timing: dict[str, Any], total: float) -> dict[str, Any]:
    body = timing["body_us"] * 1e-6
    result: dict[str, Any] = {}
    for engine in _ENGINES:
        active = timing["utilisation"][_ENGINE_KEYS[engine]] * body
        count = timing["engine_instructions"][_ENGINE_KEYS[engine]]
        result[f"{engine}_engine_active_time"] = active
        result[f"{engine}_engine_active_time_percent"] = active / total
        result[f"{engine}_engine_instruction_count"] = count
    result["bottleneck"] = timing["bottleneck"]
    return result


def _dma(timing: dict[str, Any], counters: dict[str, int], total: float) -> dict[str, Any]:
    transfers, moved = timing["dma_transfers"], timing["dma_bytes"]
    result: dict[str, Any] = {
        "dma_transfer_count": transfers,
        "dma_transfer_total_bytes": moved,
        "dma_transfer_average_bytes": moved / transfers if transfers else 0,
    }
    if "dma_active_us" in timing:
        active = timing["dma_active_us"] * 1e-6
        result["dma_active_time"] = active
        result["dma_active_time_percent"] = active / total
    packets = sum(counters[f"{kind}_packets"] for kind in _DMA_KINDS)
    size = sum(counters[f"{kind}_bytes"] for kind in _DMA_KINDS)
    for kind in _DMA_KINDS:
        result[f"{kind}_packet_count"] = counters[f"{kind}_packets"]
        result[f"{kind}_size"] = counters[f"{kind}_bytes"]
        result[f"{kind}_packet_percent"] = counters[f"{kind}_packets"] / packets if packets else 0
        result[f"{kind}_size_percent"] = counters[f"{kind}_bytes"] / size if size else 0
    return result


def _memories(program: Any, counters: dict[str, int]) -> dict[str, int]:
    result = {
        f"{memory}_{direction}_bytes": counters[f"{memory}_{direction}_bytes"]
        for memory in ("hbm", "sbuf", "psum")
        for direction in ("read", "write")
    }
    result["psum_read_sbuf_write_count"] = counters["psum_to_sbuf_instructions"]
    result["psum_read_sbuf_write_bytes"] = counters["psum_to_sbuf_bytes"]
    for direction in ("save", "reload"):
        result[f"spill_{direction}_bytes"] = program.spills[f"{direction}_bytes"]
    arguments = program.arguments
    result["inputs_and_weights_size_bytes"] = sum(
        argument["bytes"] for argument in arguments if argument["read"]
    )
    result["inputs_outputs_weights_size_bytes"] = sum(argument["bytes"] for argument in arguments)
    return result


def _flops(counters: dict[str, int], facts: dict[str, Any], total: float) -> dict[str, Any]:
    useful = 2 * counters["multiply_accumulates"]
    transposes = 2 * counters["transpose_multiply_accumulates"]
    peak = peak_operations(facts)
    bandwidth = hbm_bandwidth(facts)
    moved = counters["hbm_read_bytes"] + counters["hbm_write_bytes"]
    intensity = useful / moved if moved else 0
    achievable = min(1, intensity / (peak / bandwidth))
    return {
        "matmul_instruction_count": counters["matmul_instructions"],
        "hardware_flops": useful + transposes,
        "transpose_flops": transposes,
        "mm_arithmetic_intensity": intensity,
        "peak_flops_bandwidth_ratio": peak / bandwidth,
        "hfu_estimated_percent": (useful + transposes) / total / peak,
        "mfu_estimated_percent": useful / total / peak,
        "mfu_inst_estimated_percent": useful / total / peak,
        "mfu_max_achievable_estimated_percent": achievable,
        "mfu_inst_max_achievable_estimated_percent": achievable,
        "mbu_estimated_percent": moved / total / bandwidth,
    }
