"""An option for a second run of the tests under another setting, of which a sample is enough; and
what is left out where torch is not installed."""

import importlib.util
import traceback
import zlib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
HAS_TORCH = importlib.util.find_spec("torch") is not None
PACKAGES = ("torch", "neuron_sim_torch")
LAYER = (
    "_C.py", "torch_device.py", "torch_backend", "torch_compile", "layer_report", "model",
    "clients", "calling_place.py", "fidelity/published_models", "run/torch_neuronx",
    "run/torch_xla",
)  # fmt: skip
"""What tests import of the package that needs torch; any other module that misses it fails."""

collect_ignore = [] if HAS_TORCH else ["model", "ops"]  # their conftest.py needs torch


def pytest_addoption(parser):
    parser.addoption(
        "--one-in", type=int, default=1, metavar="N", help="run one test in N, the same ones always"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "torch: is left out where torch is not installed")


def pytest_collection_modifyitems(config, items):
    divisor = config.getoption("one_in")
    items[:] = [item for item in items if zlib.crc32(item.nodeid.encode()) % divisor == 0]
    for item in items if not HAS_TORCH else ():
        if item.get_closest_marker("torch"):
            item.add_marker(pytest.mark.skip(reason="torch is not installed"))


class ModuleWithoutTorch(pytest.Module):
    """A module of tests, left out as a whole if it imports torch, itself or with the layer."""

    def collect(self):
        try:
            return super().collect()
        except self.CollectError as error:
            if misses_torch(error.__cause__):
                pytest.skip("torch is not installed", allow_module_level=True)
            raise


def pytest_pycollect_makemodule(module_path, parent):
    return None if HAS_TORCH else ModuleWithoutTorch.from_parent(parent, path=module_path)


def _left_out_without_torch():
    """A wrapper of a hook: a test, or a fixture of it, that imports torch is left out."""
    try:
        return (yield)
    except ModuleNotFoundError as error:
        if HAS_TORCH or not misses_torch(error):
            raise
        pytest.skip("torch is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup():
    return (yield from _left_out_without_torch())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    return (yield from _left_out_without_torch())


def misses_torch(error):
    """Whether the error says that a test, or a part of the layer that it uses, needs torch."""
    if not isinstance(error, ModuleNotFoundError) or error.name not in PACKAGES:
        return False
    files = [Path(frame.filename) for frame in traceback.extract_tb(error.__traceback__)]
    ours = [file for file in files if HERE in file.parents or "neuron_sim" in file.parts]
    imported = [file for file in ours if HERE not in file.parents]
    return not imported or any(f"/neuron_sim/{name}" in str(imported[0]) for name in LAYER)
