"""The metrics of a run under the names of the vendor's profiler.

Names, units and formulas: the profile schema reference of the vendor's profiler; times are in
seconds. `_percent` fields are shares from 0 to 1; those of the active times of kinds of DMA are of
the DMA's active time, all others of total_time, as in the profiles of real runs. LEFT_OUT says
which metrics of the schema are not here. Not in the schema: instance_type, nc_idx and nd_idx (of
the older profiler), and ours: `bottleneck`, and `total_time_low` and `total_time_high`, between
which the share `total_time_interval_percent` of measured kernels lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from neuron_sim.nki.measurement.tables.flops import flops_of
from neuron_sim.nki.measurement.tables.instructions import busy_spans, instruction_spans
from neuron_sim.nki.measurement.tables.run_profile import EventKind, RunProfile, covered
from neuron_sim.timeline.peaks import Facts, hbm_bandwidth, peak_operations

_ENGINES = ("Tensor", "Vector", "Scalar", "GpSimd", "Sync")
_STATIC = ("instruction", "input", "output", "data")
_DMA_KINDS = {
    "static_dma": _STATIC,
    "hardware_dynamic_dma": ("hardware_dynamic",),
    "software_dynamic_dma": ("software_dynamic",),
}
"""Types of queues by kind of DMA."""
_QUEUES = {"input": "input", "output": "output", "weight": "data"}

LEFT_OUT = {
    "model_flops": "counts the products of the framework's graph; a kernel has none",
    "mfu_hlo_estimated_percent": "the same; 0 on the chip for NKI kernels",
    "mfu_hlo_max_achievable_estimated_percent": "the same",
    "trace_count": "counts entries of the vendor's trace file",
    "event_count": "counts entries of the vendor's trace file",
    "total_row_count": "counts rows of the vendor's database",
    "weight_size_bytes": "arguments of a kernel are not told apart",
    "cc_cores_instruction_time": "the model has no instructions of the collectives' cores",
    "cc_cores_instruction_active_time": "the same",
    "cc_cores_instruction_active_time_percent": "the same",
    "cc_cores_instruction_count": "the same",
}
"""Why the model has no value, by metric of the vendor's schema."""


def summary_of(profile: RunProfile) -> dict[str, Any]:
    """Metrics of a run, sorted by name."""
    header, total = profile.header, profile.total
    facts: Facts = {name: {"value": value} for name, value in header["facts"].items()}
    limits = header["interval"]
    summary = {
        "total_time": total,
        "total_time_low": limits["low"] * total,
        "total_time_high": limits["high"] * total,
        "total_time_interval_percent": limits["share"],
        "instance_type": header["instance_type"],
        "neuroncore_cycle_count": _cycles(profile, total),
        "nc_idx": 0,
        "nd_idx": 0,
        "bottleneck": header["timing"]["bottleneck"],
        **_engines(profile),
        **_activity(profile),
        **_dma(profile),
        **_packets(profile),
        **_memories(profile),
        **_flops(profile, facts),
    }
    return {name: summary[name] for name in sorted(summary)}


def _cycles(profile: RunProfile, seconds: float) -> int:
    """The profiler counts cycles of the clock that the model gives Sync."""
    return round(seconds * profile.header["facts"]["clocks.sync"] * 1e9)


def _engines(profile: RunProfile) -> dict[str, Any]:
    """Times and counts by engine; of two cores, active times are the mean."""
    timing, total = profile.header["timing"], profile.total
    starts, ends = instruction_spans(profile)
    by_engine = profile.of_instructions([each["engine"] for each in profile.instructions])
    names = profile.of_instructions([each["name"] for each in profile.instructions])
    spent = (ends - starts) * 1e-12
    result: dict[str, Any] = {}
    for engine in _ENGINES:
        active = timing["utilisation"][engine] * timing["body_us"] * 1e-6
        prefix = f"{engine.lower()}_engine"
        result[f"{prefix}_active_time"] = active
        result[f"{prefix}_active_time_percent"] = active / total
        result[f"{prefix}_instruction_count"] = timing["engine_instructions"][engine]
        result[f"{prefix}_instruction_time"] = float(spent[by_engine == engine].sum())
    activates = np.char.startswith(names.astype(str), "activation")
    result["activate_instruction_count"] = int(activates.sum())
    result["activate_instruction_time"] = float(spent[activates].sum())
    return result


def _activity(profile: RunProfile) -> dict[str, Any]:
    """When anything works at all, and the collectives."""
    columns, total = profile.columns, profile.total
    spans = list(busy_spans(profile).values())
    transfers = columns["event_kind"] == EventKind.TRANSFER
    spans.append((columns["event_start"][transfers], columns["event_done"][transfers]))
    starts, ends = (np.concatenate([span[side] for span in spans]) for side in (0, 1))
    active = covered(starts, ends) * 1e-12
    is_collective = np.array([each["kind"] == "collectives" for each in profile.tracks], bool)
    events = transfers & is_collective[columns["event_track"]]
    starts, ends = columns["event_start"][events], columns["event_done"][events]
    collective = covered(starts, ends) * 1e-12
    return {
        "total_exec_time": profile.header["body"] * 1e-12,
        "total_active_time": active,
        "total_active_time_percent": active / total,
        "cc_op_count": int(events.sum()),
        "cc_op_time": float((ends - starts).sum()) * 1e-12,
        "cc_op_active_time": collective,
        "cc_op_active_time_percent": collective / total,
    }


