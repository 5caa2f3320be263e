"""tools/peer_table.py: rows of other simulators in docs/performance.md."""

import importlib
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
tool = importlib.import_module("peer_table")


def row(**changed):
    entry = {
        "problem": "matmul", "simulator": "a", "multiply_accumulates": 10**6, "first": 4.0,
        "again": 2.0, "found": {"cycles": 12345}, "note": "",
    }  # fmt: skip
    return entry | changed


def shown(*rows, versions=None):
    stored = {
        "date": "2030-01-01", "processor": "a processor", "python": "3.11", "load": 1.5,
        "versions": versions or {"jax": "0.10.2"}, "computes": {"a": "time"}, "rows": rows,
    }  # fmt: skip
    return tool.figures(stored)


@pytest.mark.parametrize(("changed", "cells"), [
    ({}, "4 | 2 | 2,000,000 | 12,345 cycles"),
    ({"again": 2e-6, "found": {"us": 7}}, "4 | 2e-06 | 2 | 7.0 us simulated"),
    ({"again": None}, "4 | - | 4,000,000 | 12,345 cycles"),
    ({"found": {"us": 1.25}}, "4 | 2 | 2,000,000 | 1.2 us simulated"),
    ({"found": {"error": 0.000033}}, "4 | 2 | 2,000,000 | largest error 3e-05"),
    ({"first": None, "again": None, "note": "no"}, "- | - | - | not measured: no"),
])  # fmt: skip
def test_a_row_has_both_times_and_that_of_later_runs_per_multiply_accumulate(changed, cells):
    assert f"| matmul | a | {cells} |" == shown(row(**changed))["peer_rows"]


def test_the_figures_say_when_and_on_what_it_was_measured_and_what_each_computes():
    figures = shown(row(), versions={"jax": "0.10.2", "scalesim": None})
    assert figures["peer_host"] == (
        "2030-01-01: a processor, Python 3.11, JAX 0.10.2, no SCALE-Sim; load average 1.5"
    )
    assert figures["peer_computes"] == "- a: time."
