"""C++ programs against the installed package: training, images from disk, exported programs.

They are built with find_package in a folder outside of the repository, and run without Python.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import neuron_sim
import numpy
import pytest
import torch
from PIL import Image
from sklearn.datasets import load_digits, load_sample_images
from test_package import ROOT, build, needs_cmake, needs_package, run

sys.path.insert(0, str(ROOT / "models"))
import resnet

pytestmark = [
    needs_package, needs_cmake, pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),
]  # fmt: skip
SIZE = 64
CLASSES = 12
PROGRAMS = ("training_loop", "run_exported", "classify_images")


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


@pytest.fixture(scope="module")
def scripted(model, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("scripted") / "resnet.pt"
    torch.jit.script(model).save(str(path))
    return path


@pytest.fixture(scope="module")
def images(tmp_path_factory) -> list[Path]:
    """A JPEG as it was photographed, a grey PNG and one with transparency."""
    folder = tmp_path_factory.mktemp("images")
    photograph = load_sample_images().filenames[0]
    digit = (load_digits().images[3] * 15).astype(numpy.uint8)
    Image.fromarray(digit).resize((50, 41)).save(folder / "grey.png")
    Image.fromarray(digit).convert("RGBA").resize((80, 33)).save(folder / "alpha.png")
    shutil.copy(photograph, folder / "photograph.jpg")
    return [folder / name for name in ("photograph.jpg", "grey.png", "alpha.png")]


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


# Images


def prepared(path: Path) -> torch.Tensor:
    """What classify_images makes of an image, by Pillow and torch."""
    pixels = numpy.asarray(Image.open(path).convert("RGBA"), dtype=numpy.float32)
    colours = torch.from_numpy(pixels[..., :3] * (pixels[..., 3:] / 255)).permute(2, 0, 1) / 255
    height, width = colours.shape[1:]
    shorter, scaled = min(height, width), (SIZE * 8 + 6) // 7
    sizes = [max(SIZE, side * scaled // shorter) for side in (height, width)]
    resized = torch.nn.functional.interpolate(
        colours[None], sizes, mode="bilinear", antialias=True, align_corners=False
    )
    top, left = ((side - SIZE) // 2 for side in sizes)
    square = resized[:, :, top : top + SIZE, left : left + SIZE]
    mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
    deviation = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
    return (square - mean) / deviation


def test_images_from_disk_get_the_classes_that_python_finds(programs, scripted, images, model):
    result = run(programs / "classify_images", scripted, "--size", SIZE, *images)
    assert result.returncode == 0, result.stdout + result.stderr
    with torch.no_grad():
        expected = model(torch.cat([prepared(path) for path in images])).softmax(1)
    for path, probabilities in zip(images, expected, strict=True):
        line = next(line for line in result.stdout.splitlines() if line.startswith(f"{path}:"))
        shown = re.findall(r" (\d+) \((\S+) %\)", line)
        assert len(shown) == 5
        for index, share in shown:
            # Two decoders of JPEG differ by a level of colour here and there.
            assert float(share) / 100 == pytest.approx(float(probabilities[int(index)]), abs=2e-3)
    assert re.search(r"simulated time of the batch of 3: \d", result.stdout)
    assert re.search(r"^  aten::conv2d +20 calls +\d", result.stdout, re.MULTILINE)


def test_files_that_are_no_images_are_named(programs, scripted, images, tmp_path):
    def error(path: Path) -> str:
        result = run(programs / "classify_images", scripted, "--size", SIZE, path)
        assert result.returncode == 1
        return result.stderr

    (tmp_path / "text.png").write_text("no image")
    assert f"{tmp_path}/text.png: neither a PNG nor a JPEG file." in error(tmp_path / "text.png")
    assert "missing.png: cannot be opened." in error(tmp_path / "missing.png")
    for path in images[:2]:
        damaged = tmp_path / f"damaged{path.suffix}"
        damaged.write_bytes(path.read_bytes()[:40])
        assert f"{damaged}: " in error(damaged)
    assert run(programs / "classify_images", scripted).returncode == 2


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


def test_the_models_command_writes_both_files(programs, tmp_path):
    paths = tmp_path / "resnet.pt", tmp_path / "resnet.pt2"
    command = [sys.executable, ROOT / "models/resnet.py", "--scripted", paths[0]]
    command += ["--exported", paths[1], "--size", SIZE, "--classes", CLASSES]
    result = run(*command, OMP_NUM_THREADS="1", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert result.returncode == 0, result.stderr
    assert all(os.path.getsize(path) > 40_000_000 for path in paths)
