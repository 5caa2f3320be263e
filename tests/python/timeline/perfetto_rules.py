"""Rules of a Perfetto file, checked on its packets alone, with Perfetto's own message classes.

A trace processor imports a file that breaks them too, but drops or moves slices, arrows or samples.
It sorts packets by time and keeps the order of the file among equal times.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from operator import attrgetter
from typing import NamedTuple

import pytest

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
EVENT = trace_pb2.TrackEvent
BEGIN, END, SAMPLE = EVENT.TYPE_SLICE_BEGIN, EVENT.TYPE_SLICE_END, EVENT.TYPE_COUNTER
CLEARED = trace_pb2.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
NEEDED = trace_pb2.TracePacket.SEQ_NEEDS_INCREMENTAL_STATE


class Event(NamedTuple):
    """A TrackEvent; of the beginning of a slice its exact times, in picoseconds since the body."""

    time: int
    track: int
    kind: int
    start: int | None
    duration: int | None
    flows: tuple[int, ...]
    ending_flows: tuple[int, ...]


def violations(content: bytes) -> list[str]:
    """A sentence for each rule that the file breaks, and where; empty for a good file."""
    trace = trace_pb2.Trace()
    trace.ParseFromString(content)
    packets = list(trace.packet)
    texts, broken = _texts(packets)
    events = _events(packets, texts)
    in_time = sorted(events, key=attrgetter("time"))
    return [
        *broken, *_fields(trace), *_sequence(packets), *_tracks(packets), *_samples(packets),
        *_order(events), *_slices(in_time), *_flows(in_time),
    ]  # fmt: skip


def _fields(trace) -> Iterator[str]:
    known = trace_pb2.Trace()
    known.CopyFrom(trace)
    known.DiscardUnknownFields()
    if known.ByteSize() != trace.ByteSize():
        yield "a field has a number that Perfetto does not know"


def _sequence(packets) -> Iterator[str]:
    """All packets are of one sequence, whose state begins with the first one."""
    for number, packet in enumerate(packets):
        if packet.trusted_packet_sequence_id != packets[0].trusted_packet_sequence_id:
            yield f"packet {number} is of another sequence"
        if packet.sequence_flags != (NEEDED if number else CLEARED):
            yield f"packet {number} has flags {packet.sequence_flags}"


def _texts(packets) -> tuple[dict[str, dict[int, str]], list[str]]:
    """The texts of the first packet, which all others may name; each has a number of its own."""
    broken = []
    kinds = ("event_names", "debug_annotation_names", "debug_annotation_string_values")
    texts: dict[str, dict[int, str]] = {kind: {} for kind in kinds}
    for kind in kinds:
        for each in getattr(packets[0].interned_data, kind):
            if each.iid == 0 or each.iid in texts[kind]:
                broken.append(f"{kind} has {each.iid} twice, or 0")
            texts[kind][each.iid] = each.str if kind.endswith("values") else each.name
    names, arguments, values = texts.values()
    for packet in packets:
        event = packet.track_event
        if event.type == BEGIN and not names.get(event.name_iid):
            broken.append(f"a slice at {packet.timestamp} has no name")
        for each in event.debug_annotations:
            if not arguments.get(each.name_iid):
                broken.append(f"an argument at {packet.timestamp} has no name")
            if each.string_value_iid and not values.get(each.string_value_iid):
                broken.append(f"an argument at {packet.timestamp} has no text")
    return texts, broken


def _events(packets, texts) -> list[Event]:
    names = texts["debug_annotation_names"]
    numbers = {name: number for number, name in names.items()}
    start, duration = numbers.get("start_ps"), numbers.get("duration_ps")
    events = []
    for packet in packets:
        if packet.HasField("track_event"):
            event = packet.track_event
            exact = {each.name_iid: each.int_value for each in event.debug_annotations}
            events.append(Event(
                packet.timestamp, event.track_uuid, event.type, exact.get(start),
                exact.get(duration), tuple(event.flow_ids), tuple(event.terminating_flow_ids),
            ))  # fmt: skip
    return events


def _tracks(packets) -> Iterator[str]:
    """Each track is described once, before its parts and events, and belongs to a named process."""
    described: dict[int, bool] = {}  # whether it has samples
    identifiers = set()
    for packet in packets:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            name = track.name
            if track.uuid == 0 or track.uuid in described:
                yield f"track {track.uuid} is described twice, or is 0"
            if track.HasField("process"):
                name = track.process.process_name
                if track.process.pid in identifiers:
                    yield f"process {track.process.pid} is described twice"
                identifiers.add(track.process.pid)
            elif track.parent_uuid not in described:
                yield f"track {track.uuid} is of no process that is described before it"
            if not name:
                yield f"track {track.uuid} has no name"
            described[track.uuid] = track.HasField("counter")
        elif packet.HasField("track_event"):
            track = packet.track_event.track_uuid
            if track not in described:
                yield f"track {track} has an event before it is described"
            elif (packet.track_event.type == SAMPLE) != described[track]:
                yield f"track {track} has an event that is not of its kind"


def _samples(packets) -> Iterator[str]:
    """Samples are quantities."""
    for packet in packets:
        event = packet.track_event
        if event.type != SAMPLE:
            continue
        value = event.double_counter_value
        if not event.HasField("double_counter_value") or not math.isfinite(value) or value < 0:
            yield f"track {event.track_uuid} has the sample {value} at {packet.timestamp}"


def _order(events: list[Event]) -> Iterator[str]:
    """What follows in the file on a track does not lie before in time."""
    last: Counter[int] = Counter()
    for event in events:
        if event.time < last[event.track]:
            yield f"track {event.track} goes back in time to {event.time}"
        last[event.track] = event.time


def _slices(events: list[Event]) -> Iterator[str]:
    """Every slice ends that begins, and no other. By their times in picoseconds, slices of a track
    nest or are disjoint, and the times of the events are these, rounded down."""
    begun, exact = defaultdict(list), defaultdict(list)
    found = []
    for event in events:
        if event.kind == BEGIN:
            begun[event.track].append(event)
            if event.start is None or event.duration is None or event.duration < 0:
                yield f"a slice of track {event.track} at {event.time} has no exact times"
        elif event.kind == END:
            if not begun[event.track]:
                yield f"track {event.track} ends a slice at {event.time} that did not begin"
                continue
            beginning = begun[event.track].pop()
            end = (beginning.start or 0) + (beginning.duration or 0)
            found.append((beginning, event.time, end))
            exact[event.track].append((beginning.start or 0, end))
    for track, slices in begun.items():
        if slices:
            yield f"track {track} has {len(slices)} slices without an end"
    # The launch starts with one of its phases, at 0.
    body = -min((begin.start or 0 for begin, _, _ in found), default=0)
    for begin, time, end in found:
        if (begin.time, time) != ((body + (begin.start or 0)) // 1000, (body + end) // 1000):
            yield f"a slice of track {begin.track} from {begin.time} to {time} lasts otherwise"
    for track, times in exact.items():
        yield from _overlaps(track, times)


def _overlaps(track: int, slices: list[tuple[int, int]]) -> Iterator[str]:
    ends: list[int] = []
    for start, end in sorted(slices, key=lambda each: (each[0], -each[1])):
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and end > ends[-1]:
            yield f"slices of track {track} overlap at {start}"
        ends.append(end)


def _flows(events: list[Event]) -> Iterator[str]:
    """Every flow begins once and then ends once, at slices."""
    begun, ended = set(), set()
    for event in events:
        if event.kind != BEGIN and (event.flows or event.ending_flows):
            yield f"a flow at {event.time} is at no slice"
        for flow in event.flows:
            if flow in begun:
                yield f"flow {flow} begins twice"
            begun.add(flow)
        for flow in event.ending_flows:
            if flow not in begun:
                yield f"flow {flow} ends at {event.time} before it begins"
            if flow in ended:
                yield f"flow {flow} ends twice"
            ended.add(flow)
    for flow in begun - ended:
        yield f"flow {flow} has no end"
