"""tools/write_kernel_docs.py: docs/kernels.md is what the simulator says today."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from neuron_sim import _core

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("write_kernel_docs")
WRITTEN = tool.PAGE.read_text(encoding="utf-8")
ROWS = tool.rows(WRITTEN)


@pytest.fixture(scope="module")
def text():
    return tool.page(WRITTEN)


def check(monkeypatch, page, *arguments):
    """The tool's exit code with `page` in place of docs/kernels.md."""
    monkeypatch.setattr(tool, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["write_kernel_docs.py", *arguments])
    return tool.main()


def test_the_page_is_up_to_date(text):
    assert text == WRITTEN, "docs/kernels.md is stale; run tools/write_kernel_docs.py"


def test_times_are_written_where_there_are_none(text):
    without = tool.SECTION.sub(lambda found: found["words"], WRITTEN)
    assert "of peak; busy" not in without
    assert tool.page(without) == text


def test_check_notices_a_page_that_differs(monkeypatch, tmp_path, capsys, text):
    monkeypatch.setattr(tool, "page", lambda _: text)
    page = tmp_path / "kernels.md"
    page.write_text(text.replace(" us", " ms", 1), encoding="utf-8")
    assert check(monkeypatch, page, "--check") == 1
    assert "kernels.md is stale; run tools/write_kernel_docs.py" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") != text
    assert check(monkeypatch, page) == 0
    assert check(monkeypatch, page, "--check") == 0


def test_every_kernel_has_a_row_and_every_row_a_section(monkeypatch, text):
    assert {row.kernel for row in ROWS} == set(_core.kernels())
    titles = [f"### {row.kernel}: {row.variant}\n" for row in ROWS]
    assert len(set(titles)) == len(titles) == WRITTEN.count("\n### ")
    assert all(text.count(title) == 1 for title in titles)
    monkeypatch.setattr(tool, "Timed", lambda row: SimpleNamespace(row=row))
    with pytest.raises(SystemExit, match=r"kernels\.md has no section for transpose$"):
        tool.page(WRITTEN.replace("### transpose: ", "### "))


@pytest.mark.parametrize("architecture", tool.ARCHITECTURES)
def test_no_kernel_beats_its_roofline(architecture):
    for row in ROWS:
        timed = tool.Timed(row)
        assert 0 < timed.peaks[architecture] <= 1, (row.kernel, row.variant)


def test_the_roofline_is_that_of_bytes_or_of_multiplications():
    timing = {"argument_bytes": 3 * 4000, "multiply_accumulates": 0}
    facts = {key: fact["value"] for key, fact in _core.architecture_facts("trn2").items()}
    bytes_per_us = 16 * facts["dma.bytes_per_nanosecond"] * 1000
    assert tool.roofline_us(timing, "float32", "trn2") == pytest.approx(12000 / bytes_per_us)
    # 128 x 128 cells: one column per cycle in 16 bits, four cycles in fp32.
    timing["multiply_accumulates"] = 2048**3
    cycles = 2048**3 / 128**2
    for dtype, passes in (("bfloat16", 1), ("float16", 1), ("float32", 4)):
        expected = passes * cycles / (facts["clocks.tensor"] * 1000)
        assert tool.roofline_us(timing, dtype, "trn2") == pytest.approx(expected)


def test_the_timing_of_a_product_counts_its_work():
    timing = _core.time_kernel("matmul", [[5, 7], [7, 3]], "bfloat16")
    assert timing["multiply_accumulates"] == 5 * 7 * 3
    assert timing["argument_bytes"] == 2 * (5 * 7 + 7 * 3 + 5 * 3)
