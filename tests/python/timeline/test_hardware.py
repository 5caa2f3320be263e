"""neuron_sim.architecture: facts of architectures, and copies with other facts."""

import os
from pathlib import Path

import neuron_sim
import pytest
from neuron_sim import _core


@pytest.mark.parametrize("name", _core.architectures())
def test_every_fact_of_the_core_is_there_with_unit_certainty_and_source(name):
    facts = neuron_sim.architecture(name).facts
    for key, expected in _core.architecture_facts(name).items():
        fact = neuron_sim.Fact(*(expected.get(field, "") for field in neuron_sim.Fact._fields))
        assert facts[key] == fact and isinstance(facts[key].value, bool) == ("features." in key)
    assert len(facts) > 200


def test_an_architecture_is_the_text_that_names_it(monkeypatch, tmp_path):
    monkeypatch.delenv("NEURON_SIM_ARCH", raising=False)
    assert neuron_sim.architecture() == "trn2" == neuron_sim.architecture("trn2")
    assert repr(neuron_sim.architecture("trn1")) == "Architecture('trn1')"
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn3")
    assert neuron_sim.architecture() == "trn3" != neuron_sim.architecture("trn2")
    (tmp_path / "mine.toml").write_text('base = "trn1"\nname = "mine"\n')
    monkeypatch.chdir(tmp_path)
    mine = neuron_sim.architecture(Path("mine.toml"))
    assert os.path.isabs(mine) and mine.differences("trn1") == {}


def test_a_copy_has_the_facts_that_were_given_and_all_others_of_its_base():
    changes = {"hbm.bandwidth": "2x", "clocks.tensor": 2.5, "features.clock_gating": False}
    copy = neuron_sim.architecture("trn2", changes)
    base = neuron_sim.architecture("trn2")
    different = copy.differences("trn2")
    assert set(different) - {*_core.fact_groups()["hbm.bandwidth"]} == {
        "clocks.tensor", "features.clock_gating",
    }  # fmt: skip
    assert copy.fact("clocks.tensor").value == 2.5 and base.fact("clocks.tensor").unit == "GHz"
    assert copy.fact("features.clock_gating").value is False
    assert copy == neuron_sim.architecture("trn2", changes)
    wider = neuron_sim.architecture(copy, {"clocks.tensor": 2.6})
    assert {*wider.differences(copy)} == {"clocks.tensor"}


@pytest.mark.parametrize(("overrides", "sentence"), [
    ({"clocks.tenser": 1}, "clocks.tenser"), ({"clocks.tensor": -1}, "clocks.tensor"),
    ({"clocks.tensor": float("nan")}, "nan|NaN"), ({"hbm.bandwidth": "fast"}, "fast"),
])  # fmt: skip
def test_what_cannot_be_overridden_is_refused(overrides, sentence):
    with pytest.raises(ValueError, match=sentence):
        neuron_sim.architecture("trn2", overrides)


def test_an_unknown_architecture_is_refused():
    with pytest.raises(ValueError, match="trn9.*trn1"):
        neuron_sim.architecture("trn9")
    with pytest.raises(KeyError, match="speed"):
        neuron_sim.architecture("trn1").fact("speed")


def test_a_value_alone_changes_a_fact_of_the_base_or_is_named(tmp_path):
    chip = tmp_path / "chip.toml"
    for table in ("dma.engines = 8", "[override]\ndma.engines = 8"):
        chip.write_text(f'base = "trn2"\n{table}\n')
        assert neuron_sim.architecture(chip).fact("dma.engines").value == 8
    for table, sentence in (
        ("dma.engines = [8]", r"'dma.engines' .* is \[ 8 \], but must be a number, .* a table"),
        ("hbm.speed = 800", "'hbm.speed' .* is unknown; allowed there: bandwidth, size"),
        ("hbn.bandwidth = 800", "'hbn' .* is unknown; allowed there: base"),
    ):
        chip.write_text(f'base = "trn2"\n{table}\n')
        with pytest.raises(ValueError, match=sentence):
            neuron_sim.architecture(chip).facts  # noqa: B018 - it reads the file
