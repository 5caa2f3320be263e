"""The packages torch_neuronx and libtorch_neuronx_lite, in processes whose device is `neuron`."""

from neuron_process import run

KERNEL = """
import nki, nki.isa as nisa, nki.language as nl

@nki.jit
def plus_one(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out, src=tile)
    return out
"""


def test_importing_the_package_registers_the_device(tmp_path):
    for package in ("torch_neuronx", "libtorch_neuronx_lite", "torch_neuronx.distributed"):
        script = f"import {package}, torch\nprint(torch.ones(2, device='neuron').sum().item())"
        command = ("-m", "neuron_sim", "run")
        assert run(script, tmp_path, command, TORCH_DEVICE_BACKEND_AUTOLOAD="0") == ["2.0"]


NAMES = """
import torch, torch_neuronx
import torch_neuronx.utils as utils
from torch_neuronx.neuron_dynamo_backend import neuron_backend
print(torch_neuronx.__version__.partition("+")[0] == torch.__version__.partition("+")[0])
print(utils.get_platform_target(), utils.get_logical_neuron_cores())
print(torch.compile(lambda x: x + 1, backend=neuron_backend)(torch.ones(2).neuron()).tolist())
print(torch_neuronx.is_neuron_runtime_initialized(), torch_neuronx.device_count())
for name in ("nothing", "_nothing"):
    print(hasattr(torch_neuronx, name))
try:
    torch_neuronx.nothing
except AttributeError as error:
    print(error)
"""


def test_the_package_has_the_names_of_the_device_and_no_others(tmp_path):
    assert run(NAMES, tmp_path, NEURON_PLATFORM_TARGET_OVERRIDE="") == [
        "True",
        "trn2 2",
        "[2.0, 2.0]",
        "True 2",
        "False",
        "False",
        "torch_neuronx.nothing is not there: under `neuron-sim run` torch_neuronx has the names "
        "that TorchNeuron documents.",
    ]
    script = "import torch\nfrom torch_neuronx.utils import *\nprint(get_logical_neuron_cores())"
    assert run(script, tmp_path, NEURON_LOGICAL_NC_CONFIG="1") == ["1"]


CPU_MODE = f"""
import numpy, torch
{KERNEL}
from libtorch_neuronx_lite.nki.nki_hop import wrap_nki
from nki.simulator import simulate_kernel
for device in ("cpu", "neuron"):
    result = wrap_nki(plus_one)[1](x=torch.zeros(128, 4, device=device))
    print(result.device.type, result.unique().tolist())
print(numpy.unique(simulate_kernel(plus_one, (), dict(x=numpy.ones((128, 4), "float32")), lnc=1)))
"""


def test_vllms_cpu_mode_runs_kernels_on_tensors_of_the_cpu(tmp_path):
    lines = ["cpu [1.0]", "neuron [1.0]", "[2.]"]
    assert run(CPU_MODE, tmp_path, VLLM_NEURON_CPU_MODE="1", NKI_SIMULATOR="1") == lines


def test_a_real_package_is_not_shadowed(tmp_path):
    real = tmp_path / "torch_neuronx"
    real.mkdir()
    (real / "__init__.py").write_text("REAL = True\n")
    script = "import torch, torch_neuronx\nprint(torch_neuronx.REAL)"
    assert run(script, tmp_path, PYTHONPATH=str(tmp_path)) == ["True"]
