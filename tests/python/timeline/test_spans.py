"""The page of a whole model: modules and operators, one after the other, as long as their parts of
the critical path."""

from types import SimpleNamespace

import numpy as np
import pytest
from neuron_sim.timeline.page import recorded_page
from neuron_sim.timeline.spans import LAUNCH, Span, spans_of, spans_run
from recorded_programs import OPERATORS, decoder


def slices(run, row):
    """(name, start, end) in microseconds of a row."""
    (track,) = [i for i, each in enumerate(run.header["names"]["tracks"]) if each["name"] == row]
    chosen = np.flatnonzero(run.columns["event_track"] == track)
    names = run.header["names"]["instructions"]
    kinds = run.columns["instance_instruction"][run.columns["event_instance"][chosen]]
    times = [run.columns[f"event_{each}"][chosen] / 1e6 for each in ("start", "end")]
    return [(names[kind]["name"], *span) for kind, *span in zip(kinds, *times, strict=True)]


def test_modules_last_from_their_first_operator_to_their_last():
    run = spans_run("decoder", "trn2", decoder(2))
    assert sorted(slices(run, "modules, level 1"), key=lambda each: each[1]) == [
        ("embedding", 2, 5), ("layers[0]", 5, 19.5), ("layers[1]", 19.5, 34), ("head", 34, 39),
    ]  # fmt: skip
    assert slices(run, "modules, level 2") == [("mlp", 5, 15.5), ("mlp", 19.5, 30)]
    assert [name for name, _, _ in slices(run, "operators")] == [
        LAUNCH, "aten::embedding", *(2 * [*OPERATORS, "all_reduce"]), "aten::mm",
    ]  # fmt: skip


def test_the_path_has_no_gap_and_is_the_sum_of_what_it_is_spent_on():
    run = spans_run("decoder", "trn2", decoder(3))
    starts, ends = run.columns["path_start"], run.columns["path_end"]
    assert starts[0] == 0 and ends[-1] == run.header["body"]
    assert np.array_equal(starts[1:], ends[:-1])
    assert sum(run.header["path"].values()) == pytest.approx(run.header["body"])
    assert run.header["path"]["collective"] == 12e6 and run.header["dma_bytes"] == 64 + 9 * 128
    reduces = [each[1:] for each in slices(run, "operators") if each[0] == "all_reduce"]
    assert [each[1:] for each in slices(run, "Collectives")] == reduces


def test_a_run_of_nothing_has_a_page():
    assert "recording" in recorded_page(spans_run("nothing", "trn2", []))


def test_spans_of_launches_are_their_shares_after_the_overhead():
    share = {"module": "a.0", "operator": "", "source_line": "m.py:3", "dma_bytes": 5}
    share["path_us"] = {"Tensor": 2.0}
    shares = {"shares_by_source": lambda: [share]}
    launch = SimpleNamespace(name="matmul", latency_us=3.0, body_us=2.0, **shares)
    before, work = spans_of([launch])
    assert before == Span("", LAUNCH, "", {LAUNCH: 1.0})
    assert work == Span("a.0", "matmul", "m.py:3", {"Tensor": 2.0}, 5) and work.names == ["a[0]"]
