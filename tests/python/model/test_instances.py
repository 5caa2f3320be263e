"""Figures of whole instances, and what a million inferences or tokens cost."""

import pytest
from neuron_sim.command_line import main
from neuron_sim.model.instances import with_instance


def test_all_cores_of_an_instance_infer():
    row = with_instance({"per_second": 10.0}, "trn1.32xlarge", 36.0)
    assert row["per_second_instance"] == 320
    # A dollar per 100 seconds: 32,000 inferences.
    assert row["dollars_per_million"] == pytest.approx(1e6 / 32000)


def test_groups_of_cores_generate():
    row = with_instance({"tokens_per_second": 50.0, "ranks": 10}, "inf2.48xlarge", 7.2)
    assert row["groups"] == 2 and row["tokens_per_second_instance"] == 100
    assert row["dollars_per_million_tokens"] == pytest.approx(7.2 / 3600 * 1e4)


def test_without_a_price_there_is_no_cost():
    assert with_instance({"per_second": 1.0}, "inf2.xlarge", None)["dollars_per_million"] is None


@pytest.mark.parametrize("price", ["0", "-1", "inf", "nan"])
def test_a_price_is_positive(price, capsys):
    assert main(["model", "resnet18", "--instance", "inf2.xlarge", f"--price={price}"]) == 2
    assert "--price is" in capsys.readouterr().err


def test_a_price_needs_its_instance(capsys):
    assert main(["model", "resnet18", "--price", "1"]) == 2
    assert "--price is that of an instance" in capsys.readouterr().err


def test_too_many_cores_are_refused_before_the_simulation(capsys):
    command = ["model", "llama-2-7b", "--tp", "3", "--instance", "inf2.xlarge"]
    assert main(command) == 2
    assert "--tp is 3; an inf2.xlarge has 2 cores" in capsys.readouterr().err
