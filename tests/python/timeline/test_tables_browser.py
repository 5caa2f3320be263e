"""Tables, source, ranges, markers and exports of the timeline page in a browser, against sums that
these tests make from the recording."""

import csv
import io

import numpy as np
import pytest
from neuron_sim import _core
from neuron_sim.timeline import write_timeline
from page_browser import needs_browser, opened, selects, shown, sync_api, until
from recorded_programs import chain, column

pytestmark = needs_browser

LONG = "total = add(total, total)  # " + "a comment that no panel is wide enough for, " * 4 + "end"


@pytest.fixture
def lines(context, tmp_path):
    """The page of a program whose second and fourth line add, the fourth three times."""
    code = tmp_path / "kernel.py"
    code.write_text(
        f"def kernel():\n    {LONG}\n    # nothing here\n    for _ in range(3): add()\n"
    )
    builder = _core.Builder("lines", "trn2")
    x = builder.argument("x", [128, 512])
    tile = builder.sbuf("tile", [128, 512])
    builder.dma_copy(tile, x)
    builder.source_line(f"{code}:2")
    builder.tensor_tensor(tile, tile, tile, "add")
    builder.source_line(f"{code}:4")
    builder.loop(3, lambda _: builder.tensor_tensor(tile, tile, tile, "add"))
    write_timeline(builder.finish(), tmp_path / "lines.html")
    with opened(context, tmp_path / "lines.html") as page:
        yield page


def rows_of(page, tab):
    """The rows of a table as CSV has them, by heading."""
    if page.get_attribute(f"#tab-{tab}", "aria-selected") != "true":
        page.click(f"#tab-{tab}")
    with page.expect_download() as download:
        page.click(f"#{tab} button:text('CSV')")
    assert download.value.suggested_filename == f"{tab}.csv"
    return list(csv.DictReader(io.StringIO(download.value.path().read_text())))


def total(rows, heading):
    return sum(float(row[heading]) for row in rows if row[heading])


def test_a_line_marks_its_instructions_and_an_instruction_its_line(lines):
    lines.click("#tab-lines")
    row = lines.locator("#lines tbody", has_text="kernel.py:4")
    row.click()
    until(lines, "document.getElementById('matches').textContent === '3 marked'")
    flags = lines.evaluate("[...page.search.matching.get(page.recordings[0])]")
    sources = lines.evaluate(
        """() => Array.from(page.search.matching.get(page.recordings[0]),
          (_, event) => page.recordings[0].lineOf(event))"""
    )
    assert flags == [source.endswith(":4") for source in sources]
    select = "(event) => page.select({ recording: page.recordings[0], event }, true)"
    second = next(i for i, source in enumerate(sources) if source.endswith(":2"))
    lines.evaluate(select, second)
    sync_api.expect(lines.locator("#lines [aria-current]")).to_contain_text("kernel.py:2")
    lines.keyboard.press("Escape")
    until(lines, "page.timeline.matching === null && page.timeline.selected === null")


def test_the_source_stands_whole_in_its_order(lines):
    lines.click("#tab-lines")
    assert "# nothing here" not in lines.inner_text("#lines")
    lines.click("#lines th button >> nth=0")
    assert lines.locator("#lines th").first.get_attribute("aria-sort") == "ascending"
    code = lines.locator("#lines code").all_inner_texts()
    assert code == [LONG, "# nothing here", "for _ in range(3): add()"]
    wide = "[...document.querySelectorAll('#lines code')].some((e) => e.scrollWidth > innerWidth)"
    assert not lines.evaluate(wide)
    lines.click("#lines th button >> nth=1")  # by time, largest first
    assert len(lines.locator("#lines code").all()) == 2
    assert "kernel.py:4" in lines.locator("#lines tbody").first.inner_text()


def test_a_link_leads_from_an_instruction_to_its_line(lines):
    lines.evaluate(
        "page.select({ recording: page.recordings[0], event: page.recordings[0].events - 1 })"
    )
    lines.click("#details a:text('kernel.py')")
    sync_api.expect(lines.locator("#lines [aria-current]")).to_be_visible()


def test_tables_sum_to_the_recording(page, program):
    recording = program.recording()
    length = column(recording, "event_end") - column(recording, "event_start")
    works = column(recording, "event_kind") != 1
    waited = column(recording, "instance_start") - column(recording, "instance_ready")
    instructions, waits, tensors = (
        rows_of(page, tab) for tab in ("instructions", "waits", "tensors")
    )
    assert total(instructions, "at work (us)") == pytest.approx(length[works].sum() / 1e6)
    assert total(instructions, "critical path (us)") == pytest.approx(program.time()["body_us"])
    assert total(instructions, "runs") == len(waited)
    for rows, heading in ((instructions, "waits (us)"), (waits, "sum (us)")):
        assert total(rows, heading) == pytest.approx(waited.sum() / 1e6)
    moved = {row["tensor"]: int(row["DMA (bytes)"]) for row in tensors if row["memory"] == "hbm"}
    assert moved == {"x": 128 * 512 * 2, "z": 6 * 128 * 512 * 4}
    times = [float(row["at work (us)"]) for row in instructions]
    assert times == sorted(times, reverse=True) and len(set(times)) > 1


def test_text_filters_the_tables(page):
    page.click("#tab-instructions")
    every = page.locator("#instructions tbody").all_inner_texts()
    page.fill("#search", "dma_copy")
    some = page.locator("#instructions tbody").all_inner_texts()
    assert some == [row for row in every if "dma_copy" in row] and 0 < len(some) < len(every)


