"""The timeline page in a real browser: `make test-browser` installs what it needs.

What follows an action is waited for, long enough for a machine that has much else to do."""

import base64
import gzip
import re

import pytest
from neuron_sim import _core
from neuron_sim.timeline import InlineTimeline, record_run, write_comparison, write_timeline
from neuron_sim.timeline.packing import pack
from neuron_sim.timeline.recorded_run import RecordedRun
from page_browser import needs_browser, opened, selects, shown, sync_api, until
from recorded_programs import column, product, two_cores
from test_packing import COLUMNS

pytestmark = needs_browser


def test_the_page_sums_to_the_counters_of_the_timeline(page, program):
    recording = program.recording()
    for engine, busy in recording["busy"].items():
        assert page.evaluate("name => page.recordings[0].busyOf(name)", engine) == busy
    assert page.evaluate("page.recordings[0].events") == len(column(recording, "event_kind"))
    text = page.inner_text("#summary")
    assert f"{program.time()['body_us']:.3f} us" in text
    assert f"{program.time()['profile_us']:.3f} us" in text


def test_a_page_reads_the_columns_that_were_packed(page):
    packed = base64.b64encode(gzip.compress(pack(RecordedRun({}, COLUMNS)))).decode()
    read = page.evaluate(
        """async (text) => {
          const element = document.createElement("script");
          element.textContent = text;
          const [, columns] = await unpack(element);
          return Object.fromEntries(Object.entries(columns).map(
            ([name, column]) => [name, [column.constructor.name, [...column]]]));
        }""",
        packed,
    )
    kinds = {"u1": "Uint8Array", "u4": "Uint32Array", "i4": "Int32Array", "f8": "Float64Array"}
    assert read == {
        name: [kinds[column.dtype.str[1:]], column.tolist()] for name, column in COLUMNS.items()
    }


def test_a_click_shows_an_instruction_and_what_it_waited_for(page, program):
    recording = program.recording()
    tracks = [track["name"] for track in recording["names"]["tracks"]]
    event = list(column(recording, "event_track")).index(tracks.index("Vector"))
    x, y = page.evaluate(
        """event => {
          const { timeline, recordings: [recording] } = page;
          const row = timeline.rowOf(recording, event);
          const { event_start: start, event_end: end } = recording.column;
          return [timeline.xOf((start[event] + end[event]) / 2), RULER + row.top + 5];
        }""",
        event,
    )
    page.mouse.click(x, y + page.locator("#lanes").bounding_box()["y"])
    selects(page, "tensor_copy #")
    details = page.inner_text("#details")
    assert "result [128, 512] float32 sbuf" in details
    assert "It waited for" in details and "nc_matmul #" in details
    tile = next(each for each in recording["names"]["tiles"] if each["label"] == "result")
    assert f"partition 0, byte {tile['address']}" in details
    start = column(recording, "event_start")[event]
    assert f"{start / 1e6:.3f} us" in details
    page.click("#details a:text('nc_matmul') >> nth=0")  # its producer
    selects(page, "nc_matmul")
    assert "Waited for by" in page.inner_text("#details")


def test_mouse_and_keyboard_zoom_and_pan(page):
    whole = shown(page)
    box = page.locator("#lanes").bounding_box()
    page.mouse.move(box["x"] + 700, box["y"] + 60)
    under = page.evaluate("page.timeline.timeAt(700)")
    page.mouse.wheel(0, -300)
    until(page, "span => page.timeline.to - page.timeline.from < span", whole[1] - whole[0])
    assert page.evaluate("page.timeline.timeAt(700)") == pytest.approx(under, rel=1e-6)
    first = shown(page)
    page.keyboard.press("w")
    until(page, "span => page.timeline.to - page.timeline.from < span", first[1] - first[0])
    before = shown(page)
    assert before[1] - before[0] == pytest.approx(0.7 * (first[1] - first[0]))
    page.keyboard.press("ArrowRight")
    until(page, "from => page.timeline.from > from", before[0])
    before = shown(page)
    page.mouse.down()
    page.mouse.move(box["x"] + 800, box["y"] + 60)
    page.mouse.up()
    until(page, "from => page.timeline.from < from", before[0])
    page.keyboard.press("0")
    until(
        page,
        """() => page.timeline.from === page.recordings[0].start
                 && page.timeline.to === page.recordings[0].end""",
    )


def test_search_finds_instructions_lines_and_tiles(page, program):
    counts = {}
    for text in ("nc_matmul", "kernels.py:7", "right", "no such thing"):
        page.fill("#search", text)
        counts[text] = int(page.inner_text("#matches").split()[0])
    recording = program.recording()
    by_event = column(recording, "instance_instruction")[column(recording, "event_instance")]
    names = [each["name"] for each in recording["names"]["instructions"]]
    assert counts["nc_matmul"] == sum(names[i] == "nc_matmul" for i in by_event)
    assert counts["kernels.py:7"] >= counts["nc_matmul"] > 0
    assert counts["right"] > 0 and counts["no such thing"] == 0
    page.fill("#search", "nc_matmul")
    page.press("#search", "Enter")
    selects(page, "nc_matmul")


