"""Import orders, autoload, module functions, bad indices, fork."""

import importlib.metadata
import os
import subprocess
import sys

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE, OWN_NAME

HAS_ENTRY_POINT = any(
    point.name == "neuron_sim" for point in importlib.metadata.entry_points(group="torch.backends")
)
needs_entry_point = pytest.mark.skipif(
    not HAS_ENTRY_POINT, reason="neuron_sim is not installed, so PyTorch cannot find it by itself"
)
USE = "assert torch.ones(2, device='neuron_sim:1').neuron_sim().is_neuron_sim"


def run(program: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **OWN_NAME, **environment},
    )


def check(program: str, **environment: str) -> None:
    result = run(program, **environment)
    assert result.returncode == 0, result.stderr


def test_importing_the_package_does_not_import_torch():
    check("import sys, neuron_sim\nassert 'torch' not in sys.modules")


@needs_entry_point
@pytest.mark.parametrize("imports", [
    "import torch", "import torch, neuron_sim", "import neuron_sim, torch",
    "import neuron_sim.torch_device, torch", "import torch, neuron_sim.torch_device",
])  # fmt: skip
def test_autoload_registers_the_device_in_every_import_order(imports):
    check(f"{imports}\n{USE}")


@pytest.mark.parametrize(
    "imports", ["import neuron_sim.torch_device, torch", "import torch, neuron_sim.torch_device"]
)
def test_without_autoload_one_import_registers_the_device(imports):
    check(f"{imports}\n{USE}", TORCH_DEVICE_BACKEND_AUTOLOAD="0")


BREAK = (
    "import neuron_sim_torch, torch\n"
    "import neuron_sim.torch_backend.registration as a\n"
    "whole, neuron_sim_torch.__file__ = neuron_sim_torch.__file__, '/nowhere/__init__.py'\n"
    "neuron_sim_torch.versions = lambda: ['1.0', '1.1']\n"
)
REASON = "built for torch 1.0, 1.1, whose C++ interface changes"


