"""The page of a sweep in a real browser: its front, its ranges, and the timelines of its points."""

import pytest
from neuron_sim.sweep import Study, pareto_front
from neuron_sim.sweep.page import sweep_page
from page_browser import needs_browser, opened, sync_api

pytestmark = needs_browser

ROWS = [
    {"N": n, "engine": engine, "latency_us": latency, "sbuf_bytes": size}
    for n, engine, latency, size in [
        (1, "vector", 9.0, 10), (2, "vector", 5.0, 20), (4, "vector", 4.0, 90),
        (1, "scalar", 9.5, 10), (2, "scalar", 5.0, 20), (4, "scalar", 6.0, 80),
    ]
] + [{"N": 8, "engine": "vector", "error": "out of memory"}]  # fmt: skip


@pytest.fixture
def page(context, tmp_path):
    study = Study("k.py:f", {"N": (1, 2, 4, 8), "engine": ("vector", "scalar")})
    (tmp_path / "point.html").write_text("<h1>of point 2</h1>")
    (tmp_path / "sweep.html").write_text(sweep_page(study, ROWS, {2: "point.html"}))
    with opened(context, tmp_path / "sweep.html") as page:
        yield page


def best(page):
    marks = page.locator("#pareto .best")
    return sorted(int(mark.get_attribute("data-row")) for mark in marks.all())


def test_the_front_is_that_of_the_command_whatever_the_axes(page):
    assert page.inner_text("#count") == "6 of 7 points; 1 refused; 1 timelines"
    assert best(page) == pareto_front(ROWS, ["latency_us", "sbuf_bytes"]) == [0, 1, 2, 4]
    page.select_option("#across", "sbuf_bytes")
    page.select_option("#up", "latency_us")
    assert best(page) == [0, 1, 2, 4]
    page.select_option("#up", "sbuf_bytes")
    assert best(page) == [0, 3]


def test_a_range_of_an_axis_keeps_its_points_everywhere(page):
    box = page.locator('[data-axis="latency_us"]').bounding_box()
    middle = box["x"] + box["width"] / 2
    page.mouse.move(middle, box["y"] + box["height"] - 1)
    page.mouse.down()
    page.mouse.move(middle, box["y"] + box["height"] * 0.7)
    page.mouse.up()
    sync_api.expect(page.locator("#pareto circle")).to_have_count(3)  # below 5.65 us
    assert page.locator("#parallel .lines path").count() == 3
    assert page.locator("#points td:nth-child(3)").all_inner_texts() == ["5", "4", "5"]
    page.mouse.click(middle, box["y"] + 5)
    sync_api.expect(page.locator("#pareto circle")).to_have_count(6)


def test_a_click_on_a_point_opens_its_timeline(page, context):
    with context.expect_page() as tab:
        page.locator('#pareto [data-row="2"] circle').click()
    sync_api.expect(tab.value.locator("h1")).to_have_text("of point 2")
    tab.value.close()
    page.hover('#pareto [data-row="0"] circle')
    assert page.locator("#parallel .marked, tr.marked").count() == 2
