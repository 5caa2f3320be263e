"""Public kernels with the verdict of the vendor's build (forms.json), one rule each.

`source` says who built it; `direct` and `part` with evidence `seen` are verdicts on the form as it
stands here, the others guess some of it.
"""

import json
from pathlib import Path

import pytest
from legality_harness import array_of, kernel_of, refusal_of

FORMS = json.loads(Path(__file__).with_name("forms.json").read_text())
SEEN = [form for form in FORMS if form["evidence"] == "seen" and form["fit"] in ("direct", "part")]


def verdict(form, level, folder, monkeypatch):
    """The error of a form at a level, None when it runs."""
    monkeypatch.setenv("NEURON_SIM_ARCH", form["target"].partition("/")[0])
    monkeypatch.setenv("NEURON_SIM_LEGALITY", level)
    arrays = [array_of(*argument) for argument in form["args"]]
    return refusal_of(kernel_of(folder, form["kernel"]), *arrays)


@pytest.mark.parametrize(
    "form", [form for form in SEEN if form["build"] != "unknown"], ids=lambda form: form["id"]
)
def test_the_compiler_level_agrees_with_the_build(form, tmp_path, monkeypatch):
    error = verdict(form, "compiler", tmp_path, monkeypatch)
    assert (error is not None) == (form["build"] == "refuses"), error


@pytest.mark.parametrize("form", SEEN, ids=lambda form: form["id"])
def test_warning_refuses_no_more_and_tells_of_the_others(form, tmp_path, monkeypatch, capfd):
    refused_anyway = verdict(form, "off", tmp_path, monkeypatch)
    assert capfd.readouterr().err == ""
    warned = verdict(form, "warn", tmp_path, monkeypatch)
    assert str(warned) == str(refused_anyway)
    lines = capfd.readouterr().err.splitlines()
    if form["build"] == "refuses" and warned is None:
        assert any("written.py:" in line and ": warning: kernel 'kernel' breaks" in line
                   for line in lines)  # fmt: skip
    elif form["build"] == "accepts":
        assert not any("which the vendor's" in line for line in lines)


def test_a_believed_rule_refuses_nothing(tmp_path, monkeypatch):
    believed = [form for form in SEEN if form["rule"].startswith("NO-")]
    assert len(believed) >= 7
    for form in believed:
        assert verdict(form, "documented", tmp_path, monkeypatch) is None, form["id"]
