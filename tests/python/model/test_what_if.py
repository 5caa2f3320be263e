"""A faster memory shortens what waits for memory, and nothing else."""

import json
import os
import subprocess
import sys

import pytest

WIDE = {
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_attention_heads": 16,
    "num_hidden_layers": 1,
}
# A core's 16 DMA engines are slower than its share of HBM, so memory is both.
ENGINE, HBM = 17.06, 410


@pytest.fixture
def generation(tmp_path):
    """Figures of the command for an architecture whose memory is `factor` times as fast."""
    file = tmp_path / "config.json"
    file.write_text(json.dumps(WIDE))

    def run(factor):
        rates = {
            "bytes_per_nanosecond": ENGINE,
            "bytes_per_nanosecond_store": ENGINE,
            "hbm_bytes_per_nanosecond": HBM,
        }
        lines = [
            f'{name} = {{ value = {rate * factor}, unit = "bytes/ns", '
            'source = "what if", certainty = "assumed" }'
            for name, rate in rates.items()
        ]
        architecture = tmp_path / f"memory_{factor}.toml"
        architecture.write_text(
            "\n".join(['base = "trn1"', f'name = "x{factor}"', "[dma]", *lines])
        )
        sizes = ["--context", "512", "--input", "512"]
        command = ["model", str(file), *sizes, "--arch", str(architecture), "--json"]
        found = subprocess.run(
            [sys.executable, "-m", "neuron_sim", *command],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        assert found.returncode == 0, found.stderr
        return json.loads(found.stdout)[0]

    return run


def test_memory_twice_as_fast_nearly_halves_a_decode_step_and_not_a_prompt(generation):
    slow, fast = generation(1), generation(2)
    assert slow["decode"]["bound"] == "DMA"
    assert 0.5 < fast["decode"]["body_ms"] / slow["decode"]["body_ms"] < 0.65
    assert slow["prefill"]["bound"] == "Tensor"
    assert fast["prefill"]["body_ms"] / slow["prefill"]["body_ms"] > 0.9