def cut_sums(recording, start, end):
    """Busy time by engine in a range: steps count by the part of their time that is in it."""
    sums = dict.fromkeys(recording["busy"], 0.0)
    instances = column(recording, "instance_instruction")[column(recording, "event_instance")]
    engines = [recording["names"]["instructions"][i]["engine"] for i in instances]
    names = ("event_start", "event_end", "event_busy")
    for engine, first, last, busy in zip(
        engines, *(column(recording, name) for name in names), strict=True
    ):
        inside = max(min(last, end) - max(first, start), 0)
        sums[engine] += busy * inside / (last - first) if inside else 0
    return sums


@pytest.mark.parametrize("seed", range(3))
def test_a_range_sums_engines_and_bytes(context, tmp_path, seed):
    program = chain(seed)
    write_timeline(program, tmp_path / "chain.html")
    recording = program.recording()
    body = recording["body"]
    sums = """([from, to]) => {
      const { busy, queues } = sumsOf(page.recordings[0], from, to);
      return [busy, [...queues.values()].reduce((sum, queue) => sum + queue.bytes, 0)];
    }"""
    with opened(context, tmp_path / "chain.html") as page:
        for share in ((0, 1), (0.2, 0.7), (0.5, 0.5001)):
            start, end = (each * body for each in share)
            busy, moved = page.evaluate(sums, [start, end])
            expected = cut_sums(recording, start, end)
            assert {n: v for n, v in busy.items() if n != "DMA"} == pytest.approx(
                {n: v for n, v in expected.items() if n != "DMA"}, abs=1
            )
            if share == (0, 1):
                assert busy["DMA"] == pytest.approx(column(recording, "share_busy").sum())
                assert moved == pytest.approx(column(recording, "event_bytes").sum())
        halves = [page.evaluate(sums, [i * body / 2, (i + 1) * body / 2])[1] for i in range(2)]
        assert sum(halves) == pytest.approx(column(recording, "event_bytes").sum())


def test_a_drag_along_the_axis_chooses_a_range(page):
    box = page.locator("#lanes").bounding_box()
    before = shown(page)
    page.mouse.move(box["x"] + 400, box["y"] + 8)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 8, steps=3)
    page.mouse.up()
    sync_api.expect(page.locator("#sums")).to_be_visible()
    edges = page.evaluate("[page.timeline.timeAt(400), page.timeline.timeAt(600)]")
    assert page.evaluate("page.timeline.range") == pytest.approx(edges) and shown(page) == before
    assert f"{(edges[1] - edges[0]) / 1e6:.3f} us" in page.inner_text("#sums")
    page.click("#sums button:text('CSV of events')")
    page.mouse.click(box["x"] + 300, box["y"] + 8)
    until(page, "page.timeline.range === null")


def test_the_address_brings_back_the_view(context, page):
    page.fill("#search", "dma")
    page.evaluate("page.timeline.show(1e6, 5e6)")
    page.evaluate("page.select({ recording: page.recordings[0], event: 3 }, false)")
    page.evaluate("page.setRange([2e6, 3e6])")
    page.evaluate("page.setMarkers([4e6, 1.5e6])")
    until(page, "location.hash.includes('markers=1500000%2C4000000')")
    address = page.evaluate("location.href")
    again = context.new_page()
    again.goto(address)
    again.wait_for_selector("html[data-ready]")
    state = """() => [page.timeline.from, page.timeline.to, page.timeline.range, page.tab,
      page.timeline.markers, page.timeline.selected.event, page.search.found.length,
      document.getElementById("search").value]"""
    assert again.evaluate(state) == page.evaluate(state)
    assert "since the one before" in again.inner_text("#sums") and "2.500 us" in again.inner_text(
        "#sums"
    )
    again.goto(address.split("#")[0] + "#view=nonsense&event=7,-1&tab=missing&range=5,1")
    until(again, "page.timeline.range === null && page.timeline.markers.length === 0")
    again.close()


def test_a_picture_has_all_canvases(page):
    with page.expect_download() as download:
        page.click("#picture")
    content = download.value.path().read_bytes()
    width, height = np.frombuffer(content[16:24], ">u4")
    sizes = page.evaluate("page.canvases.map((canvas) => [canvas.width, canvas.height])")
    assert content.startswith(b"\x89PNG") and width == sizes[0][0]
    assert height > sum(each[1] for each in sizes) and len(content) > 5000


def test_panes_and_tabs_follow_the_keyboard(page):
    def width():
        return page.locator("aside").bounding_box()["width"]

    before = width()
    page.focus("#side-splitter")
    page.keyboard.press("ArrowLeft")
    assert width() == pytest.approx(before + 24, abs=1)
    box = page.locator("#side-splitter").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + 300)
    page.mouse.down()
    page.mouse.move(box["x"] + 62, box["y"] + 300)
    page.mouse.up()
    assert width() == pytest.approx(before - 36, abs=1)
    page.focus("#tab-summary")
    page.keyboard.press("ArrowRight")
    sync_api.expect(page.get_by_role("tab", name="Lines", selected=True)).to_be_focused()
    page.evaluate("page.select({ recording: page.recordings[0], event: 0 }, true)")
    page.click("#tab-instructions")
    page.locator("#instructions tbody").first.press("Enter")
    until(page, "document.getElementById('matches').textContent.endsWith(' marked')")
    page.click("#tab-waits")
    page.locator("#waits tbody").first.press("Enter")
    selects(page, "#")
    assert " us for " in page.inner_text("#spoken")


def test_a_program_whose_instructions_name_no_lines_says_so(context, tmp_path):
    builder = _core.Builder("no_lines", "trn2")
    builder.memset(builder.sbuf("tile", [128, 8]), 0.0)
    write_timeline(builder.finish(), tmp_path / "no_lines.html")
    with opened(context, tmp_path / "no_lines.html") as page:
        page.click("#tab-lines")
        sync_api.expect(page.locator("#lines p")).to_contain_text(
            "0 rows: its instructions name no"
        )
