"""The filter and the order of the site's long tables, in a real browser."""

from pathlib import Path

import pytest
from page_browser import needs_browser, opened, sync_api

pytestmark = needs_browser
SCRIPT = Path(__file__).resolve().parents[3] / "tools/site/static/tables.js"
NUMBERS = [7, 1000, -3, 20, 0, 11, 5, 4, 900, 8, 6, 2]


@pytest.fixture
def page(context, tmp_path):
    def table(numbers):
        rows = "".join(f"<tr><td>name {n}</td><td>{n:,} us</td></tr>" for n in numbers)
        head = "<thead><tr><th>name</th><th>time</th></tr></thead>"
        rows += "<tr><td>none</td><td></td></tr>"
        return f'<table class="docutils">{head}<tbody>{rows}</tbody></table>'

    text = f"<html data-ready><article>{table(NUMBERS)}{table(NUMBERS[:9])}</article>"
    path = tmp_path / "page.html"
    path.write_text(f"<!DOCTYPE html>{text}<script>{SCRIPT.read_text()}</script>", encoding="utf-8")
    with opened(context, path) as page:
        yield page


def times(page):
    cells = page.locator("table").first.locator("tbody tr:not([hidden]) td:nth-child(2)")
    return [text.removesuffix(" us").replace(",", "") for text in cells.all_inner_texts()]


def test_a_heading_sorts_numbers_by_their_value_and_again_the_other_way(page):
    heading = page.locator("th", has_text="time").first
    heading.click()
    assert times(page) == [*map(str, sorted(NUMBERS)), ""]
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.press("Enter")
    assert times(page) == ["", *map(str, sorted(NUMBERS, reverse=True))]


def test_only_a_long_table_has_a_filter_of_all_its_words(page):
    field = page.get_by_role("searchbox")
    sync_api.expect(field).to_have_count(1)
    field.fill("US name 1")
    assert times(page) == ["1000", "11"]
    field.fill("")
    assert len(times(page)) == 13