def test_a_queue_opens_to_its_rings(page):
    def names():
        return page.evaluate("page.timeline.visible.map(row => row.name)")

    assert not any("ring" in name for name in names())
    group = next(name for name in names() if name.startswith("qSync"))
    top = page.evaluate("name => page.timeline.visible.find(r => r.name === name).top", group)
    box = page.locator("#lanes").bounding_box()
    place = {"x": 20, "y": 22 + top + 8}
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    rings = "count => page.timeline.visible.filter(r => r.name.includes('ring')).length === count"
    until(page, rings, 16)
    page.mouse.click(box["x"] + place["x"], box["y"] + place["y"])
    until(page, rings, 0)
    assert names().count(group) == 1


DRAWN = """() => {
  const rows = page.timeline.visible.filter((row) => row.lane && row.track !== undefined);
  const looks = rows.map((row) => page.timeline.look(row.lane.items[0], row).fill);
  return Object.fromEntries(rows.map((row, i) => [row.name, looks[i]]));
}"""


def test_colours_are_the_same_at_every_width_and_in_every_page(context, page, tmp_path):
    first = page.evaluate(DRAWN)
    page.set_viewport_size({"width": 800, "height": 900})
    until(page, "innerWidth === 800")
    assert page.evaluate(DRAWN) == first
    write_timeline(two_cores(), tmp_path / "other.html")
    with opened(context, tmp_path / "other.html") as other:
        shared = other.evaluate(DRAWN)
        both = shared.keys() & first.keys()
        assert both >= {"Vector", "Vector waits"} and first["Vector"] != first["Vector waits"]
        assert {name: shared[name] for name in both} == {name: first[name] for name in both}
    legend = page.inner_text("#legend")
    assert all(name in legend for name in ("Tensor", "Vector", "DMA queue", "wait", "SBUF"))
    assert "Collectives" not in legend


def test_the_sum_over_dma_engines_says_so(page, program):
    row = page.locator("#summary tr", has_text="16 engines: share of 16 x body").inner_text()
    assert f"{program.time()['utilisation']['DMA']:.1%}".replace("%", " %") in row


BACKGROUND = "getComputedStyle(document.body).backgroundColor"


def test_the_theme_follows_the_system_until_somebody_chooses(page):
    light = page.evaluate(BACKGROUND)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"{BACKGROUND} !== '{light}'")
    dark = page.evaluate(BACKGROUND)
    page.emulate_media(color_scheme="light")
    page.wait_for_function(f"{BACKGROUND} === '{light}'")
    page.keyboard.press("t")
    page.wait_for_function(f"{BACKGROUND} === '{dark}'")
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(f"matchMedia('(prefers-color-scheme: {scheme})').matches")
        page.evaluate("new Promise(requestAnimationFrame)")
    assert page.evaluate(BACKGROUND) == dark


def test_light_and_dark_differ_and_both_draw(page):
    pictures, backgrounds = [], []
    for _ in range(2):
        page.click("#theme")
        pictures.append(page.evaluate("document.getElementById('lanes').toDataURL()"))
        backgrounds.append(sum(map(int, re.findall(r"\d+", page.evaluate(BACKGROUND)))))
    assert pictures[0] != pictures[1] and min(map(len, pictures)) > 5000
    assert abs(backgrounds[0] - backgrounds[1]) > 300


def test_the_memory_map_names_what_lives_under_the_pointer(page):
    text = page.evaluate(
        """() => {
          const { memory: map, timeline } = page;
          const [memory] = map.memories;
          const [place] = memory.places;
          const { top, height } = map.box(memory, place);
          const middle = timeline.xOf((place.lane.start[0] + place.lane.end[0]) / 2);
          return map.textAt(middle, top + height / 2);
        }"""
    )
    assert "partitions 0 to 127, bytes " in text


