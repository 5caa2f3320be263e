"""Tables of what the DMA engines did."""

from __future__ import annotations

from typing import Any

import numpy as np

from neuron_sim.nki.measurement.tables.columns import Columns, integers
from neuron_sim.nki.measurement.tables.instructions import instruction_spans
from neuron_sim.nki.measurement.tables.run_profile import RunProfile
from neuron_sim.nki.measurement.tables.step_function import StepFunction, step_function

_MEMORIES = {"sbuf": "SB", "psum": "PSUM", "hbm": "HBM"}
_SIDE_COLUMNS = ("op", "source", "dest", "read_shape", "read_num_sbuf_partitions", "write_shape",
                 "write_num_sbuf_partitions")  # fmt: skip


def queues(profile: RunProfile) -> list[tuple[int, str]]:
    """The DMA queues of a run, (core, name); its place here is a queue's index."""
    tracks = profile.tracks
    return sorted({(each["core"], each["queue"]) for each in tracks if "queue" in each})


def _queue_of_event(profile: RunProfile, events: np.ndarray) -> np.ndarray:
    """Index into `queues` by transfer."""
    index = {queue: i for i, queue in enumerate(queues(profile))}
    of_track = [index.get((each["core"], each.get("queue", "")), -1) for each in profile.tracks]
    return np.array(of_track, np.int64)[profile.columns["event_track"][events]]


class Transfers:
    """What is alike in the tables of transfers and of their packets, by transfer."""

    def __init__(self, profile: RunProfile) -> None:
        events = profile.transfers
        kind = profile.instruction_of_event[events]
        counters = profile.header["instruction_counters"]
        self.profile, self.events, self.kind = profile, events, kind
        self.bytes = profile.columns["event_bytes"][events].astype(np.int64)
        self.read = self._moved([_on_both_sides(each, "read") for each in counters])
        self.written = self._moved([_on_both_sides(each, "write") for each in counters])
        self.hbm = self._moved([_of_hbm(each) for each in counters])
        queue = _queue_of_event(profile, events)
        names = [name for _, name in queues(profile)]
        self.queue = queue
        self.queue_name = np.array(names or [""])[queue]
        self.queue_type = np.array([each["queue_type"] for each in counters] or [""])[kind]
        self.core = np.array([core for core, _ in queues(profile)] or [0])[queue]
        known = profile.instructions
        self.variable = np.array([_variable(each) for each in known] or [""])[kind]

    def _moved(self, by_instruction: list[int]) -> np.ndarray:
        """Bytes by transfer: those of its instruction, scaled to what this transfer moved (one
        with an index from memory may move less)."""
        whole = np.array(by_instruction or [0], np.float64)[self.kind]
        largest = np.array(
            [_largest(each) for each in self.profile.header["instruction_counters"]] or [0]
        )[self.kind]
        return integers(whole * self.bytes / np.maximum(largest, 1))


def _on_both_sides(counters: dict[str, Any], way: str) -> int:
    return sum(counters[f"{memory}_{way}_bytes"] for memory in _MEMORIES)


def _of_hbm(counters: dict[str, Any]) -> int:
    return int(counters["hbm_read_bytes"] + counters["hbm_write_bytes"])


def _largest(counters: dict[str, Any]) -> int:
    """Bytes of the transfer itself."""
    kinds = ("static", "hardware_dynamic", "software_dynamic")
    return sum(counters[f"{kind}_dma_bytes"] for kind in kinds)


def _sides(instruction: dict[str, Any]) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """What a transfer reads and what it writes."""
    given = [each for each in instruction["operands"] if "text" in each]
    read = next((each for each in given if each["reads"] and not each["writes"]), None)
    return read, next((each for each in given if each["writes"]), None)


def _parts(operand: dict[str, Any] | None) -> tuple[str, str, str]:
    """Name, shape and memory in the text of an operand: "tile [128, 512] float32 sbuf"."""
    if operand is None:
        return "", "", ""
    name, _, rest = operand["text"].rpartition(" [")
    shape, _, kind = rest.partition("] ")
    return name, f"[{shape}]", kind.partition(" ")[2]


