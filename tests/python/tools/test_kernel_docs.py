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


def test_every_kernel_has_a_section_and_every_section_one_row(monkeypatch, tmp_path):
    assert {row.kernel for row in ROWS} == set(_core.kernels())
    titles = [f"| {row.kernel} | {row.variant} |" for row in ROWS]
    assert len(set(titles)) == len(titles) == WRITTEN.count("\n### ")
    assert all(WRITTEN.count(title) == 1 for title in titles)
    monkeypatch.setattr(tool, "PAGE", tmp_path / "kernels.md")
    monkeypatch.setattr(tool, "Timed", lambda row: SimpleNamespace(row=row))
    tool.PAGE.write_text(WRITTEN.replace("### transpose: ", "### "), encoding="utf-8")
    with pytest.raises(SystemExit, match=r"kernels\.md has no section for transpose$"):
        tool.page()


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
