"""tools/write_instruction_docs.py: docs/instructions.md is what headers and field tables say."""

import importlib
import re
import sys
from pathlib import Path

import pytest
from neuron_sim import _core

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("write_instruction_docs")


@pytest.fixture(scope="module")
def text():
    return tool.page()


def test_every_instruction_and_query_has_one_row(text):
    names = [*_core.instructions(), *_core.compile_time_queries()]
    assert len(set(names)) == len(names)
    for name in names:
        rows = re.findall(
            rf"^\| \[{name}\]\(\.\./device/isa/\w+/{name}\.h\) \|", text, re.MULTILINE
        )
        assert len(rows) == 1, name


def test_rows_say_what_the_tables_say(text):
    rows = {line.split("]")[0].removeprefix("| ["): line for line in text.splitlines()}
    assert re.search(r"\| GpSimd \| trn2, trn3 \|  \|.*\| dst\[p\] =", rows["nonzero_with_count"])
    assert re.search(r"\| Tensor \| all \| .*\| dst\[M, N\]", rows["nc_matmul"])
    assert "| 2 | 3 | 4 | The member of nki.isa.nc_version" in rows["get_nc_version"]


def test_a_row_has_a_call_and_its_time_on_the_chips_that_have_it(text):
    rows = {line.split("]")[0].removeprefix("| ["): line.split(" | ") for line in text.splitlines()}
    _, _, _, trn1, trn2, _, call, _ = rows["tensor_tensor"]
    assert call == "`nisa.tensor_tensor(wide(512), wide(512), wide(512), nl.add)`"
    # Two cycles per element on trn1, one on trn2, and about 60 until the first one.
    assert int(trn1) * 1.12 == pytest.approx(60 + 2 * 512, abs=6)
    assert int(trn2) * 0.96 == pytest.approx(60 + 512, abs=6)
    assert rows["exponential"][3:5] == ["", ""] and int(rows["exponential"][5]) > 0
    calls = [line for line in text.splitlines() if "| `nisa." in line]
    assert len(calls) == len(_core.instructions()) - 2  # two that only the older language has


@pytest.mark.parametrize(("comment", "expected"), [
    ("/// dst = 1. More.\n", "dst = 1."),
    ("/// a + b + ... in fp32,\n/// rounded. lower case.\n", "a + b + ... in fp32, rounded."),
    ("/// dst = a | b.\n", "dst = a \\| b."),
    ("/// of facts.md, which says so.\n", "of facts.md, which says so."),
])  # fmt: skip
def test_the_first_sentence_of_a_comment(comment, expected):
    assert tool.sentence(comment) == expected


def test_a_comment_without_a_sentence_is_an_error():
    with pytest.raises(SystemExit, match=r"^no sentence ends in: dst = 1$"):
        tool.sentence("/// dst = 1\n")


def test_an_undocumented_header_is_an_error(monkeypatch, tmp_path):
    (tmp_path / "device" / "isa" / "tensor").mkdir(parents=True)
    (tmp_path / "device" / "isa" / "tensor" / "bare.h").write_text(
        "struct Bare {\n};\n", encoding="utf-8"
    )
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"^device/isa/tensor/bare\.h has no documented struct"):
        tool.documented("bare", r"struct \w+ \{")


def test_queries_follow_the_architecture():
    assert _core.compile_time_queries("trn1") == {"get_nc_version": 2, "get_nc_sub_version": 0}
    assert _core.compile_time_queries("gen4") == {"get_nc_version": 4, "get_nc_sub_version": 1}
