"""Profiles of torch.profiler with the vendor's NeuronConfig."""

import json

from neuron_process import run

PROFILE = """
import sys, warnings
import torch, torch_neuronx
from torch.profiler import ProfilerActivity, profile
from torch_neuronx.profiling import NeuronConfig, NeuronProfiler, ProfileMode
x = torch.ones(128, 128, device="neuron")
config = NeuronConfig(modes=[ProfileMode.DEVICE, ProfileMode.RUNTIME], profile_output_dir="out")
exporter = NeuronProfiler(config)
activities = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
with profile(activities=activities, experimental_config=config,
             on_trace_ready=exporter.export_trace) as profiler:
    x @ x
    x @ x
    torch.neuron.synchronize()
x + x
with profile(activities=activities):
    x * x
own = torch._C._profiler._ExperimentalConfig(custom_profiler_config="profile_output_dir:own")
with profile(activities=activities, experimental_config=own):
    x * x
"""


def test_a_profile_with_a_neuron_config_writes_the_folder_of_the_simulator(tmp_path):

    run(PROFILE, tmp_path)
    (folder,) = (tmp_path / "out").iterdir()
    assert "_pid_" in folder.name
    (kernel,) = json.loads((folder / "index.json").read_text())["kernels"]
    assert kernel["name"] == "matrix_product" and kernel["launches"] == 2
    for name in kernel["files"].values():
        assert (folder / name).stat().st_size > 0
    trace = json.loads((folder / "pytorch_trace.json").read_text())
    assert any(event.get("name") == "aten::mm" for event in trace["traceEvents"])
    (index,) = (tmp_path / "own").glob("*/index.json")
    (product,) = json.loads(index.read_text())["kernels"]
    assert product["launches"] == 1


CONFIGURATIONS = """
import torch, warnings
from torch_neuronx.profiling import NeuronConfig, ProfileMode
warnings.simplefilter("always")
with warnings.catch_warnings(record=True) as caught:
    NeuronConfig()
    NeuronConfig(modes=list(ProfileMode), max_events_per_nc=5, capture_enabled_for_nc="0,1")
print([str(each.message) for each in caught])
for wrong in (dict(modes=["DEVICE"]), dict(profile_output_dir="a;b")):
    try:
        NeuronConfig(**wrong)
    except (TypeError, ValueError) as error:
        print(error)
"""


def test_options_of_a_configuration_act_or_are_named(tmp_path):
    assert run(CONFIGURATIONS, tmp_path) == [
        "['NeuronConfig: capture_enabled_for_nc, max_events_per_nc, ProfileMode.CPU_UTIL, "
        "ProfileMode.HOST_MEMORY have no effect in neuron_sim.']",
        "NeuronConfig: 'modes' has 'DEVICE', which is no ProfileMode.",
        "NeuronConfig: 'profile_output_dir' 'a;b' has a ';'.",
    ]


def test_inspection_by_the_environment_profiles_a_run(tmp_path):
    script = "import torch\nx = torch.ones(128, 128, device='neuron')\nx @ x\n"
    command = ("-m", "neuron_sim", "run", "--device", "neuron")
    variables = {"NEURON_RT_INSPECT_ENABLE": "1", "NEURON_RT_INSPECT_OUTPUT_DIR": "inspected"}
    run(script, tmp_path, command, **variables)
    kernels = json.loads((tmp_path / "inspected" / "index.json").read_text())["kernels"]
    assert "matrix_product" in [kernel["name"] for kernel in kernels]
