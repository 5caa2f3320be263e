"""neuron-sim arch: lists, shows and compares architectures."""

import argparse
import json

import pytest
from neuron_sim import _core
from neuron_sim.command_line import main
from neuron_sim.terminal.arguments import ARCHITECTURE_FORMS, add_architecture

FASTER = 'base = "trn2"\n"hbm.bandwidth" = "2x"\nfeatures.clock_gating = false\n'


@pytest.fixture
def faster(tmp_path):
    """The path of trn2 with HBM twice as fast and a clock that is never switched."""
    path = tmp_path / "faster.toml"
    path.write_text(FASTER)
    return str(path)


def told(capsys, *arguments):
    """The JSON that the command prints."""
    assert main(["arch", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_list_has_all_built_in_architectures_and_counts_their_facts(capsys):
    rows = told(capsys, "list")
    assert [row["architecture"] for row in rows] == _core.architectures()
    for row in rows:
        facts = _core.architecture_facts(row["architecture"])
        assert row["facts"] == len(facts)
        assert row["documented"] == sum(f["certainty"] == "documented" for f in facts.values())
    trn2 = next(row for row in rows if row["architecture"] == "trn2")
    assert trn2["SBUF MiB"] == 128 * 229376 / 2**20 and trn2["HBM GiB per chip"] == 96


def test_all_facts_are_shown_with_unit_source_and_certainty(capsys):
    rows = told(capsys, "show", "trn1")
    facts = _core.architecture_facts("trn1")
    assert {row["fact"]: row["value"] for row in rows} == {k: f["value"] for k, f in facts.items()}
    assert all(row["unit"] and row["source"] and row["certainty"] for row in rows)


def test_what_another_generation_inherits_is_shown_as_assumed_as_in_its_base(capsys, tmp_path):
    path = tmp_path / "trn9.toml"
    path.write_text('base = "trn2"\ngeneration = 9\n')
    for name in (str(path), "trn1", "trn3"):
        rows = told(capsys, "show", name)
        inherited = [row for row in rows if row["source"].startswith("as trn2: ")]
        assert len(inherited) > 100, name
        assert {row["certainty"] for row in inherited} == {"assumed"}
    base = {row["fact"]: row for row in told(capsys, "show", "trn2")}
    assert all(row["source"] == f"as trn2: {base[row['fact']]['source']}" for row in inherited)


def test_the_help_names_the_architectures_and_the_default_of_the_library():
    parser = argparse.ArgumentParser()
    add_architecture(parser)
    (option,) = (each for each in parser._actions if each.dest == "arch")
    assert f"({', '.join(_core.architectures())})" in ARCHITECTURE_FORMS
    assert ARCHITECTURE_FORMS in option.help
    assert option.help.endswith(f" else {_core.DEFAULT_ARCHITECTURE}")


def test_patterns_groups_and_certainties_choose_facts(capsys):
    keys = [row["fact"] for row in told(capsys, "show", "trn2", "clocks.*", "hbm.bandwidth")]
    assert keys == [
        *(key for key in _core.architecture_facts("trn2") if key.startswith("clocks.")),
        "dma.hbm_bytes_per_nanosecond",
    ]
    measured = told(capsys, "show", "trn2", "--certainty", "measured")
    assert measured and {row["certainty"] for row in measured} == {"measured"}


def test_the_environment_chooses_what_is_shown_by_default(capsys, monkeypatch, faster):
    monkeypatch.setenv("NEURON_SIM_ARCH", faster)
    rows = {row["fact"]: row["value"] for row in told(capsys, "show")}
    assert rows["dma.hbm_bytes_per_nanosecond"] == 1432


def test_only_facts_that_differ_are_compared(capsys, faster):
    rows = told(capsys, "diff", "trn2", faster)
    assert [(row["fact"], row["A"], row["B"], row["B / A"]) for row in rows] == [
        ("dma.hbm_bytes_per_nanosecond", 716, 1432, 2.0),
        ("features.clock_gating", True, False, None),
    ]
    assert told(capsys, "diff", "trn2", "trn2") == []


def test_a_table_shows_the_same_without_json(capsys, faster):
    assert main(["arch", "diff", "trn2", faster]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["fact", "A", "B", "unit"]
    assert lines[1].split()[:3] == ["dma.hbm_bytes_per_nanosecond", "716", "1432"]
    assert lines[2].split()[:3] == ["features.clock_gating", "yes", "no"]
    assert main(["arch", "diff", "trn1", "trn1"]) == 0
    assert capsys.readouterr().out == "No differences.\n"


def test_the_exit_code_says_whether_architectures_differ_when_asked(capsys, faster):
    assert main(["arch", "diff", "trn2", faster, "--exit-code"]) == 1
    captured = capsys.readouterr()
    assert "dma.hbm_bytes_per_nanosecond" in captured.out and captured.err == ""
    assert main(["arch", "diff", "trn2", "trn2", "--exit-code"]) == 0
    assert capsys.readouterr().out == "No differences.\n"


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("show", "trn2", "clock.*"), "no fact matches 'clock.*' (did you mean clocks."),
    (("show", "trn2", "--certainty", "sure"), "no fact is 'sure'; there are assumed, "),
    (("show", "trn9"), "architecture 'trn9' is unknown"),
])  # fmt: skip
def test_what_is_not_there_is_refused(capsys, arguments, sentence):
    assert main(["arch", *arguments]) == 2
    assert sentence in capsys.readouterr().err
