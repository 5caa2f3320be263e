"""models/published: whole models in simulated time beside their published latencies."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "models"))

networks, table = (importlib.import_module(f"published.{name}") for name in ("networks", "table"))


def comparisons(*ratios):
    rows = [row for row in table.published_rows() if row["model"] == "resnet18"]
    return [
        table.Comparison(row, row["device_ms_per_batch"] * ratio)
        for row, ratio in zip(rows, ratios, strict=True)
    ]


def test_every_row_has_a_model_a_source_and_a_time():
    for row in table.published_rows():
        assert row["model"] in networks.NETWORKS
        assert row["source"]
        assert row["device_ms_per_batch"] > 0


def test_ranks_of_equal_values_are_their_mean():
    assert table.ranks([3, 1, 3, 7]) == [1.5, 0, 1.5, 3]


@pytest.mark.parametrize(
    ("second", "expected"), [([2, 30, 400], 1), ([9, 8, 1], -1), ([2, 1, 3], 0.5)]
)
def test_rank_correlation_is_that_of_spearman(second, expected):
    assert table.rank_correlation([1, 2, 3], second) == pytest.approx(expected)


def test_the_summary_has_the_mean_error_and_the_ratio_furthest_from_one():
    lines = table.summary(comparisons(0.4, 1.5))
    assert lines[2] == "| all | 2 | 55% | 0.40 | 1.00 |"
    assert lines[3] == "| convolutions | 2 | 55% | 0.40 | 1.00 |"


def test_a_family_of_one_row_has_no_correlation():
    (first, _) = comparisons(1.1, 1)
    assert table.summary([first])[2] == "| all | 1 | 10% | 1.10 |  |"


def test_the_page_has_a_line_for_each_row():
    text = table.page(comparisons(2, 1))
    assert "| resnet18 | 1 | inf2.xlarge | 2.21.0 | 0.60 | 1.19 | 2.00 |" in text


def test_networks_take_their_inputs():
    network = networks.NETWORKS["UNet"]
    module = network.build().eval()
    assert module(network.inputs(1)[:, :, :32, :16]).shape == (1, 2, 32, 16)
