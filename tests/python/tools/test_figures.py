"""tools/write_figures.py: figures and tables of README.md and docs/ from their sources."""

import datetime
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import figures  # noqa: E402
import write_figures as tool  # noqa: E402

MODELS = """# Page

| other | table |
|---|---|
| 1 | 2 |

| model | batch | instance | SDK | published ms | simulated ms | copies ms | error | bound by |
|---|---:|---|---|---:|---:|---:|---:|---|
| a | 1 | inf2 | 2.2 | 1.00 | 1.25 | 0.25 | +50% | DMA |
| a | 8 | inf2 | 2.2 | 5.00 | 6.00 | 0.00 | +20% | DMA |
| b | 1 | trn1 | 2.2 | 2.00 | 0.75 | 0.25 | -50% | Vector |

More.
"""
KERNELS = """
| kernel | variant | trn1 us | trn2 us | trn3 us | trn2 bottleneck | trn2 peak |
|---|---|---:|---:|---:|---|---:|
| matmul | tiled | 1,857.48 | 867.46 | 839.11 | Sync | 25.2% |
| matmul | auto | 865.65 | 908.50 | 895.33 | Tensor | 96.2% |
| matmul | other | 865.65 | 908.50 | 895.33 | Tensor | 96.2% |
| matmul | small | 1.00 | 1.00 | 1.00 | latency | 9.9% |
"""

DAY = datetime.date(2026, 11, 24)
PAGE = ROOT / "docs" / "page.md"
BLOCK = "<!-- docs/a.md: written by tools/write_figures.py -->\n<!-- end -->\n"


def test_each_model_and_kernel_has_one_row():
    text = tool.whole_models(MODELS)
    assert "| a | inf2 | 1.00 | 1.25 | 0.25 | +50% |\n" in text and "5.00" not in text
    assert "| b | trn1 | 2.00 | 0.75 | 0.25 | -50% |\n" in text
    assert "|---|---|---:|---:|---:|---:|\n" in text
    text = tool.kernels(KERNELS)
    assert "| matmul | auto | 865.65 | 908.50 | 895.33 | Tensor | 96.2% |\n" in text
    assert not re.search("tiled|other|small", text)
    with pytest.raises(ValueError, match="no table has the column 'trn2 peak'"):
        tool.kernels("no table")


def test_the_date_of_a_table_changes_with_its_rows_only(monkeypatch):
    rows = ["| a |\n|---|\n| 1 |\n"]
    monkeypatch.setattr(tool, "TABLES", {"docs/a.md": lambda: rows[0]})
    first = tool.written(BLOCK, PAGE, DAY)
    assert "| 1 |\n\nAs of 2026-11-24, from [docs/a.md](../docs/a.md).\n<!-- end -->" in first
    later = DAY + datetime.timedelta(days=1)
    assert tool.written(first, PAGE, later) == first
    rows[0] = rows[0].replace("1", "2")
    assert "| 2 |\n\nAs of 2026-11-25, from" in tool.written(first, PAGE, later)


def test_a_table_or_figure_that_nothing_defines_is_an_error():
    with pytest.raises(KeyError, match="docs/a.md"):
        tool.written(BLOCK, PAGE, DAY)
    with pytest.raises(KeyError, match="nothing"):
        tool.written("<!--=nothing-->1<!--/-->", PAGE, DAY)


def test_figures_are_written_where_the_page_names_them(monkeypatch):
    monkeypatch.setitem(figures.FIGURES, "facts", lambda: "300")
    text = "its <!--=facts-->254<!--/--> facts, <!--=trn2:collective.hop_latency-->2<!--/-->"
    assert tool.written(text, PAGE, DAY) == (
        "its <!--=facts-->300<!--/--> facts, <!--=trn2:collective.hop_latency-->1.5 us<!--/-->"
    )


def test_a_fact_has_its_unit():
    assert figures.figure("trn2:dma.engines") == "16"
    assert figures.figure("trn2:collective.mesh") == "1 MiB"
    assert figures.figure("trn2:collective.network_bytes_per_nanosecond") == "25 bytes/ns"


def test_figures_of_reports_are_those_of_their_data(monkeypatch):
    report = {
        "published": {"overall": {"cases": 7, "mape_percent": 6.25}, "failed": ["a", "b"]},
        "replay": [{"body_percent": -0.61}, {"body_percent": 0.5}],
    }
    monkeypatch.setattr(figures, "stored", lambda name: report)
    assert figures.figure("files.public") == "9" and figures.figure("files.run") == "7"
    assert figures.figure("files.mean") == "6.2" and figures.figure("replay.bodies") == "0.6"


def test_every_page_has_its_figures_and_every_source_a_table():
    sources = []
    for page in tool.pages():
        text = page.read_text(encoding="utf-8")
        assert tool.written(text, page, DAY) == text, (
            f"{page.name} is stale; run tools/write_figures.py"
        )
        sources += [block["source"] for block in tool.BLOCK.finditer(text)]
    assert sorted(sources) == sorted(tool.TABLES)
