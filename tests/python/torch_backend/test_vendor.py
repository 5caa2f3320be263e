"""The differences between TorchNeuron and torch (torchneuron_differences.toml), with both
semantics and under both names of the device."""

import functools
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TABLE = ROOT / "tests/python/run/torch_neuronx/torchneuron_differences.toml"
DIFFERENCES = tomllib.loads(TABLE.read_text())["difference"]
DEVICES, SEMANTICS = ("neuron", "neuron_sim"), ("vendor", "torch")


def run(arguments, stdin="", **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )


@functools.cache
def results(device, semantics, environment):
    """What the probes give, by the name of the difference: one process for each environment."""
    rows = [row for row in DIFFERENCES if settings_of(row) == environment]
    finished = run(
        [Path(__file__).with_name("vendor_probes.py")],
        stdin=json.dumps([row["probe"] for row in rows]),
        NEURON_SIM_DEVICE=device,
        NEURON_SIM_SEMANTICS=semantics,
        **dict(environment),
    )
    assert finished.returncode == 0, finished.stderr
    names = [row["name"] for row in rows]
    return dict(zip(names, json.loads(finished.stdout), strict=True)), finished.stderr


def settings_of(row):
    return tuple(sorted(row.get("environment", {}).items()))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row["name"])
def test_a_difference_is_as_its_row_says(row, semantics, device):
    found, _ = results(device, semantics, settings_of(row))
    assert found[row["name"]] == row[f"{semantics}_result"].replace("{device}", device)


@pytest.mark.parametrize("row", DIFFERENCES, ids=lambda row: row["name"])
def test_a_row_names_a_difference_its_source_and_where_it_is_made(row):
    assert row["torch_result"] != row["vendor_result"]
    assert row["torch"] and row["vendor"] and row["source"]
    assert (ROOT / row["implemented"]).is_file()


def test_names_of_differences_are_unique():
    assert len({row["name"] for row in DIFFERENCES}) == len(DIFFERENCES)


@pytest.mark.parametrize(("device", "semantics"), [("neuron", "vendor"), ("neuron_sim", "torch")])
def test_the_name_of_the_device_decides_without_a_setting(device, semantics):
    probe = f"import torch; print(torch.tensor([2**32], device='{device}').add(1).item())"
    finished = run(["-c", probe], NEURON_SIM_DEVICE=device, NEURON_SIM_SEMANTICS="")
    assert finished.stdout.split() == ["1" if semantics == "vendor" else str(2**32 + 1)]


def test_losing_bits_of_int64_is_said_with_the_operator_and_the_remedy():
    _, messages = results("neuron", "vendor", ())
    assert "operator 'aten::add.out' keeps the low 32 bits of int64 elements" in messages
    assert "NEURON_SIM_SEMANTICS=torch keeps all" in messages
    _, messages = results("neuron", "torch", ())
    assert "32 bits" not in messages


def test_overwritten_memory_loses_no_bits():
    program = (
        "import torch; x = torch.tensor([2**40], device='neuron');"
        "x.zero_(); x.copy_(torch.tensor([2**40])); x.fill_(-1); print(x.item())"
    )
    finished = run(["-c", program], NEURON_SIM_DEVICE="neuron")
    assert finished.stdout.split() == ["-1"]
    assert "32 bits" not in finished.stderr


def test_indices_are_checked_with_all_their_bits():
    """TorchNeuron would take the class 0 of a target 2**32: refusing is on the safe side."""
    program = (
        "import torch; losses = torch.zeros(2, 3, device='neuron');"
        "torch.nn.functional.nll_loss(losses, torch.tensor([0, 2**32], device='neuron'))"
    )
    finished = run(["-c", program], NEURON_SIM_DEVICE="neuron")
    assert finished.returncode != 0 and "IndexError" in finished.stderr


def test_an_unknown_semantics_is_refused_when_the_device_is_used():
    finished = run(
        ["-c", "import torch; torch.ones(1, device='neuron_sim')"], NEURON_SIM_SEMANTICS="both"
    )
    assert finished.returncode != 0
    assert "NEURON_SIM_SEMANTICS is 'both'; it must be vendor or torch." in finished.stderr
