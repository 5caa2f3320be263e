"""A faster memory shortens what waits for memory, and nothing else."""

import json
import os
import subprocess
import sys

import pytest
from device_type import OWN_NAME

WIDE = {
    "model_type": "llama", "vocab_size": 64, "hidden_size": 4096, "intermediate_size": 2048,
    "num_attention_heads": 32, "num_hidden_layers": 1,
}  # fmt: skip
PRODUCTS = """
import torch

def build():
    return torch.nn.Linear(1024, 1024), (torch.randn(2048, 1024),)
"""
IMAGES = """
import neuron_sim.torch_device
import torch
from neuron_sim.model.workload import Request, load

workload = load(Request("resnet18", 16))
with torch.neuron_sim.timing_only(), torch.no_grad():
    images, model = workload.inputs[0].to("neuron_sim"), workload.module.to("neuron_sim")
    torch.compile(model, backend="neuron_sim", options={"auto_cast": "matmult"})(images)
print(torch.neuron_sim.compiled_graphs()[-1].program_bodies_us)
"""
# A core's 16 DMA engines are slower than its share of HBM, so memory is both.
ENGINE, HBM = 17.06, 410


def run(*arguments, folder, **settings):
    """What a Python process prints."""
    found = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, cwd=folder,
        env={**os.environ, **OWN_NAME, "PYTHONWARNINGS": "ignore", **settings},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return found.stdout


def memory(factor, folder):
    """An architecture file with memory `factor` times as fast."""
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
    architecture = folder / f"memory_{factor}.toml"
    architecture.write_text("\n".join(['base = "trn1"', f'name = "x{factor}"', "[dma]", *lines]))
    return str(architecture)


@pytest.fixture
def timed(tmp_path):
    """Figures of the command for an architecture whose memory is `factor` times as fast."""
    (tmp_path / "config.json").write_text(json.dumps(WIDE))
    (tmp_path / "products.py").write_text(PRODUCTS)

    def figures(factor, *arguments):
        command = ["model", *arguments, "--arch", memory(factor, tmp_path), "--json"]
        return json.loads(run("-m", "neuron_sim", *command, folder=tmp_path))[0]

    return figures


def test_memory_twice_as_fast_nearly_halves_a_decode_step(timed):
    arguments = ["config.json", "--context", "256", "--input", "1"]
    slow, fast = (timed(factor, *arguments)["decode"] for factor in (1, 2))
    assert slow["bound"] == "DMA"
    assert 0.5 < fast["body_ms"] / slow["body_ms"] < 0.65


def test_memory_twice_as_fast_hardly_changes_a_long_prompt(timed, tmp_path):
    # Products of 1024 rows with weights of 400 MB.
    (tmp_path / "wider.json").write_text(json.dumps({**WIDE, "intermediate_size": 16384}))
    arguments = ["wider.json", "--context", "1024", "--input", "1024"]
    slow, fast = (timed(factor, *arguments)["prefill"] for factor in (1, 2))
    assert slow["bound"] == "Tensor"
    assert 0.85 < fast["body_ms"] / slow["body_ms"] <= 1


def test_memory_twice_as_fast_leaves_products_of_many_rows(timed):
    slow, fast = (timed(factor, "products:build") for factor in (1, 2))
    assert slow["bound"] == "Tensor"
    assert 0.85 < fast["body_ms"] / slow["body_ms"] <= 1


def test_memory_twice_as_fast_hardly_changes_a_resnet_of_many_images(tmp_path):
    slow, fast = (
        float(run("-c", IMAGES, folder=tmp_path, NEURON_SIM_ARCH=memory(factor, tmp_path)))
        for factor in (1, 2)
    )
    assert 0.85 < fast / slow <= 1  # some of its activations pass through HBM