def test_autoload_never_raises_and_leaves_the_reason():
    program = (
        BREAK + "a.autoload()\n"
        "try:\n    torch.neuron_sim.synchronize()\n"
        f"except RuntimeError as error:\n    assert '{REASON}' in str(error), error\n"
        "else:\n    raise SystemExit('no error')\n"
        "assert not torch.neuron_sim.is_available() and torch.neuron_sim.device_count() == 0\n"
        "torch.manual_seed(0)\n"
        "try:\n    torch.ones(1, device='neuron_sim')\n"
        f"except RuntimeError as error:\n    assert '{REASON}' in str(error), error\n"
        "else:\n    raise SystemExit('no error')\n"
        "assert torch.ones(2).sum() == 2\n"
    )
    result = run(
        "import warnings; warnings.simplefilter('error')\n" + program,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert result.returncode == 0, result.stderr


def test_an_explicit_import_raises_the_reason():
    result = run(BREAK + "import neuron_sim.torch_device", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert f"ImportError: the neuron_sim device is {REASON}" in result.stderr


def test_registering_again_after_a_failure_works():
    check(
        BREAK + "a.autoload()\nneuron_sim_torch.__file__ = whole\n"
        "import neuron_sim.torch_device\n" + USE,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )


def test_the_device_module_is_registered_once_under_both_names():
    assert torch.neuron_sim.device_count is device_module.device_count
    assert torch.get_device_module(DEVICE_TYPE) is torch.neuron_sim
    for name in device_module.__all__:
        assert getattr(torch.neuron_sim, name) is getattr(device_module, name)


def test_methods_are_generated():
    tensor = getattr(torch.ones(2), DEVICE_TYPE)(1)
    assert getattr(tensor, f"is_{DEVICE_TYPE}") and tensor.device.index == 1
    assert tensor.untyped_storage().is_neuron_sim
    assert torch.nn.Linear(2, 2).neuron_sim().weight.is_neuron_sim
    assert not torch.ones(2).is_neuron_sim


def test_properties_describe_the_architecture():
    properties = torch.neuron_sim.get_device_properties(f"{DEVICE_TYPE}:1")
    assert properties.name == f"{properties.neuron_core} ({properties.architecture}, simulated)"
    assert torch.neuron_sim.get_device_name() == properties.name
    assert properties.total_memory >= 1 << 30 and properties.partitions == 128
    assert torch.neuron_sim.get_device_capability() == (properties.generation, 0)


def test_the_architecture_comes_from_the_environment():
    result = run(
        "import torch, neuron_sim.torch_device as d\nprint(d.get_device_properties().architecture)",
        NEURON_SIM_ARCH="trn1",
    )
    assert result.stdout.split() == ["trn1"], result.stderr


def test_the_current_device_is_set_and_restored():
    assert torch.neuron_sim.current_device() == 0
    with torch.neuron_sim.device(f"{DEVICE_TYPE}:1"):
        assert torch.neuron_sim.current_device() == 1
        assert torch.ones(1, device=DEVICE_TYPE).device.index == 1
        with torch.neuron_sim.device(None), torch.neuron_sim.device(0):
            assert torch.neuron_sim.current_device() == 0
        assert torch.neuron_sim.current_device() == 1
    with torch.neuron_sim.device_of(torch.ones(1, device=f"{DEVICE_TYPE}:1")):
        assert torch.neuron_sim.current_device() == 1
    with torch.neuron_sim.device_of(torch.ones(1)):
        assert torch.neuron_sim.current_device() == 0
    torch.neuron_sim.set_device(1)
    assert torch.neuron_sim.current_device() == 1
    torch.neuron_sim.set_device(f"{DEVICE_TYPE}:0")
    with pytest.raises(KeyError), torch.neuron_sim.device(1):
        raise KeyError
    assert torch.neuron_sim.current_device() == 0


@pytest.mark.parametrize("use", [
    lambda: torch.empty(1, device=f"{DEVICE_TYPE}:99"),
    lambda: torch.ones(1).to(f"{DEVICE_TYPE}:99"),
    lambda: torch.neuron_sim.set_device(99),
    lambda: torch.neuron_sim.memory_allocated(99),
    lambda: torch.neuron_sim.synchronize(f"{DEVICE_TYPE}:99"),
    lambda: torch.neuron_sim.Stream(99),
    lambda: torch.Stream(f"{DEVICE_TYPE}:99"),
    lambda: torch.Generator(f"{DEVICE_TYPE}:99"),
    lambda: torch.neuron_sim.get_device_properties(99),
])  # fmt: skip
def test_a_device_that_does_not_exist_is_named(use):
    with pytest.raises(RuntimeError, match=r"device index 99 is out of range.*NEURON_SIM_DEVICES"):
        use()
    assert torch.neuron_sim.current_device() == 0


def test_other_wrong_devices_are_named():
    with pytest.raises(ValueError, match="-1 is negative"):
        torch.neuron_sim.set_device(-1)
    with pytest.raises(ValueError, match=f"expected a {DEVICE_TYPE} device, got cpu"):
        torch.neuron_sim.synchronize("cpu")


def test_the_default_device_may_be_this_one():
    with torch.device(f"{DEVICE_TYPE}:1"):
        assert torch.zeros(2).device == torch.nn.Linear(1, 1).weight.device
        assert torch.zeros(2).device.index == 1


FORK = """
import os, sys, torch, neuron_sim.torch_device
{before}
child = os.fork()
if child == 0:
    try:
        torch.ones(1, device="neuron_sim")
        os._exit(0)
    except RuntimeError as error:
        os._exit(7 if "Cannot re-initialize neuron_sim in forked" in str(error) else 1)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_a_fork_before_the_first_use_works():
    assert run(FORK.format(before="")).returncode == 0


def test_a_forked_child_of_a_user_of_the_device_gets_a_clear_error():
    assert run(FORK.format(before="torch.ones(1, device='neuron_sim')")).returncode == 7


def test_a_forked_child_cannot_change_the_parents_tensors():
    check(
        "import os, torch, neuron_sim.torch_device\n"
        "t = torch.arange(4, device='neuron_sim')\n"
        "child = os.fork()\n"
        "if child == 0:\n    t.add_(1); del t; os._exit(0)\n"
        "os.waitpid(child, 0)\nassert t.tolist() == [0, 1, 2, 3]"
    )


def test_a_process_that_ends_right_after_a_backward_pass_ends_well():
    code = (
        "import neuron_sim.torch_device, torch\n"
        "x = torch.ones(4, device='neuron_sim', requires_grad=True)\n"
        "(x * 2).sum().backward()\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(6)]
    assert [child.wait(timeout=120) for child in children] == [0] * 6
