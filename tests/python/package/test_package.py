"""The installed package: its files, its run paths, and C++ programs outside of this repository."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import neuron_sim
import pytest
from device_type import OWN_NAME

ROOT = Path(__file__).resolve().parents[3]
COMMAND = ("bin", "neuron-sim")
"""Where the installed command is: the only file outside of the package's folders."""


def distribution(name: str = "neuron_sim_torch") -> importlib.metadata.Distribution | None:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return None


needs_package = pytest.mark.skipif(
    distribution() is None, reason="neuron_sim is not installed with pip"
)
needs_cmake = pytest.mark.skipif(
    not (shutil.which("cmake") and shutil.which("g++")), reason="there is no cmake or no g++"
)


def run(*command, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**os.environ, **OWN_NAME, **environment},
    )


def run_python(program: str, folder: Path, **environment: str) -> str:
    """Runs it in an empty folder, so that nothing is found by accident."""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=folder,
        env={**os.environ, **OWN_NAME, **environment},
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    return result.stdout


def libraries() -> list[Path]:
    """The shared objects that are ours."""
    site = Path(neuron_sim.cmake_prefix_path()).parent
    found = [path for path in site.glob("neuron_sim*/**/*.so*") if "libdnnl" not in path.name]
    assert len(found) == 4, found
    return found


# Paths


@needs_package
def test_the_paths_are_found_without_importing_torch(tmp_path):
    shown = run_python(
        "import sys, neuron_sim\n"
        "print(neuron_sim.cmake_prefix_path())\n"
        "print(neuron_sim.library_path())\n"
        "heavy = {'torch', 'numpy', 'neuron_sim._core', 'neuron_sim._C'} & set(sys.modules)\n"
        "assert not heavy, heavy",
        tmp_path,
    ).split("\n")
    assert Path(shown[0], "share/cmake/neuron_sim/neuron_simConfig.cmake").is_file()
    assert Path(shown[1]).is_file()


@needs_package
def test_the_compiled_module_may_be_imported_before_torch(tmp_path):
    shown = run_python(
        "import sys\n"
        "from neuron_sim import _C\n"
        "import torch\n"
        "assert _C is sys.modules['neuron_sim._C']\n"
        "print((torch.ones(2, device=torch._C._get_privateuse1_backend_name()) + 1).tolist())",
        tmp_path,
    )
    assert shown.strip() == "[2.0, 2.0]"


def test_without_an_installed_package_its_path_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(FileNotFoundError, match="no compiled module: install it with pip"):
        neuron_sim.cmake_prefix_path()
    spec = importlib.util.spec_from_file_location("_core", tmp_path / "_core.so")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(FileNotFoundError, match=re.escape(str(tmp_path))):
        neuron_sim.cmake_prefix_path()


@needs_package
def test_the_core_needs_neither_torch_nor_onednn():
    requirements = " ".join(distribution("neuron_sim").requires or [])
    assert "numpy" in requirements and not re.search(r"\btorch\b(?!.*extra)", requirements)
    package = Path(neuron_sim.cmake_prefix_path())
    for library in package.rglob("*.so"):
        needed = run("readelf", "-d", library).stdout
        assert "libdnnl" not in needed and "libtorch" not in needed and "libc10" not in needed


