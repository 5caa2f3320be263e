"""The page of a model of a hundred layers in a browser."""

from neuron_sim.timeline.page import recorded_page
from neuron_sim.timeline.spans import spans_run
from page_browser import needs_browser, opened, sync_api, until
from recorded_programs import decoder

pytestmark = needs_browser
LAYERS = 100


def test_a_hundred_layers_open_in_two_seconds(context, tmp_path):
    path = tmp_path / "decoder.html"
    path.write_text(recorded_page(spans_run("decoder", "trn2", decoder(LAYERS))), encoding="utf-8")
    assert path.stat().st_size < 500_000
    with opened(context, path) as page:
        assert int(page.get_attribute("html", "data-ready")) < 2000
        names = page.evaluate("page.timeline.visible.map((row) => row.name)")
        rows = ["Modules", "modules, level 1", "modules, level 2", "operators", "Collectives"]
        assert [each for each in names if each in rows] == [*rows, "Collectives"]  # its group, too
        page.fill("#search", "all_reduce")
        until(page, f"() => document.getElementById('matches').textContent.includes('{LAYERS}')")
        page.click("#tab-instructions")
        sync_api.expect(page.locator("#instructions")).to_contain_text("all_reduce")
