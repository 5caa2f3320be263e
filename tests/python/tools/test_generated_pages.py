"""Pages of docs/ that tools write from data of the repository are up to date."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
generated_page = importlib.import_module("generated_page")

TOOLS = sorted(path.stem for path in (ROOT / "tools").glob("write_*_docs.py"))


@pytest.mark.parametrize("name", TOOLS)
def test_a_page_is_what_its_tool_writes_today(name):
    tool = importlib.import_module(name)
    text = tool.PAGE.read_text(encoding="utf-8")
    assert text == tool.page(), f"{tool.PAGE.name} is stale; run tools/{name}.py"
    assert f"tools/{name}.py" in text[:400]


def test_a_stale_page_is_told_and_kept_and_written_without_check(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["tools/write_page.py", "--check"])
    assert generated_page.write_or_check(page, "text") == 1 and not page.exists()
    page.write_text("other")
    assert generated_page.write_or_check(page, "text") == 1 and page.read_text() == "other"
    assert capsys.readouterr().err.count("page.md is stale; run tools/write_page.py") == 2
    monkeypatch.setattr(sys, "argv", ["tools/write_page.py"])
    assert generated_page.write_or_check(page, "text") == 0 and page.read_text() == "text"
    monkeypatch.setattr(sys, "argv", ["tools/write_page.py", "--check"])
    assert generated_page.write_or_check(page, "text") == 0
