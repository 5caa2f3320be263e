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


def check(monkeypatch, page, *arguments):
    """The tool's exit code with `page` in place of docs/instructions.md."""
    monkeypatch.setattr(tool, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["write_instruction_docs.py", *arguments])
    return tool.main()


def test_the_page_is_up_to_date(text):
    assert (ROOT / "docs" / "instructions.md").read_text(encoding="utf-8") == text, (
        "docs/instructions.md is stale; run tools/write_instruction_docs.py"
    )


def test_check_notices_a_page_that_is_missing_or_differs(monkeypatch, tmp_path, capsys, text):
    page = tmp_path / "instructions.md"
    assert check(monkeypatch, page, "--check") == 1
    assert not page.exists()
    assert check(monkeypatch, page) == 0
    assert check(monkeypatch, page, "--check") == 0
    page.write_text(text.replace("GpSimd", "Vector", 1), encoding="utf-8")
    assert check(monkeypatch, page, "--check") == 1
    message = "instructions.md is stale; run tools/write_instruction_docs.py"
    assert capsys.readouterr().err.count(message) == 2


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
    assert (
        "| dst, src -> dst | index_offset, padding_val | GpSimd | trn2, trn3 | dst[p] ="
        in (rows["nonzero_with_count"])
    )
    assert "| [x] -> none | dst, x_constant, has_constant |" in rows["register_alloc"]
    assert "| none -> dst | offset, channel_multiplier," in rows["iota"]
    assert "| 2 | 3 | 4 | The member of nki.isa.nc_version" in rows["get_nc_version"]


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("/// dst = 1. More.\n", "dst = 1."),
        ("/// a + b + ... in fp32,\n/// rounded. lower case.\n", "a + b + ... in fp32, rounded."),
        ("/// dst = a | b.\n", "dst = a \\| b."),
        ("/// of facts.md, which says so.\n", "of facts.md, which says so."),
    ],
)
def test_the_first_sentence_of_a_comment(comment, expected):
    assert tool.sentence(comment) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ([], "none"),
        (["dst", "src"], "dst, src"),
        (["a0", "a1", "a2"], "a0, a1, a2"),
        (["x", "a0", "a1", "a2", "a3", "b4", "y"], "x, a0 to a3, b4, y"),
        (["[a0]", "[a1]", "[a2]", "[a3]", "a5"], "[a0] to [a3], a5"),
        (["mask_8", "mask_9", "mask_10", "mask_11"], "mask_8 to mask_11"),
    ],
)
def test_numbered_names_are_listed_by_their_ends(names, expected):
    assert tool.listed(names) == expected


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
