"""The constant of the host that is fitted to published latencies."""

import json
from types import SimpleNamespace

import pytest
from neuron_sim.command_line import main
from neuron_sim.fidelity.published_models import generation, host_overhead, inference
from neuron_sim.fidelity.published_models.inference import Comparison, published
from neuron_sim.model.instances import instance


def row(model, measured, simulated, waits=True, instance="inf2.xlarge"):
    return Comparison(model, instance, 1, measured, simulated, "DMA", waits_for_host=waits)


def test_a_constant_that_all_rows_miss_is_found():
    rows = [row("a", 1.0, 0.8), row("b", 5.0, 4.8), row("a", 2.0, 1.5, instance="trn1.2xlarge")]
    overheads = host_overhead.fitted(rows)
    assert overheads == pytest.approx({"inf2.xlarge": 0.2, "trn1.2xlarge": 0.5})
    assert [each.error for each in host_overhead.added(rows, overheads)] == pytest.approx([0] * 3)


def test_the_fit_makes_the_sum_of_squared_relative_errors_smallest():
    rows = [row("a", 1.0, 0.7), row("b", 2.0, 1.9), row("c", 0.5, 0.45)]
    best = host_overhead.fitted(rows)["inf2.xlarge"]

    def squares(overhead):
        found = host_overhead.added(rows, {"inf2.xlarge": overhead})
        return sum(each.error**2 for each in found)

    assert squares(best) < min(squares(best - 1e-3), squares(best + 1e-3))


def test_rows_with_more_requests_than_cores_are_neither_fitted_nor_changed():
    busy = row("a", 9.0, 1.0, waits=False)
    assert host_overhead.fitted([busy]) == {}
    rows = [busy, row("b", 1.0, 0.9)]
    overheads = host_overhead.fitted(rows)
    assert overheads == pytest.approx({"inf2.xlarge": 0.1})
    assert host_overhead.added(rows, overheads)[0] == busy


def test_simulated_times_that_are_too_long_already_give_no_negative_constant():
    assert host_overhead.fitted([row("a", 1.0, 1.2)]) == {"inf2.xlarge": 0.0}


def test_a_model_that_is_left_out_does_not_change_its_own_constant():
    rows = [row("a", 1.0, 0.8), row("a", 2.0, 1.0), row("b", 4.0, 3.9)]
    found = host_overhead.left_out(rows)
    assert [each.model for each in found] == ["a", "a", "b"]
    # b lacks 0.1; a lacks (0.2 / 1 + 1 / 4) / (1 / 1 + 1 / 4).
    assert [each.simulated_ms for each in found] == pytest.approx([0.9, 1.1, 4.26])


def test_an_instance_without_other_models_has_no_constant():
    rows = [row("a", 1.0, 0.8), row("b", 1.0, 0.9, instance="trn1.2xlarge")]
    assert host_overhead.left_out(rows) == rows


def test_every_published_row_says_how_many_requests_are_in_flight():
    for each in published():
        cores = instance(each["instance"]).cores
        assert 1 <= each["in_flight"] <= 2 * cores


@pytest.mark.parametrize(("arguments", "message"), [
    (["resnet50", "--host-overhead"], "goes with --published"),
    (["resnet50", "--published", "--host-overhead"], "not to 'resnet50'"),
])  # fmt: skip
def test_the_constant_is_only_for_all_published_models(arguments, message, capsys):
    assert main(["model", *arguments]) != 0
    assert message in capsys.readouterr().err


def generations(monkeypatch, ttft, tpot):
    """The published generations, all of them simulated with these milliseconds."""
    found = SimpleNamespace(
        prefill=SimpleNamespace(latency_ms=ttft, bound="DMA"),
        decode=SimpleNamespace(latency_ms=tpot, bound="DMA"),
    )
    monkeypatch.setattr(generation, "_simulated", lambda *request: found)


def test_the_first_token_waits_for_the_host_and_the_others_do_not(monkeypatch):
    generations(monkeypatch, ttft=1.0, tpot=2.0)
    rows = generation.compare("llama-2-7b")
    assert {(each.figure, each.waits_for_host) for each in rows} == {
        ("TTFT", True),
        ("TPOT", False),
    }


def test_the_command_adds_constants_to_latencies_and_times_to_first_token(monkeypatch, capsys):
    generations(monkeypatch, ttft=0.0, tpot=2.0)
    latencies = [row("a", 1.0, 0.8), row("b", 2.0, 1.8)]
    monkeypatch.setattr(inference, "compare", lambda: latencies)
    assert main(["model", "--published", "--host-overhead", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["overhead_ms"]["inf2.xlarge"] == pytest.approx(0.2)
    measured = [(each["instance"], each["ttft_ms"]) for each in generation.published_generation()]
    for name in {each for each, _ in measured}:
        own = [ttft for each, ttft in measured if each == name]
        least_squares = sum(1 / each for each in own) / sum(each**-2 for each in own)
        assert found["overhead_ms"][name] == pytest.approx(least_squares)
    assert {each["figure"] for each in found["rows"]} == {"latency", "TTFT"}


def test_the_command_says_the_error_of_both_figures(monkeypatch, capsys):
    generations(monkeypatch, ttft=1.0, tpot=2.0)
    monkeypatch.setattr(inference, "compare", lambda: [row("a", 1.0, 0.8), row("b", 2.0, 1.8)])
    assert main(["model", "--published", "--host-overhead"]) == 0
    out = capsys.readouterr().out
    assert out.count("each model with the constants of the others") == 2
    assert "host of inf2.48xlarge:" in out and "host of inf2.xlarge: 0.200 ms (fitted)" in out
