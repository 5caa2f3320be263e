"""tools/write_error_docs.py: docs/errors.md has every refusal of the sources."""

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools"))
tool = importlib.import_module("write_error_docs")
collect = importlib.import_module("source_refusals")


def check(monkeypatch, page, *arguments):
    """The tool's exit code with `page` in place of docs/errors.md."""
    monkeypatch.setattr(tool, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["write_error_docs.py", *arguments])
    return tool.main()


@pytest.fixture(scope="module")
def text():
    return tool.page()


def test_the_page_is_up_to_date(text):
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == text, (
        "docs/errors.md is stale; run tools/write_error_docs.py"
    )


def test_check_notices_a_page_that_is_missing_or_differs(monkeypatch, tmp_path, capsys, text):
    monkeypatch.setattr(tool, "page", lambda: text)
    page = tmp_path / "errors.md"
    assert check(monkeypatch, page, "--check") == 1
    assert not page.exists()
    assert check(monkeypatch, page) == 0
    assert check(monkeypatch, page, "--check") == 0
    page.write_text(page.read_text().replace("ValueError", "TypeError", 1), encoding="utf-8")
    assert check(monkeypatch, page, "--check") == 1
    assert capsys.readouterr().err.count("errors.md is stale; run tools/write_error_docs.py") == 2


@pytest.mark.parametrize(
    ("call", "sentence", "error"),
    [
        ('fail("a tile has no bytes.");', "a tile has no bytes.", "ValueError"),
        (
            "fail(text(\"'\", type.name, \"' reads \", view.label(), '.'), ErrorKind::kIndex);",
            "'{type}' reads {label}{value}",
            "IndexError",
        ),
        (
            'fail(text("size ", (a + b) * 2, " of \\"x\\", ", last ? "odd" : "even"));',
            'size {b} of "x", {odd | even}',
            "ValueError",
        ),
        ('fail("one " // fail("no")\n  "two");', "one two", "ValueError"),
        ('TORCH_CHECK(dim(a, "b") > 1, "needs ", n_, " dims");', "needs {n} dims", "RuntimeError"),
        ('TORCH_CHECK_INDEX(ok, "index out of range");', "index out of range", "IndexError"),
    ],
)
def test_calls_in_cpp_give_their_sentence_and_class(call, sentence, error):
    assert list(collect.of_cpp(call, "x.cpp")) == [collect.Refusal("x.cpp", sentence, error)]


@pytest.mark.parametrize("call", ["fail(sentence);", '// fail("no")\n', "TORCH_CHECK(a > 1);"])
def test_calls_without_a_sentence_of_their_own_give_nothing(call):
    assert list(collect.of_cpp(call, "x.cpp")) == []


@pytest.mark.parametrize(
    ("code", "sentence", "error"),
    [
        ("raise ValueError(f'{x.name} of ' 'it')", "{x} of it", "ValueError"),
        ("error = IndexError('beyond ' + str(n))", "beyond {n}", "IndexError"),
        ("assert a, f'no {len(b)}'", "no {b}", "AssertionError"),
        ("raise OutputDependencies('two\\n  at a:1')", "two", "ValueError"),
    ],
)
def test_errors_in_python_give_their_sentence_and_class(code, sentence, error):
    assert list(collect.of_python(code, "x.py")) == [collect.Refusal("x.py", sentence, error)]


@pytest.mark.parametrize(
    ("folder", "sentence"),
    [
        ("device/isa", "'dma_copy' needs equal element counts"),
        ("csrc/aten", "neuron_sim: copies go between dense CPU and neuron_sim tensors"),
        ("python_bindings/neuron_sim/nki", "shared_hbm buffer can only be created"),
    ],
)
def test_refusals_that_users_meet_are_there(folder, sentence, text):
    row = next(line for line in text.splitlines() if sentence in line)
    assert f"(../{folder}/" in row


def test_every_file_that_refuses_is_in_an_area():
    for each in collect.refusals(ROOT):
        assert tool.area_of(each) >= 0
