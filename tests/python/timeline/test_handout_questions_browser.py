"""Questions of the courses' handouts, answered on the page in at most three clicks."""

import numpy as np
import pytest
from neuron_sim import _core
from neuron_sim.timeline import record_run, write_comparison, write_timeline
from page_browser import needs_browser, opened
from recorded_programs import column

pytestmark = needs_browser


def vector_add(tiles):
    """Two loads, an addition and a store per tile, as in the handout of CS149."""
    builder = _core.Builder(f"vector_add {tiles}", "trn1")
    width = 2000 // tiles
    a, b, out = (builder.argument(name, [tiles, 128, width]) for name in ("a", "b", "out"))
    for i in range(tiles):
        tile = [builder.sbuf(f"{name}{i}", [128, width]) for name in "ab"]
        for target, source in zip(tile, (a, b), strict=True):
            builder.dma_copy(target, source[i], engine="sync")
        builder.tensor_tensor(tile[0], tile[0], tile[1], "add")
        builder.dma_copy(out[i], tile[0], engine="scalar")
    return builder.finish()


@pytest.fixture(scope="module")
def programs():
    return vector_add(1), vector_add(2)


@pytest.fixture
def one(context, programs, tmp_path):
    write_timeline(programs[1], tmp_path / "one.html")
    with opened(context, tmp_path / "one.html") as page:
        yield page


def most(program, name):
    recording = program.recording()
    number = [each["name"] for each in recording["counters"]].index(name)
    return column(recording, f"counter_value_{number}").max()


def visible(page, text):
    """The text of what has it in the view, without any scrolling."""
    element = page.get_by_text(text, exact=False).locator("visible=true").first
    box, size = element.bounding_box(), page.viewport_size
    assert box["x"] >= 0 and box["y"] >= 0
    assert box["x"] + box["width"] <= size["width"] and box["y"] < size["height"]
    return element.inner_text()


def test_how_many_transfers_are_pending(one, programs):
    one.click("#tab-sums")
    row = one.locator("#sums tr", has_text="pending DMA").inner_text()
    assert row.split("\t") == ["pending DMA", f"{most(programs[1], 'pending DMA'):.0f} transfers"]


def test_what_the_dma_throughput_is(one, programs):
    one.click("#tab-sums")
    row = one.locator("#sums tr", has_text="DMA throughput").inner_text()
    assert row.split("\t") == ["DMA throughput", f"{most(programs[1], 'DMA throughput'):.1f} GB/s"]
    recording = programs[1].recording()
    tracks = [each["group"] for each in recording["names"]["tracks"]]
    ours = np.array([tracks[i] == "qSyncIO0" for i in column(recording, "event_track")])
    ours &= column(recording, "event_bytes") > 0
    start, end = (column(recording, f"event_{each}")[ours] for each in ("start", "end"))
    rate = column(recording, "event_bytes")[ours].sum() / (end.max() - start.min()) * 1e3
    assert f"{rate:.1f} GB/s" in one.inner_text("#sums")


def test_which_queue_moves_a_tensor(one):
    one.click("#tab-sums")
    table = "#sums h3:text-is('%s') + table"
    assert "reads a, reads b" in one.inner_text(table.replace("%s", "qSyncIO0"))
    assert "writes out" in one.inner_text(table.replace("%s", "qScalarIO0"))


def test_why_one_run_is_faster(context, programs, tmp_path):
    slow, fast = programs
    saved = slow.time()["body_us"] - fast.time()["body_us"]
    assert saved > 0
    paths = [each.recording()["path"] for each in programs]
    name = max(paths[0], key=lambda each: paths[0][each] - paths[1].get(each, 0))
    for first, second, faster in ((slow, fast, "B"), (fast, slow, "A")):
        write_comparison(record_run(first), record_run(second), tmp_path / "both.html")
        with opened(context, tmp_path / "both.html") as page:
            sentence = visible(page, " is faster")  # no click
            share = saved / slow.time()["body_us"]
            assert sentence.startswith(
                f"{faster} is faster: its body takes {saved:.3f} us "
                f"({share * 100:.1f} %) less, on the critical path {name} "
            )


def test_what_bounds_a_kernel(one):
    assert visible(one, "Bound by").startswith("Bound by")  # no click
    assert "GB/s of HBM traffic" in visible(one, "of HBM traffic")