def _dma(profile: RunProfile) -> dict[str, Any]:
    """Times of transfers, together and by who makes their descriptors."""
    columns, events, total = profile.columns, profile.transfers, profile.total
    timing, rings = profile.header["timing"], [t for t in profile.tracks if t["kind"] == "ring"]
    starts, ends = columns["event_start"][events], columns["event_done"][events]
    active = covered(starts, ends) * 1e-12
    transfers, moved = timing["dma_transfers"], timing["dma_bytes"]
    packets = columns["share_end"] - columns["share_start"]
    result: dict[str, Any] = {
        "dma_transfer_count": transfers,
        "dma_transfer_total_bytes": moved,
        "dma_transfer_average_bytes": moved / transfers if transfers else 0,
        "dma_transfer_time": float((ends - starts).sum()) * 1e-12,
        "dma_packet_time": float(packets.sum()) * 1e-12,
        "dma_queue_count": len(rings),
        "dma_active_time": active,
        "dma_active_time_percent": active / total,
        "dma_active_cycles": _cycles(profile, active),
    }
    types = np.array(
        [each["queue_type"] for each in profile.header["instruction_counters"]] or [""]
    )
    of_event = types[profile.instruction_of_event[events]]
    shares = {}
    for kind, queues in _DMA_KINDS.items():
        ours = np.isin(of_event, queues)
        spent = covered(starts[ours], ends[ours]) * 1e-12
        shares[kind] = spent / active if active else 0
        result[f"{kind}_active_time"] = spent
        result[f"{kind}_active_time_percent"] = shares[kind]
    dynamic = shares["hardware_dynamic_dma"] + shares["software_dynamic_dma"]
    result["dynamic_dma_active_time_percent"] = dynamic
    moved_by_event = columns["event_bytes"][events]
    for name, queue in _QUEUES.items():
        result[f"{name}_queue_bytes"] = int(moved_by_event[of_event == queue].sum())
    return result


def _packets(profile: RunProfile) -> dict[str, Any]:
    """Packets and their bytes by who makes their descriptors."""
    totals = profile.header["totals"]
    packets = sum(totals[f"{kind}_packets"] for kind in _DMA_KINDS)
    size = sum(totals[f"{kind}_bytes"] for kind in _DMA_KINDS)
    result: dict[str, Any] = {}
    for kind in _DMA_KINDS:
        result[f"{kind}_packet_count"] = totals[f"{kind}_packets"]
        result[f"{kind}_size"] = totals[f"{kind}_bytes"]
        result[f"{kind}_packet_percent"] = totals[f"{kind}_packets"] / packets if packets else 0
        result[f"{kind}_size_percent"] = totals[f"{kind}_bytes"] / size if size else 0
    for what in ("packet", "size"):
        parts = (result[f"{kind}_dma_{what}_percent"]
                 for kind in ("hardware_dynamic", "software_dynamic"))  # fmt: skip
        result[f"dynamic_dma_{what}_percent"] = sum(parts)
    return result


def _memories(profile: RunProfile) -> dict[str, int]:
    totals, arguments = profile.header["totals"], profile.header["arguments"]
    result = {
        f"{memory}_{direction}_bytes": totals[f"{memory}_{direction}_bytes"]
        for memory in ("hbm", "sbuf", "psum")
        for direction in ("read", "write")
    }
    result["psum_read_sbuf_write_count"] = totals["psum_to_sbuf_instructions"]
    result["psum_read_sbuf_write_bytes"] = totals["psum_to_sbuf_bytes"]
    for direction in ("save", "reload"):
        result[f"spill_{direction}_bytes"] = profile.header["spills"][f"{direction}_bytes"]
    result["inputs_and_weights_size_bytes"] = sum(
        argument["bytes"] for argument in arguments if argument["read"]
    )
    result["inputs_outputs_weights_size_bytes"] = sum(argument["bytes"] for argument in arguments)
    return result


def _flops(profile: RunProfile, facts: Facts) -> dict[str, Any]:
    header, total = profile.header, profile.total
    totals = header["totals"]
    useful = 2 * totals["multiply_accumulates"]
    transposes = 2 * totals["transpose_multiply_accumulates"]
    peak, bandwidth = peak_operations(facts), hbm_bandwidth(facts)
    moved = totals["hbm_read_bytes"] + totals["hbm_write_bytes"]
    intensity = useful / moved if moved else 0
    achievable = min(1, intensity / (peak / bandwidth))
    loaded = sum(argument["bytes"] for argument in header["arguments"] if argument["read"])
    flops = [flops_of(each, header["generation"]) for each in header["instruction_counters"]]
    runs = np.bincount(profile.columns["instance_instruction"], minlength=len(flops))
    return {
        "matmul_instruction_count": totals["matmul_instructions"],
        "hardware_flops": useful + transposes,
        "transpose_flops": transposes,
        "adjusted_hardware_flops": _total([each.adjusted_flops for each in flops], runs),
        "adjusted_transpose_flops": _total([each.adjusted_flops_transpose for each in flops], runs),
        "mm_arithmetic_intensity": intensity,
        "peak_flops_bandwidth_ratio": peak / bandwidth,
        "hfu_estimated_percent": (useful + transposes) / total / peak,
        "mfu_estimated_percent": useful / total / peak,
        "mfu_inst_estimated_percent": useful / total / peak,
        "mfu_max_achievable_estimated_percent": achievable,
        "mfu_inst_max_achievable_estimated_percent": achievable,
        "mbu_estimated_percent": moved / total / bandwidth,
        "mbu_min_read_util_percent": loaded / total / bandwidth,
    }


def _total(values: list[int], runs: np.ndarray) -> int:
    return sum(value * int(count) for value, count in zip(values, runs, strict=True))
