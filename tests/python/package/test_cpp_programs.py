"""C++ programs against the installed package: training and exported programs.

They are built with find_package in a folder outside of the repository, and run without Python.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import neuron_sim
import pytest
import torch
from test_package import ROOT, build, needs_cmake, needs_package, run

sys.path.insert(0, str(ROOT / "models"))
import resnet

pytestmark = [needs_package, needs_cmake]
SIZE = 64
CLASSES = 12
PROGRAMS = ("training_loop", "run_exported")


@pytest.fixture(scope="module")
def programs(tmp_path_factory) -> Path:
    """Built from copies of the sources: what lies around them in the repository is not there."""
    folder = tmp_path_factory.mktemp("programs")
    for name in ("consumer", "cpp"):
        shutil.copytree(ROOT / "models" / name, folder / name)
    build(folder / "consumer", folder / "build", f"-DPROGRAMS={';'.join(PROGRAMS)}")
    return folder / "build"


@pytest.fixture(scope="module")
def model():
    return resnet.random_resnet(18, CLASSES)


def without_python(program: Path) -> subprocess.CompletedProcess:
    return run("ldd", program)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_links_no_python(programs, program):
    needed = without_python(programs / program).stdout
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
    ours = {path.name: path.resolve() for path in loaded if "neuron_sim" in path.name}
    package = Path(neuron_sim.cmake_prefix_path()).resolve()
    assert set(ours) == {"libtorch_neuron_sim.so", "libneuron_sim_core.so"}
    assert all(package in path.parents for path in ours.values())
    assert not [path for path in loaded if "python" in path.name]


# Training


@pytest.mark.parametrize("device", ["neuron_sim", "neuron_sim:1"])
def test_the_training_loop_learns_what_it_learns_on_the_cpu(programs, device):
    result = run(programs / "training_loop", 21, device)
    assert result.returncode == 0, result.stdout + result.stderr
    losses = re.findall(r"step \d+: loss (\S+), on the CPU (\S+)", result.stdout)
    assert len(losses) == 3 and float(losses[-1][0]) < float(losses[0][0])
    assert float(re.search(r"simulated time per step: (\S+) us", result.stdout)[1]) > 0
    assert re.search(r"^  \S+ +\d+ calls +\d", result.stdout, re.MULTILINE)


def test_the_training_loop_refuses_wrong_arguments(programs):
    assert run(programs / "training_loop", 0).returncode == 2
    wrong = run(programs / "training_loop", 1, "neuron_sim:99")
    assert wrong.returncode == 1 and "device index 99 is out of range" in wrong.stderr


# Exported programs


class Several(torch.nn.Module):
    """Lists, scalars, dtypes, a constant, an embedding, several outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 8)
        self.norm = torch.nn.LayerNorm(8)
        self.scale = torch.tensor([1.0, 2.0, 3.0, 4.0])

    def forward(self, tokens, mask):
        x = self.norm(self.embedding(tokens))
        first, second = torch.split(x, [4, 4], dim=-1)
        x = torch.cat([second * self.scale, first.clamp(max=0.5)], -1)
        x = x.masked_fill(mask[..., None], float("-inf")).softmax(1)
        x = x * 2 + 1 - x.shape[0]
        top, index = x.transpose(1, 2).topk(2)
        return top.half(), index, torch.zeros_like(x) + x.sum(-1, keepdim=True)


def exported(module, inputs, path: Path, **options) -> Path:
    torch.export.save(torch.export.export(module.eval(), inputs, **options), str(path))
    return path


@pytest.mark.parametrize("device", ["neuron_sim", "neuron_sim:1"])
def test_an_exported_resnet_runs_without_python(programs, model, device, tmp_path):
    inputs = (torch.randn(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(1)),)
    path = exported(model, inputs, tmp_path / "resnet.pt2")
    result = run(programs / "run_exported", path, "--device", device)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"output 0: Float [2, {CLASSES}]" in result.stdout
    assert re.search(r"simulated time: \d", result.stdout)


def test_an_exported_program_of_many_kinds_of_arguments_runs(programs, tmp_path):
    tokens = torch.tensor([[1, 2, 3], [7, 8, 9]])
    mask = torch.tensor([[False, True, False], [False, False, True]])
    path = exported(Several(), (tokens, mask), tmp_path / "several.pt2")
    result = run(programs / "run_exported", path)
    assert result.returncode == 0, result.stdout + result.stderr
    shown = re.findall(r"output \d: (\S+) (\[.*?\])", result.stdout)
    assert shown == [("Half", "[2, 8, 2]"), ("Long", "[2, 8, 2]"), ("Float", "[2, 3, 8]")]


def test_a_dynamic_batch_takes_other_inputs(programs, model, tmp_path):
    batch = {0: torch.export.Dim("batch", min=1, max=16)}
    first = (torch.randn(2, 3, SIZE, SIZE),)
    path = exported(model, first, tmp_path / "resnet.pt2", dynamic_shapes=(batch,))
    torch.save([torch.randn(3, 3, SIZE, SIZE)], tmp_path / "inputs.pt")
    result = run(programs / "run_exported", path, tmp_path / "inputs.pt")
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"output 0: Float [3, {CLASSES}]" in result.stdout


def test_what_an_exported_program_cannot_be_is_said(programs, tmp_path):
    training = torch.nn.BatchNorm1d(3)
    path = tmp_path / "training.pt2"
    program = torch.export.export(training.train(), (torch.randn(4, 3),))
    torch.export.save(program.run_decompositions(), str(path))
    result = run(programs / "run_exported", path)
    assert result.returncode == 1
    assert (
        "outputs of kind buffer_mutation are not supported; export in eval mode." in result.stderr
    )

    path = exported(torch.nn.ReLU(), (torch.randn(4),), tmp_path / "relu.pt2")
    torch.save([torch.ones(4), torch.ones(4)], tmp_path / "two.pt")
    result = run(programs / "run_exported", path, tmp_path / "two.pt")
    assert result.returncode == 1 and "the program takes 1 inputs, got 2." in result.stderr
    (tmp_path / "text.pt2").write_text("no archive")
    assert run(programs / "run_exported", tmp_path / "text.pt2").returncode == 1
    assert run(programs / "run_exported").returncode == 2


def test_the_models_command_writes_an_exported_program(tmp_path):
    path = tmp_path / "resnet.pt2"
    command = [sys.executable, ROOT / "models/resnet.py", "--exported", path]
    command += ["--size", SIZE, "--classes", CLASSES]
    result = run(*command, OMP_NUM_THREADS="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert result.returncode == 0, result.stderr
    assert os.path.getsize(path) > 40_000_000
