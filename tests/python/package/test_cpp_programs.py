"""A C++ training program against the installed package.

It is built with find_package in a folder outside of the repository, and runs without Python.
"""

import re
import shutil
import subprocess
from pathlib import Path

import neuron_sim
import pytest
from device_type import DEVICE_TYPE
from test_package import ROOT, build, needs_cmake, needs_package, run

pytestmark = [needs_package, needs_cmake]


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """Built from copies of the sources: what lies around them in the repository is not there."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("consumer", "cpp"):
        shutil.copytree(ROOT / "models" / name, folder / name)
    build(folder / "consumer", folder / "build", "-DPROGRAMS=training_loop")
    return folder / "build"


def test_a_program_links_no_python(programs):
    needed = run("ldd", programs / "training_loop").stdout
    assert "libtorch_neuron_sim" in needed and "libpython" not in needed
    assert "libtorch_python" not in needed


def test_a_running_program_loads_the_package_and_no_python(programs, tmp_path):
    """Also what libraries open themselves, in an environment that names no folder."""
    environment = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(tmp_path / "log")}
    result = subprocess.run(
        [programs / "training_loop", "2"], env=environment, cwd=tmp_path, capture_output=True,
        text=True,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    log = "".join(path.read_text() for path in tmp_path.glob("log.*"))
    loaded = [Path(path) for path in re.findall(r"calling init: (\S+)", log)]
    ours = {path.name: path.resolve() for path in loaded if DEVICE_TYPE in path.name}
    site = Path(neuron_sim.cmake_prefix_path()).resolve().parent
    assert set(ours) == {"libtorch_neuron_sim.so", "libneuron_sim_core.so"}
    assert all(site in path.parents for path in ours.values())
    assert not [path for path in loaded if "python" in path.name]


@pytest.mark.parametrize("device", [DEVICE_TYPE, f"{DEVICE_TYPE}:1"])
def test_the_training_loop_learns_what_it_learns_on_the_cpu(programs, device):
    result = run(programs / "training_loop", 21, device)
    assert result.returncode == 0, result.stdout + result.stderr
    losses = re.findall(r"step \d+: loss (\S+), on the CPU (\S+)", result.stdout)
    assert len(losses) == 3 and float(losses[-1][0]) < float(losses[0][0])
    assert float(re.search(r"simulated time per step: (\S+) us", result.stdout)[1]) > 0
    assert re.search(r"^  \S+ +\d+ calls +\d", result.stdout, re.MULTILINE)


def test_the_training_loop_refuses_wrong_arguments(programs):
    assert run(programs / "training_loop", 0).returncode == 2
    wrong = run(programs / "training_loop", 1, f"{DEVICE_TYPE}:99")
    assert wrong.returncode == 1 and "device index 99 is out of range" in wrong.stderr
