"""The text of where an instruction of a compiled graph comes from, and its parts."""

import pytest
from neuron_sim.torch_compile.graph_source import GraphSource


@pytest.mark.parametrize(("source", "text"), [
    (GraphSource("a.0.b", "aten::mm", "/m.py:3"), "a.0.b: aten::mm, /m.py:3"),
    (GraphSource("a", "aten::mm"), "a: aten::mm"),
    (GraphSource("", "aten::mm", "/a, b: c.py:7"), "(model): aten::mm, /a, b: c.py:7"),
])  # fmt: skip
def test_the_text_has_all_parts(source, text):
    assert str(source) == text
    assert GraphSource.parse(text) == source


@pytest.mark.parametrize("text", ["", "kernel.py:12", "a.0.b", "k.py:3 x = f(y)"])
def test_another_text_has_no_parts(text):
    assert GraphSource.parse(text) == GraphSource()
