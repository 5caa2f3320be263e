"""Perfetto files of programs of all sorts against the rules of their format."""

from pathlib import Path

import pytest
from perfetto_rules import BEGIN, END, SAMPLE, trace_pb2, violations
from recorded_programs import chain, product, two_cores

FUZZ = Path(__file__).parents[2] / "fuzz"


@pytest.fixture(scope="module")
def perfetto_of_seed():
    """The file of a random program of `make fuzz` that refuses none of its indices."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FUZZ))
        import program_cases

        def perfetto(seed):
            generator, program = program_cases.generate(seed)
            arrays = [array.copy() for array in map(generator.listing.inputs.get,
                                                    generator.listing.arguments())]  # fmt: skip
            try:
                return program.perfetto(program.run([array.view("uint8") for array in arrays]))
            except IndexError:
                return perfetto(seed + 1000)

        yield perfetto


@pytest.mark.parametrize("seed", range(100))
def test_the_file_of_a_random_program_breaks_no_rule(perfetto_of_seed, seed):
    assert violations(perfetto_of_seed(seed)) == []


@pytest.mark.parametrize("program", [product, two_cores, lambda: chain(1)],
                         ids=["products", "two cores", "chain"])  # fmt: skip
def test_the_file_of_a_program_breaks_no_rule(program):
    assert violations(program().perfetto()) == []


class Damage:
    """A file of two cores whose packets a test changes."""

    def __init__(self):
        self.trace = trace_pb2.Trace()
        self.trace.ParseFromString(two_cores().perfetto())
        self.packets = self.trace.packet

    def event(self, kind, *fields):
        """The first event of a kind that has these fields."""
        return next(
            packet for packet in self.packets
            if packet.HasField("track_event") and packet.track_event.type == kind
            and all(len(getattr(packet.track_event, field)) > 0 for field in fields)
        )  # fmt: skip

    def track(self, name):
        return next(each for each in self.packets if each.track_descriptor.name == name)

    def process(self):
        return next(each for each in self.packets if each.track_descriptor.HasField("process"))

    def duration(self, slice_name):
        """The exact duration of the first slice of a name."""
        texts = self.packets[0].interned_data
        name = next(each.iid for each in texts.event_names if each.name == slice_name)
        key = next(e.iid for e in texts.debug_annotation_names if e.name == "duration_ps")
        arguments = next(
            packet.track_event.debug_annotations for packet in self.packets
            if packet.track_event.name_iid == name
        )  # fmt: skip
        return next(each for each in arguments if each.name_iid == key)


def without_end(file):
    file.packets.remove(file.event(END))


def without_beginning(file):
    file.packets.remove(file.event(BEGIN))


def an_end_before_its_beginning(file):
    file.event(END).timestamp = 0


def later_than_its_exact_time(file):
    file.event(BEGIN).timestamp += 1


def longer_than_its_place(file):
    file.duration("preamble").int_value += 1


def a_flow_without_an_end(file):
    file.event(BEGIN, "terminating_flow_ids").track_event.terminating_flow_ids.pop()


def a_flow_without_a_beginning(file):
    file.event(BEGIN, "flow_ids").track_event.flow_ids.pop()


def a_flow_that_ends_twice(file):
    flows = file.event(BEGIN, "terminating_flow_ids").track_event.terminating_flow_ids
    flows.append(flows[0])


def a_flow_at_the_end_of_a_slice(file):
    file.event(END).track_event.flow_ids.append(1 << 40)


def a_sample_out_of_order(file):
    track = file.event(SAMPLE).track_event.track_uuid
    last = [each for each in file.packets if each.track_event.track_uuid == track][-1]
    last.timestamp = 0


def a_sample_that_is_no_number(file):
    file.event(SAMPLE).track_event.double_counter_value = float("nan")


def a_sample_among_slices(file):
    file.event(SAMPLE).track_event.track_uuid = file.event(BEGIN).track_event.track_uuid


def a_track_that_nothing_describes(file):
    file.packets.remove(file.track("total_time"))


def a_track_of_no_process(file):
    file.track("total_time").track_descriptor.parent_uuid = 1 << 40


def a_track_described_late(file):
    late = trace_pb2.TracePacket()
    late.CopyFrom(file.track("total_time"))
    file.packets.remove(file.track("total_time"))
    file.packets.append(late)


def a_process_without_a_name(file):
    file.process().track_descriptor.process.ClearField("process_name")


def a_track_described_twice(file):
    file.packets.append(file.track("total_time"))


def a_name_that_no_text_has(file):
    file.event(BEGIN).track_event.name_iid = 1 << 40


def another_sequence(file):
    file.event(BEGIN).trusted_packet_sequence_id = 2


@pytest.mark.parametrize(
    ("damage", "sentence"), [(without_end, "slices without an end"),
        (without_beginning, "that did not begin"),
        (an_end_before_its_beginning, "goes back in time to 0"),
        (later_than_its_exact_time, "lasts otherwise"), (longer_than_its_place, "overlap"),
        (a_flow_without_an_end, "has no end"), (a_flow_without_a_beginning, "before it begins"),
        (a_flow_that_ends_twice, "ends twice"), (a_flow_at_the_end_of_a_slice, "is at no slice"),
        (a_sample_out_of_order, "goes back in time to 0"),
        (a_sample_that_is_no_number, "has the sample nan"),
        (a_sample_among_slices, "not of its kind"),
        (a_track_that_nothing_describes, "before it is described"),
        (a_track_of_no_process, "of no process"),
        (a_track_described_late, "before it is described"),
        (a_process_without_a_name, "has no name"), (a_track_described_twice, "is described twice"),
        (a_name_that_no_text_has, "has no name"), (another_sequence, "of another sequence")],
)  # fmt: skip
def test_a_damaged_file_breaks_a_rule(damage, sentence):
    file = Damage()
    damage(file)
    assert any(sentence in each for each in violations(file.trace.SerializeToString()))


def test_a_field_that_perfetto_does_not_know_breaks_a_rule():
    content = two_cores().perfetto() + b"\xfa\xff\x07\x01x"  # a string as field 16383
    assert violations(content) == ["a field has a number that Perfetto does not know"]
