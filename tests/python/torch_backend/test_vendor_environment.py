"""Environment variables of TorchNeuron: what they do under the device name `neuron`."""

import os
import subprocess
import sys
import warnings

import pytest
from neuron_sim import settings
from neuron_sim.torch_backend.vendor_environment import ACTING, INERT, apply, warn_of_inert


def applied(**variables):
    apply(variables)
    return variables


@pytest.mark.parametrize(
    ("variable", "value", "devices"),
    [
        ("NEURON_RT_NUM_CORES", "1", "1"),
        ("NEURON_RT_NUM_CORES", "16", "16"),
        ("NEURON_RT_NUM_CORES", "64", "16"),
        ("NEURON_RT_VISIBLE_CORES", "5", "1"),
        ("NEURON_RT_VISIBLE_CORES", "0-3", "4"),
        ("NEURON_RT_VISIBLE_CORES", "0, 2,4-5", "4"),
    ],
)
def test_visible_cores_are_the_devices(variable, value, devices):
    assert applied(**{variable: value})["NEURON_SIM_DEVICES"] == devices
    assert applied(**{variable: value}, NEURON_SIM_DEVICES="3")["NEURON_SIM_DEVICES"] == "3"


def test_the_list_of_cores_comes_before_their_number():
    both = applied(NEURON_RT_NUM_CORES="8", NEURON_RT_VISIBLE_CORES="0-1")
    assert both["NEURON_SIM_DEVICES"] == "2"
    assert "NEURON_SIM_DEVICES" not in applied(NEURON_RT_NUM_CORES="")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("NEURON_RT_NUM_CORES", "0"),
        ("NEURON_RT_NUM_CORES", "two"),
        ("NEURON_RT_NUM_CORES", "-1"),
        ("NEURON_RT_VISIBLE_CORES", "3-1"),
        ("NEURON_RT_VISIBLE_CORES", "0,"),
        ("NEURON_RT_VISIBLE_CORES", "a-b"),
    ],
)
def test_a_value_that_names_no_cores_is_an_error(variable, value):
    with pytest.raises(ValueError) as error:
        apply({variable: value})
    assert str(error.value) == f"{variable} is {value!r}, which names no NeuronCores."


def test_inspection_writes_the_profile_of_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert settings.PROFILE not in applied(NEURON_RT_INSPECT_ENABLE="0")
    default = applied(NEURON_RT_INSPECT_ENABLE="1")[settings.PROFILE]
    assert default == str(tmp_path / "output") and (tmp_path / "output").is_dir()
    chosen = applied(NEURON_RT_INSPECT_ENABLE="1", NEURON_RT_INSPECT_OUTPUT_DIR="a/b")
    assert chosen[settings.PROFILE] == str(tmp_path / "a" / "b")
    given = {settings.PROFILE: "kept", "NEURON_RT_INSPECT_ENABLE": "1"}
    assert applied(**given)[settings.PROFILE] == "kept"


def test_variables_without_effect_are_named_with_the_reason():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_inert(dict.fromkeys([*ACTING, "NEURON_RT_LOG_LEVEL", "HOME"], "1"))
        assert not caught
        warn_of_inert({**dict.fromkeys(INERT, "1"), "TORCH_NEURONX_NEW": "1"})
    texts = [str(each.message) for each in caught]
    assert "TORCH_NEURONX_NEW has no effect in neuron_sim: it is not known here." in texts
    for name, reason in INERT.items():
        assert f"{name} has no effect in neuron_sim: {reason}." in texts
    assert len(texts) == len(INERT) + 1


SCRIPT = """
import torch
N = torch.neuron_sim
x = torch.ones(64, device=DEVICE)
torch.manual_seed(0)
N.synchronize()
y = x + 1
print(N.simulated_time(1) == N.simulated_time(0), N.device_count())
"""


def run(device, **variables):
    environment = {**os.environ, "NEURON_SIM_DEVICE": device, **variables}
    script = f"DEVICE = {device!r}\n{SCRIPT}"
    command = [sys.executable, "-W", "always", "-c", script]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return result.stdout.strip(), result.stderr.count("has no effect in neuron_sim")


def test_the_device_of_the_vendors_name_follows_its_variables():
    variables = {
        "NEURON_LAUNCH_BLOCKING": "1",
        "NEURON_RT_NUM_CORES": "4",
        "TORCH_NEURONX_LOG_LEVEL": "3",
    }
    assert run("neuron") == ("False 2", 0)
    assert run("neuron", **variables) == ("True 4", 1)
    assert run("neuron_sim", **variables) == ("False 2", 0)
