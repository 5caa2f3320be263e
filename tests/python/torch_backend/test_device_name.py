"""The name of the device: NEURON_SIM_DEVICE, once per process, and files of the other name."""

import os
import subprocess
import sys

import pytest

PRELUDE = "import os, torch; NAME = os.environ.get('NEURON_SIM_DEVICE') or 'neuron_sim'\n"


def run(name, script, cwd=None, **settings):
    """What a Python process prints whose device has this name; None for no setting."""
    environment = {key: value for key, value in os.environ.items() if key != "NEURON_SIM_DEVICE"}
    environment["NEURON_SIM_SEMANTICS"] = "torch"  # the vendor's has no copies between devices
    if name is not None:
        environment["NEURON_SIM_DEVICE"] = name
    environment.update(settings)
    command = [sys.executable, "-W", "ignore", "-c", PRELUDE + script]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=cwd)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


PLACES = """
import neuron_sim.torch_device as own
from neuron_sim.torch_backend import distributed
from torch import distributed as c10d
x = torch.ones(2, device=f"{NAME}:1")
print(x.device, (x + 1).tolist(), getattr(x, f"is_{NAME}"))
print(getattr(torch, NAME) is torch.neuron_sim is own.device_module)
print(torch.accelerator.current_accelerator(), torch.get_device_module(x.device).device_count())
print(torch.ops.neuron_sim.vector_add(x, x).device)
print(c10d.Backend.default_device_backend_map[NAME], hasattr(c10d.Backend, NAME.upper()))
print(torch.nn.Linear(2, 2).to(NAME).weight.device, torch.autocast(NAME).device)
print(torch.neuron_sim.current_stream(1).device, torch.neuron_sim.get_rng_state().dtype)
try:
    torch.neuron_sim.synchronize("cpu")
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("name", [None, "neuron_sim", "neuron"])
def test_everything_that_takes_a_device_takes_its_name(name):
    own = name or "neuron_sim"
    assert run(name, PLACES) == [
        f"{own}:1 [2.0, 2.0] True",
        "True",
        f"{own} 2",
        f"{own}:1",
        f"{own} True",
        f"{own}:0 {own}",
        f"{own}:1 torch.uint8",
        f"expected a {own} device, got cpu",
    ]


def test_a_process_has_one_of_the_two_names():
    for name, other in (("neuron", "neuron_sim"), ("neuron_sim", "neuron")):
        script = f"""
try:
    torch.ones(2, device={other!r})
except RuntimeError as error:
    print(str(error).endswith("device type at start of device string: {other}"))
"""
        assert run(name, script) == ["True"]


def test_a_name_that_does_not_exist_is_an_error_at_the_first_use():
    script = """
try:
    torch.ones(2, device="neuron_sim")
except RuntimeError as error:
    print(error)
"""
    assert run("neurone", script) == [
        "the neuron_sim device is not available: ValueError: NEURON_SIM_DEVICE is 'neurone'; it "
        "must be neuron_sim or neuron."
    ]


WRITE = """
class Scaled(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(3, 2)
    def forward(self, x):
        return self.inner(x) + torch.arange(2., device=self.inner.weight.device)
torch.manual_seed(1)
model, x = Scaled().to(NAME), torch.ones(3, device=f"{NAME}:1")
torch.save({"state": model.state_dict(), "x": x, "scalar": x[1:2]}, "tensors.pt")
torch.jit.trace(model, x.to(NAME)).save("traced.ts")
torch.export.save(torch.export.export(model, (x.to(NAME),)), "exported.pt2")
print(model(x.to(NAME)).tolist())
"""
READ = """
kept = torch.load("tensors.pt")
print(kept["state"]["inner.bias"].device, kept["x"].device, kept["x"].tolist())
x = kept["x"].to(NAME)
print(torch.jit.load("traced.ts")(x).tolist())
with open("traced.ts", "rb") as file:
    print(torch.jit.load(file, map_location="cpu").inner.weight.device)
print(torch.export.load("exported.pt2").module()(x).tolist())
for load in (torch.jit.load, torch.export.load):
    for wrong in ("missing.ts", "wrong.ts"):
        open("wrong.ts", "wb").write(b"no archive")
        try:
            load(wrong)
            print("read")
        except Exception as error:
            print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("writer", "reader"),
    [("neuron_sim", "neuron"), ("neuron", "neuron_sim"), ("neuron", "neuron")],
)
def test_tensors_torchscript_and_exported_programs_move_between_the_names(tmp_path, writer, reader):
    written = run(writer, WRITE, tmp_path)
    places, traced, mapped, exported, *errors = run(reader, READ, tmp_path)
    assert places == f"{reader}:0 {reader}:1 [1.0, 1.0, 1.0]"
    assert [traced, exported] == written * 2 and mapped == "cpu"
    assert "read" not in errors and len(errors) == 4


VENDORS = """
import sys
assert isinstance(sys.modules["torch.neuron_sim"], type(sys)) and not hasattr(torch, "neuron")
print(torch._C._get_privateuse1_backend_name())
try:
    torch.neuron_sim.synchronize()
except RuntimeError as error:
    print(error)
"""


def test_the_vendors_device_that_is_installed_keeps_its_name(tmp_path):
    information = tmp_path / "torch_neuronx-2.14.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: torch-neuronx\nVersion: 2.14.0\n")
    (information / "entry_points.txt").write_text(
        "[torch.backends]\nzz_neuron = torch_neuronx:_autoload\n"
    )
    (tmp_path / "torch_neuronx.py").write_text("def _autoload(): print('the vendor')\n")
    assert run("neuron", VENDORS, PYTHONPATH=str(tmp_path)) == [
        "the vendor",
        "privateuseone",
        "the neuron_sim device is not available: NameTakenError: NEURON_SIM_DEVICE is neuron, but "
        "the vendor's torch_neuronx, whose device has this name, is installed: set it to "
        "neuron_sim, or uninstall torch_neuronx",
    ]
    last = "import torch_neuronx; print(torch_neuronx.__file__); print(torch.ones(1, device=NAME))"
    assert run("neuron_sim", last, PYTHONPATH=str(tmp_path)) == [
        "the vendor",
        str(tmp_path / "torch_neuronx.py"),
        "tensor([1.], device='neuron_sim:0')",
    ]
