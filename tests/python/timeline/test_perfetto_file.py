"""Perfetto files against their own format: rules of its trace processor, and the recording."""

from collections import defaultdict

import pytest
from recorded_programs import chain, column, product

trace_pb2 = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
EVENT = trace_pb2.TrackEvent


class PerfettoFile:
    """A parsed trace: tracks, slices (name, begin, end, annotations, flows) and counter samples."""

    def __init__(self, content: bytes):
        trace = trace_pb2.Trace()
        trace.ParseFromString(content)
        self.packets = list(trace.packet)
        self.names, self.arguments, self.texts = {}, {}, {}
        for packet in self.packets:
            data = packet.interned_data
            self.names |= {each.iid: each.name for each in data.event_names}
            self.arguments |= {each.iid: each.name for each in data.debug_annotation_names}
            self.texts |= {
                each.iid: each.str.decode() for each in data.debug_annotation_string_values
            }
        self.tracks = {
            packet.track_descriptor.uuid: packet.track_descriptor
            for packet in self.packets
            if packet.HasField("track_descriptor")
        }
        self.slices = defaultdict(list)
        self.counters = defaultdict(list)
        self._read_events()

    def _read_events(self):
        # The trace processor sorts by time; packets of equal times stay in the order of the file.
        events = [packet for packet in self.packets if packet.HasField("track_event")]
        open_slices = defaultdict(list)
        for packet in sorted(events, key=lambda each: each.timestamp):
            event, time = packet.track_event, packet.timestamp
            assert event.track_uuid in self.tracks, "an event is on a described track"
            if event.type == EVENT.TYPE_COUNTER:
                self.counters[event.track_uuid].append((time, event.double_counter_value))
            elif event.type == EVENT.TYPE_SLICE_BEGIN:
                assert event.name_iid in self.names, "a slice has a name"
                slice_ = [self.names[event.name_iid], time, None, self._annotations(event), event]
                open_slices[event.track_uuid].append(slice_)
                self.slices[event.track_uuid].append(slice_)
            else:
                assert open_slices[event.track_uuid], "a slice ends that began"
                open_slices[event.track_uuid].pop()[2] = time
        assert not any(open_slices.values()), "every slice ends"

    def _annotations(self, event):
        values = {}
        for each in event.debug_annotations:
            text = self.texts.get(each.string_value_iid)
            values[self.arguments[each.name_iid]] = each.int_value if text is None else text
        return values

    def title(self, track):
        return self.tracks[track].name or self.tracks[track].process.process_name


def parsed(program) -> PerfettoFile:
    return PerfettoFile(program.perfetto())


@pytest.mark.parametrize("seed", range(100))
def test_a_random_program_gives_a_file_without_import_errors(seed):
    program = chain(seed)
    file = parsed(program)
    assert all(packet.trusted_packet_sequence_id == 1 for packet in file.packets)
    assert file.packets[0].sequence_flags == 1  # the interned texts begin
    for track in file.tracks.values():
        assert track.parent_uuid == 0 or track.parent_uuid in file.tracks
    body = program.recording()["phases"]["body"][0]
    for slices in file.slices.values():
        for _, begin, end, values, _event in slices:
            assert end >= begin
            assert begin == (body + values["start_ps"]) // 1000
            assert end == (body + values["start_ps"] + values["duration_ps"]) // 1000


@pytest.mark.parametrize("seed", range(20))
def test_every_flow_begins_once_and_ends_once_and_forwards(seed):
    begins, ends = {}, {}
    for slices in parsed(chain(seed)).slices.values():
        for _, begin, _, _, event in slices:
            begins |= dict.fromkeys(event.flow_ids, begin)
            ends |= dict.fromkeys(event.terminating_flow_ids, begin)
    assert begins.keys() == ends.keys() and begins
    assert all(begins[flow] <= ends[flow] for flow in begins)


def test_slices_are_the_events_of_the_recording_to_the_picosecond():
    program = product()
    recording = program.recording()
    starts, ends = column(recording, "event_start"), column(recording, "event_end")
    events = sorted(zip(starts, ends - starts, strict=True))
    shown = []
    for slices in parsed(program).slices.values():
        for _, _, _, values, _ in slices:
            if "visible_ps" in values:
                shown.append((values["start_ps"], values["duration_ps"]))
    assert sorted(shown) == events


def test_bytes_of_rings_and_of_transfers_are_the_programs():
    program = product()
    file = parsed(program)
    moved = program.time()["dma_bytes"]
    rings = transfers = 0
    for track, slices in file.slices.items():
        of_track = sum(values.get("bytes", 0) for _, _, _, values, _ in slices)
        if ", ring " in file.title(track):
            rings += of_track
        elif file.title(track).startswith("q"):
            transfers += of_track
    assert rings == transfers == moved


def test_the_launch_ends_with_total_time_and_holds_the_three_times():
    program = product()
    file, timing = parsed(program), program.time()
    phases = {
        name: (begin, end, values["duration_ps"])
        for slices in file.slices.values()
        for name, begin, end, values, _ in slices
        if name in ("total_time", "preamble", "body", "postamble", "nc_latency")
    }
    assert phases["total_time"][2] == round(timing["profile_us"] * 1e6)
    assert phases["nc_latency"][2] == round(timing["latency_us"] * 1e6)
    assert phases["body"][2] == round(timing["body_us"] * 1e6)
    parts = sum(phases[name][2] for name in ("preamble", "body", "postamble"))
    assert parts == phases["total_time"][2]
    assert max(packet.timestamp for packet in file.packets) == phases["total_time"][1]


def test_waits_say_for_whom_and_instructions_where_they_are_written():
    file = parsed(product())
    waits = [
        values
        for track, slices in file.slices.items()
        if file.title(track) == "Tensor waits"
        for _, _, _, values, _ in slices
        if "for" in values
    ]
    assert waits and all(values["completed_ps"] > 0 for values in waits)
    lines = {
        values["source"]
        for slices in file.slices.values()
        for _, _, _, values, _ in slices
        if "source" in values
    }
    assert lines == {"kernels.py:7"}


def test_counters_are_on_the_process_of_their_core():
    file = parsed(product())
    titles = {file.title(track) for track in file.counters}
    assert titles == {"pending DMA", "DMA throughput", "SBUF", "PSUM"}
    for track in file.counters:
        parent = file.tracks[file.tracks[track].parent_uuid]
        assert parent.process.process_name == "product on core 0"
        assert file.counters[track][-1][1] == 0