def _variable(instruction: dict[str, Any]) -> str:
    """The tensor in HBM, else what is read."""
    sides = [_parts(side) for side in _sides(instruction)]
    return next((name for name, _, memory in sides if memory == "hbm"), sides[0][0])


def _place(operand: dict[str, Any] | None, arguments: dict[str, str]) -> str:
    name, _, memory = _parts(operand)
    if memory == "hbm" and name in arguments:
        return f"[{arguments[name]}]"
    return f"[{_MEMORIES.get(memory, memory.upper())}]"


def transfer_table(profile: RunProfile) -> Columns:
    """DmaPacketAggregated: one row per transfer of a DMA queue."""
    transfers = Transfers(profile)
    columns, known = profile.columns, profile.instructions
    starts = columns["event_start"][transfers.events]
    ends = columns["event_done"][transfers.events]
    triggers = columns["event_instance"][transfers.events]
    first, last = (profile.nanoseconds(each)[triggers] for each in instruction_spans(profile))

    def by_kind(values: list[Any]) -> np.ndarray:
        return np.array(values, object)[transfers.kind]

    table: Columns = {
        "start_ts": profile.nanoseconds(starts), "end_ts": profile.nanoseconds(ends),
        "duration_ns": profile.nanoseconds(ends) - profile.nanoseconds(starts),
        "id": np.arange(len(starts)), "block_id": np.arange(len(starts)),
        "pcore_idx": transfers.core,
        "queue_idx": transfers.queue, "queue_name": transfers.queue_name,
        "queue_type": transfers.queue_type, "variable": transfers.variable,
        "read_bytes": transfers.read, "write_bytes": transfers.written,
        "transfer_bytes": transfers.bytes,
        "throughput": _rate(transfers.bytes, ends - starts),
        "semaphore_id": transfers.queue_name,
        "trigger": first, "completion": last,
        "is_transpose_mode": by_kind([bool(each["transpose"]) for each in known]),
    }  # fmt: skip
    return table | {name: by_kind(values) for name, values in _side_columns(profile).items()}


def _side_columns(profile: RunProfile) -> dict[str, list[Any]]:
    """By instruction, what its transfer reads and writes."""
    arguments = {each["label"]: "INPUT" if each["read"] else "OUTPUT"
                 for each in profile.header["arguments"]}  # fmt: skip
    result: dict[str, list[Any]] = {name: [] for name in _SIDE_COLUMNS}
    for instruction in profile.instructions:
        read, written = _sides(instruction)
        values = {"op": "write" if _parts(written)[2] == "hbm" else "read"}
        values |= {"source": _place(read, arguments), "dest": _place(written, arguments)}
        for way, side in (("read", read), ("write", written)):
            _, shape, memory = _parts(side)
            values[f"{way}_shape"] = shape
            partitions = int(shape[1:-1].partition(",")[0]) if memory == "sbuf" else 0
            values[f"{way}_num_sbuf_partitions"] = partitions  # type: ignore[assignment]
        for name, value in values.items():
            result[name].append(value)
    return result


def _rate(moved: np.ndarray, time: np.ndarray) -> np.ndarray:
    """Bytes per second of bytes in picoseconds."""
    return moved / np.maximum(time, 1) * 1e12


