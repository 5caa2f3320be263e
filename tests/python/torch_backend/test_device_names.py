"""Names that other devices' modules have: amp, random, default_generators; and init_device_mesh."""

import os
import subprocess
import sys

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from device_type import DEVICE_TYPE, OWN_NAME

device = torch.neuron_sim


def test_amp_is_autocast_and_the_scaler_of_this_device():
    x = torch.ones(4, 4, device=DEVICE_TYPE)
    with device.amp.autocast():
        assert (x @ x).dtype == torch.get_autocast_dtype(DEVICE_TYPE)
    for dtype in device.get_amp_supported_dtype():
        with device.amp.autocast(dtype=dtype):
            assert (x @ x).dtype == dtype
    with device.amp.autocast(enabled=False):
        assert (x @ x).dtype == torch.float32
    scaler = device.amp.GradScaler(init_scale=8.0)
    assert scaler.scale(x.sum()).item() == 8 * 16 and scaler.is_enabled()


def test_random_has_the_functions_of_the_module():
    device.random.manual_seed(7)
    state = device.random.get_rng_state()
    first = torch.rand(3, device=DEVICE_TYPE)
    device.random.set_rng_state(state)
    assert torch.rand(3, device=DEVICE_TYPE).equal(first)
    assert device.random.initial_seed() == 7


def test_the_generators_are_those_of_the_devices():
    generators = device.default_generators
    assert len(generators) == device.device_count() == len(list(generators))
    generators[1].manual_seed(11)
    assert device.default_generator(1).initial_seed() == 11
    assert generators[-1].initial_seed() == 11 and len(generators[:1]) == 1
    with pytest.raises(IndexError):
        generators[device.device_count()]


def test_a_mesh_of_one_device(tmp_path):
    program = (
        "import os, torch\n"
        "from torch.distributed import init_device_mesh\n"
        "os.environ.update(RANK='0', WORLD_SIZE='1', MASTER_ADDR='127.0.0.1', MASTER_PORT='0')\n"
        "mesh = init_device_mesh('neuron_sim', (1,), mesh_dim_names=('data',))\n"
        "assert mesh.device_type == 'neuron_sim' and mesh['data'].size() == 1\n"
        "assert type(mesh.device_type) is str\n"
        "for wrong in ('neuron_sim:0', 'cuda0'):\n"
        "    try:\n"
        "        init_device_mesh(wrong, (1,))\n"
        "    except RuntimeError as error:\n"
        "        assert 'with index is not supported' in str(error)\n"
        "    else:\n"
        "        raise AssertionError(wrong)\n"
        "x = torch.ones(2, device='neuron_sim')\n"
        "torch.distributed.all_reduce(x, group=mesh.get_group('data'))\n"
        "assert x.tolist() == [1.0, 1.0]\n"
        "torch.distributed.destroy_process_group()\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, **OWN_NAME},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
