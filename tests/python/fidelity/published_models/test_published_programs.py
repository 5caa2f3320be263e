"""Published prompt and token programs beside simulated ones: times and bytes."""

import json

import pytest
from neuron_sim.fidelity.published_models import programs
from neuron_sim.fidelity.published_models.inference import as_objects, as_text
from neuron_sim.model.workload import names

SIZES = {
    "model_type": "qwen3", "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2, "head_dim": 8,
}  # fmt: skip


def row(model):
    return {
        "model": model, "instance": "trn1.32xlarge", "ranks": 2, "batch": 1, "context": 16,
        "prompt_mb": 2.0, "prompt_ms": 4.0, "token_mb": 1.0, "token_ms": 0.5,
    }  # fmt: skip


def test_published_programs_without_a_configuration_are_known():
    published = {row["model"] for row in programs.published_programs()}
    assert published - set(names()) == {
        "falcon-h1-0.5b-instruct", "ministral-4b-instruct", "recurrentgemma-2b-it",
    }  # fmt: skip


def test_a_row_has_the_time_and_the_bytes_of_both_programs(monkeypatch, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(SIZES))
    monkeypatch.setattr(programs, "published_programs", lambda: [row(str(file)), row("another")])
    with pytest.warns(UserWarning, match="'another' is not a known decoder"):
        prompt, token = programs.compare(everywhere=True)
    assert (prompt.figure, token.figure) == ("prompt", "token")
    assert (prompt.measured_ms, prompt.measured_mb) == (4.0, 2.0)
    assert prompt.simulated_mb > token.simulated_mb > 0
    assert prompt.error_of_bytes == pytest.approx(prompt.simulated_mb / 2 - 1)
    assert f"{token.simulated_mb:.0f}" in as_text([token]).splitlines()[1].split()
    assert as_objects([token])[0]["simulated_mb"] == token.simulated_mb
