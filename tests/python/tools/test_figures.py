"""tools/write_readme_tables.py: tables of the README from generated pages."""

import datetime
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
import write_readme_tables as tool  # noqa: E402

BLOCKS = "".join(
    f"<!-- {page}: written by tools/write_readme_tables.py -->\n<!-- end -->\n"
    for page in tool.TABLES
)
MODELS = """# Page

| other | table |
|---|---|
| 1 | 2 |

| model | batch | instance | SDK | published ms | simulated ms | error | bound by |
|---|---:|---|---|---:|---:|---:|---|
| a | 1 | inf2 | 2.2 | 1.00 | 1.50 | +50% | DMA |
| a | 8 | inf2 | 2.2 | 5.00 | 6.00 | +20% | DMA |
| b | 1 | trn1 | 2.2 | 2.00 | 1.00 | -50% | Vector |

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
SPEED = """
| row | figure | now | unit | goal | met | ours; other |
|---|---|---:|---|---:|---|---|
| `a` | one | 1.2 | times torch | <= 1.1 | **no** | x |
| `a` | two | 3 | times torch | <= 2.5 | **no** | x |
| `a` | three | 1,000 | s | - | - | x |
| `b` | one | 13 | million/s | >= 12 | yes | x |
| `b` | two | 6 | million/s | >= 12 | **no** | x |
| `c` | one | 0 | programs | <= 0 | yes | x |
| `c` | two | 9 | s | - | - | x |
| `d` | one | 1 | s | <= 2 | yes | x |
| `d` | two | - | s | <= 2 | not measured | x |
"""


@pytest.fixture
def root(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/whole_models.md").write_text(MODELS)
    (tmp_path / "docs/kernels.md").write_text(KERNELS)
    (tmp_path / "docs/performance.md").write_text(SPEED)
    return tmp_path


DAY = datetime.date(2026, 11, 24)


def test_each_model_and_kernel_has_one_row_with_a_date(root):
    text = tool.with_tables(BLOCKS, root, DAY)
    assert "| a | 1 | inf2 | 1.00 | 1.50 | +50% | DMA |\n" in text and "| a | 8" not in text
    assert "| b | 1 | trn1 | 2.00 | 1.00 | -50% | Vector |\n" in text
    assert "|---|---:|---|---:|---:|---:|---|\n" in text
    assert "| matmul | auto | 865.65 | 908.50 | 895.33 | Tensor | 96.2% |\n" in text
    assert (
        "tiled" not in text
        and "other" not in text
        and "small" not in text
        and text.count("\nAs of 2026-11-24; ") == 3
    )


def test_the_date_changes_with_the_rows_only(root):
    first = tool.with_tables(BLOCKS, root, DAY)
    later = DAY + datetime.timedelta(days=1)
    assert tool.with_tables(first, root, later) == first
    (root / "docs/kernels.md").write_text(KERNELS.replace("908.50", "900.00"))
    second = tool.with_tables(first, root, later)
    assert second.count("As of 2026-11-24") == 2 and second.count("As of 2026-11-25") == 1


def test_the_figure_furthest_from_its_goal_stands_for_its_row():
    assert tool.speed(SPEED).splitlines()[2:] == [
        "| `a` | two | 3 | times torch | <= 2.5 | **no** |",
        "| `b` | two | 6 | million/s | >= 12 | **no** |",
        "| `c` | one | 0 | programs | <= 0 | yes |",
        "| `d` | two | - | s | <= 2 | not measured |",
    ]
    assert tool.shortfall({"now": "1", "goal": "<= 0"}) == float("inf")
    assert tool.shortfall({"now": "2.5", "goal": "<= 2.5"}) == 1


def test_a_block_that_is_missing_or_double_is_an_error(root):
    for text in ("", BLOCKS * 2, BLOCKS.replace("docs/kernels.md", "docs/nothing.md")):
        with pytest.raises(ValueError, match="one for each of TABLES"):
            tool.with_tables(text, root, DAY)
    (root / "docs/kernels.md").write_text("no table")
    with pytest.raises(ValueError, match="no table has the column 'trn2 peak'"):
        tool.with_tables(BLOCKS, root, DAY)


def test_the_tables_of_the_readme_are_those_of_the_pages():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert tool.with_tables(readme, ROOT, DAY) == readme