def packet_table(profile: RunProfile) -> Columns:
    """DmaPacket: one row per DMA engine's part of a transfer. The model times the packets of one
    engine together."""
    columns, transfers = profile.columns, Transfers(profile)
    number = np.full(len(columns["event_kind"]), 0)
    number[transfers.events] = np.arange(len(transfers.events))
    of = number[columns["share_event"]]
    starts, ends = columns["share_start"], columns["share_end"]
    moved = columns["share_bytes"].astype(np.int64)
    engines = [each.get("dma_engine", 0) for each in profile.tracks]
    part = moved / np.maximum(transfers.bytes, 1)[of] if len(of) else np.zeros(0)
    first = np.searchsorted(of, np.arange(len(transfers.events)))
    return {
        "start_ts": profile.nanoseconds(starts), "end_ts": profile.nanoseconds(ends),
        "duration_ns": profile.nanoseconds(ends) - profile.nanoseconds(starts),
        "pcore_idx": transfers.core[of], "id": np.arange(len(of)),
        "packet_idx": np.arange(len(of)) - first[of] if len(of) else of,
        "packet_aggregation_id": of,
        "engine_idx": np.array(engines or [0])[columns["share_track"]],
        "read_bytes": integers(transfers.read[of] * part),
        "write_bytes": integers(transfers.written[of] * part),
        "transfer_bytes": moved, "throughput": _rate(moved, ends - starts),
        "queue_type": transfers.queue_type[of], "variable": transfers.variable[of],
        "queue_name": transfers.queue_name[of], "queue_idx": transfers.queue[of],
    }  # fmt: skip


def queue_table(profile: RunProfile) -> Columns:
    """DmaQueuesInfo: a ring per queue and DMA engine."""
    index = {queue: i for i, queue in enumerate(queues(profile))}
    transfers = Transfers(profile)
    rings = [each for each in profile.tracks if each["kind"] == "ring"]
    keys = [index[ring["core"], ring["queue"]] for ring in rings]
    types = dict(zip(transfers.queue[::-1], transfers.queue_type[::-1], strict=True))
    return {
        "name": [ring["queue"] for ring in rings],
        "type": [types[key] for key in keys],
        "pcore_idx": [ring["core"] for ring in rings],
        "idx": keys,
        "engine_idx": [ring["dma_engine"] for ring in rings],
    }


def usage_table(profile: RunProfile) -> Columns:
    """DmaUsage: throughput over time, and bytes since the start."""
    return _usage(profile, profile.columns["share_bytes"])


def hbm_usage_table(profile: RunProfile) -> Columns:
    """HbmUsage: the same of bytes that are read from or written to HBM."""
    transfers = Transfers(profile)
    by_event = np.zeros(len(profile.columns["event_kind"]))
    by_event[transfers.events] = transfers.hbm / np.maximum(transfers.bytes, 1)
    moved = profile.columns["share_bytes"] * by_event[profile.columns["share_event"]]
    return _usage(profile, moved)


def _usage(profile: RunProfile, moved: np.ndarray) -> Columns:
    columns = profile.columns
    cores = np.array([each["core"] for each in profile.tracks] or [0])[columns["share_track"]]
    parts: list[Columns] = []
    for core in range(profile.header["cores"]):
        ours = cores == core
        starts, ends = columns["share_start"][ours], columns["share_end"][ours]
        rate = moved[ours] / np.maximum(ends - starts, 1)
        parts.append(_usage_of(profile, step_function(starts, ends, rate), core))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _usage_of(profile: RunProfile, rate: StepFunction, core: int) -> Columns:
    lengths = np.diff(rate.times, append=rate.times[-1:])
    since = np.cumsum(rate.values * lengths) - rate.values * lengths
    return {
        "timestamp": profile.nanoseconds(rate.times),
        "current_throughput": rate.values * 1e12,
        "total_transfer_bytes": integers(since),
        "pcore_idx": np.full(len(since), core),
    }


def pending_table(profile: RunProfile) -> Columns:
    """PendingDma: transfers that are triggered and not complete."""
    parts: list[Columns] = []
    for index, counter in enumerate(profile.header["counters"]):
        if counter["name"] == "pending DMA":
            times = profile.columns[f"counter_time_{index}"]
            parts.append({
                "timestamp": profile.nanoseconds(times),
                "value": integers(profile.columns[f"counter_value_{index}"]),
                "pcore_idx": np.full(len(times), counter["core"]),
            })  # fmt: skip
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
