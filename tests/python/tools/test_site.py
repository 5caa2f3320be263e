"""tools/site: the navigation of the site is that of docs/README.md."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("sphinx")
ROOT = Path(__file__).resolve().parents[3]
SPEC = importlib.util.spec_from_file_location("site_settings", ROOT / "tools/site/conf.py")
site = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(site)


def navigation(page):
    source = [(ROOT / f"{page}.md").read_text(encoding="utf-8")]
    before = len(source[0])
    site.add_navigation(None, page, source)
    return source[0][before:]


def test_every_page_of_the_lists_is_in_the_navigation_under_its_reader():
    added = navigation("README")
    listed = re.findall(r"^- \[[^]]+\]\(([^)]+)\.md\)", site.LISTS.read_text(), re.MULTILINE)
    assert len(listed) > 25
    for name in listed:
        page = name.removeprefix("../") if name.startswith("../") else f"docs/{name}"
        assert f"\n/{page}\n" in added
        assert (ROOT / f"{page}.md").is_file()
    assert re.findall(":caption: (.*)", added)[:2] == ["Student", "Kernel engineer"]


def test_tutorials_are_pages_below_their_list_and_other_pages_stay_as_they_are():
    assert "\n/docs/tutorials/first_tensor\n" in navigation("docs/tutorials/README")
    assert navigation("docs/nki") == ""
