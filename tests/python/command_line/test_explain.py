"""neuron-sim explain: what the simulator's own tables and documentation know of an instruction."""

import json

import neuron_sim.nki.isa as nisa
import pytest
from neuron_sim import _core
from neuron_sim.command_line import main


def told(capsys, *arguments):
    assert main(["explain", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", _core.instructions())
def test_every_instruction_is_explained(capsys, name):
    assert main(["explain", name]) == 0
    text = capsys.readouterr().out
    (entry,) = [each for each in _core.instruction_table("trn2") if each["name"] == name]
    assert text.startswith(f"{name}\n\n")
    for operand in entry["operands"]:
        assert f"\n{operand['name']} " in text
    assert all(f"\n{architecture} " in text for architecture in _core.architectures())


def test_meaning_operands_and_facts_are_those_of_the_tables(capsys):
    found = told(capsys, "nc_matmul", "--arch", "trn1")
    assert found["meaning"].splitlines()[0] == nisa.nc_matmul.__doc__.splitlines()[0]
    directions = {each["operand"]: each["direction"] for each in found["operands"]}
    assert directions == {"dst": "write", "stationary": "read", "moving": "read"}
    assert {each["engine"] for each in found["engines"]} == {"Tensor"}
    facts = _core.architecture_facts("trn1")
    assert {each["fact"]: each["value"] for each in found["facts"]} == {
        key: fact["value"] for key, fact in facts.items()
        if key == "clocks.tensor" or key.startswith("tensor.")
    }  # fmt: skip


@pytest.mark.parametrize(("name", "transfers"), [("dma_copy", True), ("tensor_copy", False)])
def test_transfers_have_the_facts_of_the_dma_engines(capsys, name, transfers):
    listed = {each["fact"] for each in told(capsys, name)["facts"]}
    of_engines = {key for key in _core.architecture_facts("trn2") if key.startswith("dma.")}
    assert of_engines and (of_engines <= listed if transfers else not of_engines & listed)


def test_an_architecture_without_the_instruction_says_so(capsys):
    engines = {e["architecture"]: e["engine"] for e in told(capsys, "exponential")["engines"]}
    assert engines["trn1"] == engines["trn2"] == "not there" and engines["trn3"] == "Vector"


@pytest.mark.parametrize(("name", "sentence"), [
    ("nc_matmull", "there is no instruction 'nc_matmull' (did you mean nc_matmul?)."),
    ("qqqq", "there is no instruction 'qqqq'."),
])  # fmt: skip
def test_an_unknown_instruction_is_refused(capsys, name, sentence):
    assert main(["explain", name]) == 2
    assert capsys.readouterr().err == f"neuron-sim explain: error: {sentence}\n"
