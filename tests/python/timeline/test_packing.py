"""A recorded run as bytes: any column comes back bit by bit."""

import json

import numpy as np
import pytest
from neuron_sim.timeline.packing import VERSION, pack, unpack
from neuron_sim.timeline.recorded_run import RecordedRun

COLUMNS = {
    "none": np.array([], "<f8"),
    "flags": np.array([0, 1, 255, 0], "u1"),
    "indices": np.array([0xFFFFFFFF, 0, 0xFFFFFFFF, 7], "<u4"),
    "signed": np.array([-(2**31), 2**31 - 1, -1, 0], "<i4"),
    "two bytes": np.array([0, 32767, -1, 5], "<f8"),
    "three bytes": np.array([0, 2**23 - 1, -1, 7], "<i4"),
    "times": np.array([-1, 0, 1e12, 1e12 + 1, 5], "<f8"),
    "exact": np.array([2**52 - 1, 0, -(2**52) + 1], "<f8"),
    "too large for differences": np.array([2**52, 0, -(2**53)], "<f8"),
    "fractions": np.array([0.1, 1 / 3, -0.5, 1e-300], "<f8"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_comes_back(name):
    back = unpack(pack(RecordedRun({}, {name: COLUMNS[name]}))).columns[name]
    assert back.dtype == COLUMNS[name].dtype
    np.testing.assert_array_equal(back, COLUMNS[name])


def test_all_columns_and_the_header_come_back():
    header = {"title": "</script> @DATA@ ü", "cores": 2}
    back = unpack(pack(RecordedRun(header, COLUMNS)))
    assert back.header == header and back.columns.keys() == COLUMNS.keys()


def test_numbers_that_rise_by_little_take_a_byte_each():
    packed = pack(RecordedRun({}, {"times": np.arange(0, 1e6, 100)}))
    assert len(packed) < 10_000 + 200


def test_bytes_of_another_version_or_damaged_ones_are_refused():
    packed = pack(RecordedRun({}, COLUMNS))
    with pytest.raises(ValueError, match="damaged"):
        unpack(packed[:-1])
    with pytest.raises(ValueError, match="not JSON"):
        unpack(packed[:20])
    header = json.dumps({"version": VERSION + 1, "columns": []}).encode()
    with pytest.raises(ValueError, match="another version"):
        unpack(len(header).to_bytes(8, "little") + header)
    header = json.dumps({"version": VERSION, "columns": [["a", "f9", "raw", 1, 0, 1]]}).encode()
    with pytest.raises(ValueError, match="damaged"):
        unpack(len(header).to_bytes(8, "little") + header + b"0")