def test_two_runs_share_the_time_axis_and_show_their_differences(context, program, tmp_path):
    other = product(loops=9)
    path = tmp_path / "both.html"
    write_comparison(record_run(program, title="six"), record_run(other, title="nine"), path)
    with opened(context, path) as page:
        names = page.evaluate("page.timeline.visible.map(row => row.name)")
        for title in ("total_time", "Critical path", "Tensor", "SBUF"):
            at = names.index(f"A \u00b7 {title}")
            rows = page.evaluate("page.timeline.visible.map(row => row.recording.tag + row.key)")
            key = rows[at][1:]
            assert "B" + key in rows and all(
                row[1:] != key or i >= at for i, row in enumerate(rows)
            )
        # The axis holds both, from the start of the body of each.
        ends = page.evaluate("page.recordings.map(recording => recording.end)")
        assert shown(page)[1] == max(ends) and ends[0] < ends[1]
        # Counters of both have one scale.
        scales = page.evaluate(
            "page.timeline.rows.filter(r => r.kind === 'counter').map(r => r.most)"
        )
        assert scales[0::2] == scales[1::2]
        assert page.is_visible("#differences") and not page.is_visible("#summary")
        cells = (
            page.locator("#differences tr", has_text="nc_matmul").locator("td").all_inner_texts()
        )
        assert cells == ["nc_matmul", "6", "9", "+3", "1.500"]
        times = page.locator("#differences tr", has_text="body").first.inner_text().split("\t")
        assert times[1] == f"{program.time()['body_us']:.3f} us"
        assert times[2] == f"{other.time()['body_us']:.3f} us"
        # Search and selection know both runs.
        page.fill("#search", "nc_matmul")
        found = page.evaluate(
            "page.recordings.map(r => page.search.matching.get(r).reduce((a, b) => a + b))"
        )
        assert int(page.inner_text("#matches").split()[0]) == sum(found) and min(found) > 0
        page.press("#search", "Shift+Enter")
        selects(page, "B \u00b7 nc_matmul")


def total_time(program):
    return f"total_time {program.time()['profile_us']:.3f} us"


def test_the_heading_has_a_line_for_each_run(context, page, program, tmp_path):
    assert len(page.locator("header h1").all()) == 1
    assert total_time(program) in page.inner_text("header")
    runs = {"six": program, "three": product(loops=3)}
    first, second = (record_run(each, title=title) for title, each in runs.items())
    write_comparison(first, second, tmp_path / "both.html")
    with opened(context, tmp_path / "both.html") as both:
        lines = both.locator("header .run").all_inner_texts()
        for tag, line, (title, each) in zip("AB", lines, runs.items(), strict=True):
            assert line.startswith(f"{tag} \u00b7 {title}") and total_time(each) in line
        # Fewer bytes have the unit of the bytes that there were.
        cells = both.locator("#differences tr", has_text="hbm_write_bytes").locator("td")
        assert cells.all_inner_texts()[1:] == ["1.5 MiB", "768 KiB", "-768 KiB", "0.500"]


BOXES = "body, header, #controls, aside, nav, [role=tabpanel]"
WIDER = """boxes => [...document.querySelectorAll(boxes)]
  .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.id || each.tagName)"""


@pytest.mark.parametrize("width", [800, 1280, 1920])
def test_long_names_widen_nothing(context, tmp_path, width):
    name = "convolution: " + ", ".join(["operand [1, 256, 224, 224] float32"] * 8)
    first, second = (record_run(product(loops), title=name) for loops in (2, 1))
    write_comparison(first, second, tmp_path / "both.html")
    with opened(context, tmp_path / "both.html") as page:
        page.set_viewport_size({"width": width, "height": 900})
        until(page, "width => innerWidth === width", width)
        for tab in ("differences", "summary", "sums", "help"):
            page.click(f"#tab-{tab}")
            sync_api.expect(page.locator(f"#{tab}")).to_be_visible()
            assert page.evaluate(WIDER, BOXES) == []
        buttons = [each.bounding_box()["y"] for each in page.locator("header button").all()]
        assert len(set(buttons)) == 1


def test_without_tiles_there_is_no_map_of_memories(context, tmp_path):
    builder = _core.Builder("copy", "trn2")
    builder.dma_copy(*(builder.argument(name, [128, 64]) for name in "zx"))
    write_timeline(builder.finish(), tmp_path / "copy.html")
    with opened(context, tmp_path / "copy.html") as page:
        assert not page.is_visible("#memory") and page.is_visible("#lanes")


def test_a_page_of_one_run_has_no_differences(page):
    assert not page.is_visible("#tab-differences")
    page.click("#tab-summary")
    sync_api.expect(page.locator("#summary")).to_be_visible()


def test_a_page_within_a_notebook_works_and_opens_in_a_tab(context, program, tmp_path):
    write_timeline(program, tmp_path / "page.html")
    notebook = tmp_path / "notebook.html"
    shown = InlineTimeline(tmp_path / "page.html")._repr_html_()
    notebook.write_text(f"<!DOCTYPE html><html data-ready><body>{shown}</body></html>", "utf-8")
    with opened(context, notebook) as outer:
        inline = outer.frame_locator("iframe")
        inline.get_by_role("tab", name="Lines").click()
        sync_api.expect(inline.locator("#lines")).to_be_visible()
        with context.expect_page() as tab:
            outer.get_by_text("Open it in a tab").click()
        sync_api.expect(tab.value.locator("html[data-ready] h1")).to_contain_text("product")
        until(tab.value, "location.hash.startsWith('#view=')")
        tab.value.close()
