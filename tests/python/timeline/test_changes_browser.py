"""Changes that were tried come first in the summary of the page, each with its line and lesson."""

from neuron_sim.timeline import write_timeline
from neuron_sim.timeline.changes import Change
from page_browser import needs_browser, opened, sync_api

pytestmark = needs_browser


def test_a_change_leads_to_its_line_and_to_its_lesson(context, program, tmp_path):
    link = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/nki/guide.html"
    change = Change("Load <once>", "load before.", "kernels.py:7", 4.0, 0.5, "Tensor", "Opt", link)
    path = tmp_path / "changes.html"
    write_timeline(program, path, changes=[change])
    with opened(context, path) as page:
        summary = page.locator("#summary")
        first = summary.locator("p").first
        text = "Load <once> (saves 50.0 %, to 4.000 us): load before. Then the wall is Tensor."
        sync_api.expect(first).to_contain_text(text)
        assert first.locator("a", has_text="Why").get_attribute("href") == link
        first.locator("a", has_text="kernels.py:7").click()
        sync_api.expect(page.locator("#lines")).to_be_visible()


def test_a_page_says_so_when_nothing_helped_and_nothing_when_nothing_was_tried(
    context, program, tmp_path
):
    for changes, said in (([], True), (None, False)):
        path = tmp_path / f"{said}.html"
        write_timeline(program, path, changes=changes)
        with opened(context, path) as page:
            shown = page.locator("#summary").inner_text()
            assert ("No change that was tried saves 1 %." in shown) == said
            assert ("What to change" in shown) == said
