"""Tables of what the engines did."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuron_sim.nki.measurement.tables.columns import Columns, integers, optional_integers
from neuron_sim.nki.measurement.tables.flops import Flops, flops_of
from neuron_sim.nki.measurement.tables.run_profile import NONE, EventKind, RunProfile, covered

_BYTES = tuple(f"{memory}_{way}_bytes" for memory in ("hbm", "sbuf", "psum")
               for way in ("read", "write"))  # fmt: skip
_QUEUES = {"input": "input", "output": "output", "weight": "data"}


def instruction_spans(profile: RunProfile) -> tuple[np.ndarray, np.ndarray]:
    """When each instance starts and is complete on its engine, in picoseconds: without its waits,
    and without the transfer that it triggers."""
    columns = profile.columns
    kinds = columns["event_kind"]
    works = (kinds != EventKind.WAIT) & (kinds != EventKind.TRANSFER)
    instances = columns["event_instance"][works]
    starts = np.full(len(columns["instance_start"]), np.inf)
    ends = np.full(len(starts), -np.inf)
    np.minimum.at(starts, instances, columns["event_start"][works])
    np.maximum.at(ends, instances, columns["event_done"][works])
    idle = np.isinf(starts)  # nothing but a wait
    starts[idle] = ends[idle] = columns["instance_start"][idle]
    return starts, ends


def instruction_table(profile: RunProfile) -> Columns:
    """Instruction: one row per execution of an instruction."""
    columns, known = profile.columns, profile.instructions
    starts, ends = map(profile.nanoseconds, instruction_spans(profile))
    by_instance = profile.of_instructions
    engines = by_instance([each["engine"] for each in known])
    table: Columns = {
        "start_ts": starts,
        "end_ts": ends,
        "duration_ns": ends - starts,
        "engine": by_instance([each["engine"].lower() for each in known]),
        "timeline_track": engines,
        "pcore_idx": by_instance([each["core"] for each in known]),
        "opcode": by_instance([each["name"] for each in known]),
        "operands": by_instance([_operands(each) for each in known]),
        "id": np.arange(len(starts)),
        "pc": _number_within(by_instance([f"{each['core']} {each['engine']}" for each in known])),
        "evt_wait_time_ns": integers((columns["instance_start"] - columns["instance_ready"]) / 1e3),
        "nki_source_location": by_instance([each["source"] for each in known]),
    }
    return table | _triggers(profile, ends) | _counts(profile)


def _operands(instruction: dict[str, Any]) -> str:
    given = (each for each in instruction["operands"] if "text" in each)
    return " ".join(f"{each['name']}={each['text']}" for each in given)


def _number_within(groups: np.ndarray) -> np.ndarray:
    """The number of each item among those of its group."""
    _, group = np.unique(groups, return_inverse=True)
    order = np.argsort(group, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(group))])
    numbers = np.empty(len(groups), np.int64)
    numbers[order] = np.arange(len(groups)) - first[group[order]]
    return numbers


def _triggers(profile: RunProfile, ends: np.ndarray) -> Columns:
    """When the transfer of each DMA instruction starts and ends."""
    events = profile.transfers
    instances = profile.columns["event_instance"][events]
    first = profile.nanoseconds(profile.columns["event_start"][events])
    last = profile.nanoseconds(profile.columns["event_done"][events])
    table: Columns = {}
    for name, values in (
        ("dma_trigger_start_ts", first),
        ("dma_trigger_end_ts", last),
        ("dma_wait_time_ns", first - ends[instances]),
    ):
        table[name] = optional_integers(len(ends), instances, values)
    return table


def _counts(profile: RunProfile) -> Columns:
    """Bytes and operations."""
    counters = profile.header["instruction_counters"]
    by_instance = profile.of_instructions
    table: Columns = {name: by_instance([each[name] for each in counters]) for name in _BYTES}
    from_psum = [each["psum_to_sbuf_bytes"] for each in counters]
    table["psum_read_sbuf_write_bytes"] = by_instance(from_psum)
    for name, queue in _QUEUES.items():
        moved = [_dma_bytes(each) if each["queue_type"] == queue else 0 for each in counters]
        table[f"{name}_queue_bytes"] = by_instance(moved)
    table["tensor_instruction_type"] = by_instance([_tensor_type(each) for each in counters])
    flops = [flops_of(each, profile.header["generation"]) for each in counters]
    for index, name in enumerate(Flops._fields):
        table[name] = by_instance([each[index] for each in flops])
    return table


def _dma_bytes(counters: dict[str, Any]) -> int:
    kinds = ("static", "hardware_dynamic", "software_dynamic")
    return sum(counters[f"{kind}_dma_bytes"] for kind in kinds)


def _tensor_type(counters: dict[str, Any]) -> str | None:
    if counters["matmul_instructions"] == 0:
        return None
    return "TRANSPOSE" if counters["transpose_multiply_accumulates"] else "REGULAR"


def busy_spans(profile: RunProfile) -> dict[tuple[int, str], tuple[np.ndarray, np.ndarray]]:
    """When each engine (core, name) is busy, in picoseconds: spans that do not overlap, whose
    lengths sum to the busy time of the timeline."""
    columns, known = profile.columns, profile.instructions
    of_engine = np.array([(each["core"], each["engine"]) for each in known], object)
    spans = {}
    busy = (columns["event_busy"] > 0) & (columns["event_kind"] != EventKind.TRANSFER)
    for core in range(profile.header["cores"]):
        for engine in profile.header["timing"]["engine_instructions"]:
            ours = [tuple(each) == (core, engine) for each in of_engine]
            events = np.flatnonzero(busy & np.array(ours, bool)[profile.instruction_of_event])
            ends = columns["event_end"][events]
            starts = ends - columns["event_busy"][events]
            order = np.argsort(starts, kind="stable")
            spans[core, engine] = (starts[order], ends[order])
    return spans


def active_time_table(profile: RunProfile) -> Columns:
    """ActiveTime: when engines are busy; neighbouring spans are one row."""
    parts: list[Columns] = []
    for (core, engine), (starts, ends) in busy_spans(profile).items():
        first = np.concatenate([[True], starts[1:] > ends[:-1]]) if len(starts) else starts > 0
        begins = profile.nanoseconds(starts[first])
        last = np.concatenate([first[1:], [True]]) if len(starts) else first
        finishes = profile.nanoseconds(ends[last])
        parts.append({
            "start_ts": begins, "end_ts": finishes, "duration_ns": finishes - begins,
            "engine": np.full(len(begins), engine.lower()),
            "pcore_idx": np.full(len(begins), core),
        })  # fmt: skip
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def opcode_table(profile: RunProfile) -> Columns:
    """OpcodeSummary: instructions by engine and opcode."""
    known = profile.instructions
    labels = [f"{each['engine'].lower()} {each['name']}" for each in known]
    groups, group = np.unique(np.array(labels or [""]), return_inverse=True)
    of_instance = group[profile.columns["instance_instruction"]]
    starts, ends = instruction_spans(profile)
    rows: list[dict[str, Any]] = []
    for index, label in enumerate(groups):
        ours = of_instance == index
        if not ours.any():
            continue
        active = covered(starts[ours], ends[ours])
        rows.append({
            "engine": label.partition(" ")[0], "opcode": label.partition(" ")[2],
            "instruction_count": int(ours.sum()),
            "instruction_time_ns": round(float((ends - starts)[ours].sum()) / 1e3),
            "active_time_ns": round(active / 1e3),
            "active_time_percent": active * 1e-12 / profile.total,
        })  # fmt: skip
    names = ("engine", "opcode", "instruction_count", "instruction_time_ns", "active_time_ns",
             "active_time_percent")  # fmt: skip
    return {name: [row[name] for row in rows] for name in names}


def flow_table(profile: RunProfile) -> Columns:
    """Flow: who waited for whom, and which instruction triggered which transfer. The ids are those
    of Instruction and of DmaPacketAggregated ("dma_block")."""
    columns = profile.columns
    counts = np.diff(np.append(columns["instance_first_wait"], len(columns["wait_event"])))
    waiting = np.repeat(np.arange(len(counts)), counts)
    known = columns["wait_event"] != NONE
    events, waiting = columns["wait_event"][known], waiting[known]
    number = np.full(len(columns["event_kind"]), -1)
    number[profile.transfers] = np.arange(len(profile.transfers))
    is_dma = number[events] >= 0
    triggers = columns["event_instance"][profile.transfers]
    gaps = columns["instance_start"][waiting] - columns["wait_completion"][known]
    ends = instruction_spans(profile)[1][triggers]
    from_trigger = columns["event_start"][profile.transfers] - ends
    return {
        "in_id": np.concatenate([
            np.where(is_dma, number[events], columns["event_instance"][events]), triggers,
        ]),
        "out_id": np.concatenate([waiting, np.arange(len(triggers))]),
        "in_table": np.concatenate([
            np.where(is_dma, "dma_block", "instruction"), np.full(len(triggers), "instruction"),
        ]),
        "out_table": np.concatenate([
            np.full(len(waiting), "instruction"), np.full(len(triggers), "dma_block"),
        ]),
        "gap_time": integers(np.concatenate([gaps, from_trigger]) / 1e3),
    }  # fmt: skip


def semaphore_table(profile: RunProfile) -> Columns:
    """SemaphoreUpdate: the model has one semaphore per engine and per DMA queue, which counts its
    completions."""
    known, columns = profile.instructions, profile.columns
    _, ends = instruction_spans(profile)
    engine = profile.of_instructions([f"{each['core']} {each['engine']}" for each in known])
    tracks = [f"{each['core']} {each.get('queue', '')}" for each in profile.tracks]
    queue = np.array(tracks or [""])[columns["event_track"][profile.transfers]]
    names = np.concatenate([engine, queue])
    times = np.concatenate([ends, columns["event_done"][profile.transfers]])
    order = np.argsort(times, kind="stable")
    names = names[order]
    parts = [name.partition(" ") for name in names]
    return {
        "timestamp": profile.nanoseconds(times[order]),
        "id": [name for _, _, name in parts],
        "value": _number_within(names) + 1,
        "update_source": ["AXI" if name.startswith("q") else name for _, _, name in parts],
        "update_operation_type": ["sem_inc"] * len(parts),
        "update_trigger_timing": ["complete"] * len(parts),
        "pcore_idx": [int(core) for core, _, _ in parts],
    }
