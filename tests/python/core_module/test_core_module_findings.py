"""Findings of the checker through neuron_sim._core."""

import numpy as np
import pytest
from neuron_sim import _core

KEYS = {
    "rule", "severity", "kernel", "message", "instruction", "operand", "tile", "bytes",
    "partitions", "index", "source_line", "other_line", "remedy",
}  # fmt: skip


def partly_loaded(rows: int):
    """A copy through a tile of which `rows` partitions are loaded."""
    builder = _core.Builder("partly", "trn2")
    source = builder.argument("source", [128, 8])
    result = builder.argument("result", [128, 8])
    tile = builder.sbuf("tile", [128, 8])
    builder.source_line("k.py:3")
    builder.dma_copy(tile[0:rows], source[0:rows])
    builder.source_line("k.py:4")
    builder.dma_copy(result, tile)
    return builder.finish()


def gather():
    """result = table[rows]."""
    builder = _core.Builder("gather", "trn2")
    table = builder.argument("table", [16, 8])
    rows = builder.argument("rows", [4, 1], "int32")
    result = builder.argument("result", [4, 8])
    index = builder.sbuf("index", [4, 1], "int32")
    tile = builder.sbuf("tile", [4, 8])
    builder.dma_copy(index, rows)
    builder.source_line("k.py:7")
    builder.dma_copy(tile, table.indirect(16, 4), index=index)
    builder.dma_copy(result, tile)
    return builder.finish()


def test_a_finding_has_all_keys_and_names_its_place():
    (found,) = partly_loaded(127).findings(1)
    assert set(found) == KEYS
    assert (found["rule"], found["severity"]) == ("uninitialised-read", "error")
    assert (found["tile"], found["operand"]) == ("tile", "src")
    assert (found["bytes"], found["partitions"]) == ((0, 32), (127, 128))
    assert (found["source_line"], found["index"]) == ("k.py:4", [])
    assert found["message"].endswith(".")
    assert partly_loaded(128).findings(1) == []


def test_every_rule_has_a_meaning_and_a_remedy():
    rules = _core.check_rules()
    assert len({each["rule"] for each in rules}) == len(rules)
    assert {each["severity"] for each in rules} == {"error", "note"}
    assert all(each["meaning"] and each["remedy"] for each in rules)


def test_iterations_are_marked_by_their_instructions():
    def blocks(distance: int):
        builder = _core.Builder("blocks", "trn2")
        tensor = builder.argument("tensor", [9, 128, 8])
        tile = builder.sbuf("tile", [128, 8])
        i = builder.open_loop(8)
        builder.dma_copy(tile, tensor[i + distance])
        builder.dma_copy(tensor[i + 1], tile)
        builder.close_loop()
        return builder.finish()

    for kind, rule in (("loop", "carried-dependency"), ("instance", "instance-race")):
        mark = (kind, 0, 2, 0, -1, -1, "k.py:1")
        assert [each["rule"] for each in blocks(0).findings(1, [mark])] == [rule]
        assert blocks(1).findings(1, [mark]) == []
    assert blocks(0).findings(1) == []
    with pytest.raises(ValueError, match="iterations are of kind loop or instance, not 'lane'"):
        blocks(0).findings(1, [("lane", 0, 2, 0, -1, -1, "")])


def test_a_program_has_no_more_inputs_than_arguments():
    with pytest.raises(ValueError, match="has 2 arguments, of which 3 cannot be inputs"):
        partly_loaded(128).findings(3)


@pytest.mark.parametrize("last", [15, 16, -1])
def test_a_checked_run_tells_an_index_out_of_range(last):
    table = np.arange(128, dtype=np.float32).reshape(16, 8)
    rows = np.array([[0], [3], [1], [last]], np.int32)
    result = np.zeros((4, 8), np.float32)
    ran = gather().run_checked([table, rows, result], 2)
    assert ran["completed"] == (last == 15)
    if last == 15:
        assert ran["findings"] == [] and np.array_equal(result, table[rows[:, 0]])
        return
    (found,) = ran["findings"]
    assert (found["rule"], found["source_line"]) == ("out-of-bounds", "k.py:7")
    assert (found["tile"], found["partitions"]) == ("table", (3, 4))
    assert f"index {last} of partition 3" in found["message"]


def test_notes_are_made_when_they_are_asked_for():
    builder = _core.Builder("root", "trn2")
    source = builder.argument("source", [128, 8])
    result = builder.argument("result", [128, 8])
    tile = builder.sbuf("tile", [128, 8])
    builder.dma_copy(tile, source)
    builder.activation(tile, "sqrt", tile)
    builder.dma_copy(result, tile)
    program = builder.finish()
    values = np.ones((128, 8), np.float32)
    values[5, 6] = -1
    for wanted in (True, False):
        ran = program.run_checked([values, np.zeros_like(values)], 1, first_non_finite=wanted)
        assert [each["rule"] for each in ran["findings"]] == ["first-non-finite"] * wanted
        if wanted:
            assert ran["findings"][0]["severity"] == "note"
            assert ran["findings"][0]["partitions"] == (5, 6)
            assert ran["findings"][0]["bytes"] == (24, 28)
