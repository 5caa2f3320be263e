"""Reports as text, Markdown, HTML and JSON."""

import json
import re
from html.parser import HTMLParser

import neuron_sim
import pytest
import torch
from device_type import DEVICE_TYPE
from neuron_sim.layer_report.uses import OVERHEAD
from reports import DEVICE, as_dicts, compiled, reported, stack, values
from torch import nn


@pytest.fixture(scope="module")
def report():
    return neuron_sim.report(stack(), values(32, 64))


class Rows(HTMLParser):
    """Of a table: level, whether hidden, and the texts of its cells."""

    def __init__(self, page):
        super().__init__()
        self.rows, self.tags, self.outside = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        self.outside += [value for name, value in attributes if name in ("src", "href")]
        if tag == "tr" and "data-level" in named:
            self.rows.append((int(named["data-level"]), "hidden" in named, []))
        elif tag == "td":
            self.rows[-1][2].append("")
        self.tags.append(tag)

    def handle_data(self, data):
        if self.rows and self.rows[-1][2]:
            self.rows[-1][2][-1] += data.strip()


@pytest.mark.parametrize("prepared", [lambda model: model, compiled], ids=["eager", "compiled"])
@pytest.mark.parametrize(
    ("model", "inputs"), [(stack(), values(0, 64)), (nn.Sequential(), values(4, 64))],
    ids=["an empty batch", "an empty model"],
)  # fmt: skip
def test_a_call_that_launches_nothing_has_zeros(model, inputs, prepared):
    report = reported(prepared(model), inputs)
    (row,) = report.rows()
    figures = ("launches", "us", "share %", "HBM MB")
    assert [row[name] for name in figures] == [0] * 4 and row["MFU %"] is None
    assert report.time_us == 0 and "Sequential" in str(report)
    assert json.loads(report.to_json())["layers"]["share"] == 0
    assert "Sequential" in report.to_markdown() and len(Rows(report.to_html()).rows) == 1


def test_text_has_a_line_per_layer_indented_by_level(report):
    lines = str(report).splitlines()
    assert lines[0] == f"Sequential on {DEVICE_TYPE}:1 (trn2), eager, forward"
    assert lines[1].split() == "layer class calls launches us share % MFU % HBM MB peak MB".split()
    names = [row["layer"] for row in report.rows()]
    inner = ["    wide", "    narrow", "    (outside of submodules)"]
    assert names == ["Sequential", "  0", *inner, "  1", *inner, "  2"]
    for name, line in zip(names, lines[2:], strict=False):
        assert re.match(re.escape(name) + "  +", line)
    assert lines[len(names) + 2 :] == [
        "MFU: of 19.66 TFLOP/s (float32).",
        "Modules without launches: Dropout 2.",
    ]


def test_markdown_is_a_table_whose_names_stay_indented(report):
    text = report.to_markdown()
    assert text.startswith(f"**Sequential on {DEVICE_TYPE}:1 (trn2), eager, forward**\n\n| layer |")
    assert "| \u00a0\u00a0\u00a0\u00a00 | Block |" in text
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(report.rows())
    assert {line.count("|") for line in table} == {table[0].count("|")}


def test_depth_limits_tables_but_neither_json_nor_the_page():
    shallow = reported(stack(), values(32, 64), depth=1)
    assert "wide" not in str(shallow) and "wide" not in shallow.to_markdown()
    assert "wide" not in shallow._repr_html_()
    assert any(each["path"] == "0.wide" for each in as_dicts(shallow))
    rows = Rows(shallow.to_html()).rows
    assert [hidden for level, hidden, _ in rows] == [level > 1 for level, _, _ in rows]
    assert any(cells[0] == "wide" for _, _, cells in rows)


def test_the_page_has_all_layers_and_needs_no_network(report):
    page = Rows(report.to_html())
    assert [level for level, _, _ in page.rows] == [level for level, _ in report.root.walk()]
    assert not any(hidden for _, hidden, _ in page.rows)
    assert page.outside == [] and "link" not in page.tags
    assert "http" not in report.to_html() and "prefers-color-scheme: dark" in report.to_html()
    figures = [cells[4] for _, _, cells in page.rows]
    assert figures == [f"{row['us']:.4g}" for row in report.rows()]


def test_names_of_the_model_are_no_markup():
    hostile = type("<b>&@ROWS@", (nn.Linear,), {})
    report = reported(nn.Sequential(hostile(8, 8)).to(DEVICE), values(4, 8))
    page = report.to_html()
    assert "<b>" not in page and "&lt;b&gt;&amp;@ROWS@" in page
    assert "<b>" not in report._repr_html_()


def test_json_has_all_digits_and_sums(report):
    fields = json.loads(report.to_json())
    assert fields["device"] == DEVICE and fields["peak_flops"] == report.peak
    for layer in as_dicts(report):
        if layer["children"]:
            total = sum(round(1e6 * child["time_us"]) for child in layer["children"])
            assert total == round(1e6 * layer["time_us"])
    (root, *_) = as_dicts(report)
    assert root["time_us"] == report.time_us and root["share"] == 1


def test_alike_modules_are_one_row_when_asked():
    whole = reported(stack(), values(32, 64))
    grouped = reported(stack(), values(32, 64), group=True)
    blocks, head = grouped.root.children
    assert (blocks.name, blocks.kind, blocks.calls, head.name) == ("[0-1]", "Block", 2, "2")
    assert [child.name for child in blocks.children][:2] == ["wide", "narrow"]
    first, second, _ = whole.root.children
    assert blocks.use.time_ps == first.use.time_ps + second.use.time_ps


def test_the_rows_of_a_compiled_model_have_no_calls():
    torch._dynamo.reset()
    report = reported(compiled(stack()), values(32, 64))
    assert "calls" not in report.rows()[0]
    assert re.search(rf"^  {re.escape(OVERHEAD)} ", str(report), re.MULTILINE)
    assert "torch.compile, forward" in report.title
