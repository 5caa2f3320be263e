"""A faster memory shortens what waits for memory, and nothing else."""

import json
import os
import subprocess
import sys

import pytest

WIDE = {
    "model_type": "llama",
    "vocab_size": 64,
    "hidden_size": 4096,
    "intermediate_size": 2048,
    "num_attention_heads": 32,
    "num_hidden_layers": 1,
}
PRODUCTS = """
import torch

def build():
    return torch.nn.Linear(1024, 1024), (torch.randn(2048, 1024),)
"""
# A core's 16 DMA engines are slower than its share of HBM, so memory is both.
ENGINE, HBM = 17.06, 410


@pytest.fixture
def timed(tmp_path):
    """Figures of the command for an architecture whose memory is `factor` times as fast."""
    (tmp_path / "config.json").write_text(json.dumps(WIDE))
    (tmp_path / "products.py").write_text(PRODUCTS)

    def run(factor, *arguments):
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
        command = ["model", *arguments, "--arch", str(architecture), "--json"]
        found = subprocess.run(
            [sys.executable, "-m", "neuron_sim", *command],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
        )
        assert found.returncode == 0, found.stderr
        return json.loads(found.stdout)[0]

    return run


def test_memory_twice_as_fast_nearly_halves_a_decode_step(timed):
    arguments = ["config.json", "--context", "256", "--input", "1"]
    slow, fast = (timed(factor, *arguments)["decode"] for factor in (1, 2))
    assert slow["bound"] == "DMA"
    assert 0.5 < fast["body_ms"] / slow["body_ms"] < 0.65


def test_memory_twice_as_fast_leaves_products_of_many_rows(timed):
    slow, fast = (timed(factor, "products:build") for factor in (1, 2))
    assert slow["bound"] == "Tensor"
    assert 0.85 < fast["body_ms"] / slow["body_ms"] <= 1
