"""The page on "what if" names every group of facts."""

from pathlib import Path

from neuron_sim import _core

PAGE = Path(__file__).resolve().parents[3] / "docs" / "profiling.md"


def test_every_group_of_facts_is_in_the_page():
    text = PAGE.read_text(encoding="utf-8").partition("## What if")[2]
    for group in _core.fact_groups():
        unit, _, name = group.partition(".")
        assert f"`{group}`" in text or (f"`{unit}`" in text and f"`{name}`" in text), group