@needs_package
def test_the_library_alone_brings_the_ops(tmp_path):
    shown = run_python(
        "import torch, neuron_sim\n"
        "assert not hasattr(torch.ops.neuron_sim, 'matmul')\n"
        "torch.ops.load_library(neuron_sim.library_path())\n"
        "print(torch.ops.neuron_sim.matmul(torch.eye(2), torch.eye(2)).tolist())",
        tmp_path,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert shown == "[[1.0, 0.0], [0.0, 1.0]]\n"


# Contents


@needs_package
def test_torch_finds_the_installed_device_by_itself(tmp_path):
    shown = run_python("import torch; print(torch.ones(2, device='neuron_sim'))", tmp_path)
    assert shown == "tensor([1., 1.], device='neuron_sim:0')\n"


@needs_package
def test_the_command_is_installed_and_lists_its_subcommands(tmp_path):
    command = Path(sys.executable).parent / COMMAND[-1]
    shown = subprocess.run([command, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
    assert "fleet" in shown.stdout


@needs_package
@pytest.mark.parametrize("name", ["neuron_sim", "neuron_sim_torch"])
def test_a_package_owns_only_its_folder_so_that_uninstalling_leaves_torch_alone(name):
    files = [path for path in distribution(name).files or [] if path.parts[-2:] != COMMAND]
    assert files
    assert {re.sub(r"-.*\.dist-info$", "", path.parts[0]) for path in files} == {name}


@needs_package
@pytest.mark.skipif(not shutil.which("readelf"), reason="there is no readelf")
def test_run_paths_are_relative_to_the_file():
    for library in libraries():
        dynamic = run("readelf", "-d", library).stdout
        paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
        assert len(paths) == ("core.so" not in library.name), library  # it needs no other of them
        folders = ":".join(paths).split(":") if paths else []
        assert all(folder.startswith("$ORIGIN") for folder in folders), (library, paths)


@needs_package
def test_libraries_hold_no_path_of_the_machine_that_built_them():
    for library in libraries():
        content = library.read_bytes()
        for path in (ROOT, sys.prefix):
            assert f"{path}/".encode() not in content, (library, path)


@needs_package
def test_the_package_has_its_types_and_the_licences_of_what_it_contains():
    files = {str(path): path for path in distribution("neuron_sim").files or []}
    package = Path(neuron_sim.cmake_prefix_path())
    layer = package.parent / "neuron_sim_torch"
    assert "neuron_sim/py.typed" in files and "neuron_sim/_core.pyi" in files
    assert "def time_kernel(" in (package / "_core.pyi").read_text()
    assert "Apache License" in (layer / "licenses/oneDNN/LICENSE").read_text()
    assert "Xbyak" in (layer / "licenses/oneDNN/THIRD-PARTY-PROGRAMS").read_text().title()
    notice = next(path for name, path in files.items() if name.endswith("licenses/NOTICE"))
    text = Path(notice.locate()).read_text()
    for name in ("oneDNN", "{fmt}", "toml++", "nanobind", "robin-map"):
        assert name in text


@needs_package
def test_the_device_imports_nothing_but_torch_numpy_and_itself(tmp_path):
    """The other packages of this environment cannot be found; those that torch imports may."""
    run_python(
        "import sys, importlib.metadata as metadata\n"
        "missing = {'ml_dtypes', 'scipy', 'matplotlib', 'tomlkit', 'transformers', 'perfetto'}\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in missing:\n"
        "            raise ModuleNotFoundError(f'No module named {name}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "import torch\n"
        "x = torch.ones(3, 3, device='neuron_sim', requires_grad=True)\n"
        "(x @ x).sum().backward()\n"
        "assert x.grad.tolist() == [[6.0] * 3] * 3\n",
        tmp_path,
    )


@needs_package
def test_every_header_finds_its_includes_inside_the_packages():
    core = Path(neuron_sim.cmake_prefix_path()) / "include/neuron_sim"
    layer = core.parents[2] / "neuron_sim_torch/include/neuron_sim"
    headers = [path for folder in (core, layer) for path in folder.rglob("*.h")]
    assert layer / "csrc/neuron_sim.h" in headers
    assert {core / "device/builder/builder.h", core / "device/isa/dma/dma_copy.h"} <= {*headers}
    for header in headers:
        for name in re.findall(r'^#include "(.*)"', header.read_text(), re.MULTILINE):
            assert (core / name).is_file() or (layer / name).is_file(), (header, name)


# Consumers


def configure(source: Path, build: Path, *options: str) -> subprocess.CompletedProcess:
    launcher = shutil.which("ccache")
    return run(
        "cmake", *("-S", source, "-B", build, "-DCMAKE_BUILD_TYPE=Release"),
        f"-DCMAKE_PREFIX_PATH={neuron_sim.cmake_prefix_path()}", *options,
        *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []), CXX="g++",
    )  # fmt: skip


def build(source: Path, folder: Path, *options: str) -> None:
    configured = configure(source, folder, *options)
    assert configured.returncode == 0, configured.stderr
    built = run("cmake", "--build", folder, "-j2")
    assert built.returncode == 0, built.stdout + built.stderr


@needs_package
@needs_cmake
def test_an_outside_program_builds_with_find_package_and_runs(tmp_path):
    build(ROOT / "models/consumer", tmp_path, "-DPROGRAMS=custom_ops;digits_cnn")
    ops = run(tmp_path / "custom_ops")
    assert ops.returncode == 0, ops.stdout + ops.stderr
    assert "conv2d_maxpool: max difference" in ops.stdout and "WRONG" not in ops.stdout

    usage = run(tmp_path / "digits_cnn")
    assert usage.returncode == 2 and usage.stderr.startswith("usage: digits_cnn")
    run_python(
        "import digits, torch\n"
        "torch.manual_seed(3)\n"
        "torch.jit.script(digits.DigitsCnn()).save('model.pt')\n"
        "torch.jit.script(digits.TestSet(digits.load_data())).save('test.pt')",
        tmp_path,
        PYTHONPATH=str(ROOT / "models"),
    )
    result = run(tmp_path / "digits_cnn", tmp_path / "model.pt", tmp_path / "test.pt")
    assert result.returncode == 0, result.stderr
    assert "predictions equal to the CPU's: yes\n" in result.stdout


@needs_package
@needs_cmake
def test_an_outside_program_needs_no_torch_for_the_core(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(outside LANGUAGES CXX)\n"
        "find_package(neuron_sim 0.1 REQUIRED)\n"
        "add_executable(outside outside.cpp)\n"
        "target_link_libraries(outside PRIVATE neuron_sim::core)\n"
    )
    (tmp_path / "outside.cpp").write_text(
        '#include "device/arch/architecture.h"\n'
        "#include <iostream>\n"
        "int main() {\n"
        '  std::cout << neuron_sim::load_architecture("trn2").limits.partitions;\n'
        "}\n"
    )
    build(tmp_path, tmp_path / "build")
    assert run(tmp_path / "build/outside").stdout == "128"
    needed = run("ldd", tmp_path / "build/outside").stdout
    assert "libneuron_sim_core" in needed and "libtorch" not in needed and "libc10" not in needed


@needs_package
@needs_cmake
def test_another_version_is_not_found(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(outside LANGUAGES CXX)\n"
        "find_package(neuron_sim 9.9 REQUIRED)\n"
    )
    result = configure(tmp_path, tmp_path / "build")
    assert result.returncode != 0 and "version" in result.stderr
