"""CMakeLists.txt states the version of the packages, cmake/neuron_sim_torch.cmake those of torch,
which pip must be told in three more files."""

import ast
import importlib.metadata
import re
import tomllib

import neuron_sim
import neuron_sim_torch
import pytest
from test_package import ROOT, needs_package


def stated(path: str, pattern: str) -> str:
    match = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    assert match, (path, pattern)
    return match[1]


@needs_package
def test_the_version_of_the_package_is_that_of_cmake():
    version = stated("CMakeLists.txt", r"project\(neuron_sim VERSION ([0-9.]+)")
    assert neuron_sim.__version__ == version == importlib.metadata.version("neuron_sim")


def test_the_releases_of_torch_are_of_the_versions_that_cmake_names():
    pattern = r"NEURON_SIM_TORCH_VERSIONS ([0-9. ]+)\)"
    names = stated("cmake/neuron_sim_torch.cmake", pattern).split()
    major, newest = names[-1].split(".")
    supported = f"torch>={names[0]},<{major}.{int(newest) + 1}"
    layer = tomllib.loads((ROOT / "csrc/pyproject.toml").read_text(encoding="utf-8"))
    assert supported in layer["build-system"]["requires"]
    assert supported in layer["tool"]["scikit-build"]["metadata"]["dependencies"]["result"]
    pins = {
        stated("requirements-dev.txt", r"(?m)^torch==([0-9.]+)$"),
        stated("requirements-lock.txt", r"(?m)^torch==([0-9.]+)"),
    }
    assert len(pins) == 1 and pins.pop().rpartition(".")[0] in names


@pytest.fixture
def layer(monkeypatch, tmp_path):
    """The package of the PyTorch layer, for torch 2.9 and 2.13."""
    for name in ("torch_2_13", "torch_2_9"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(neuron_sim_torch, "__file__", str(tmp_path / "__init__.py"))
    return tmp_path


@pytest.mark.parametrize("running", ["2.13.1", "2.13.0+cpu", "2.13.0.dev20260101", "2.13"])
def test_every_release_of_a_minor_version_has_its_folder(running, layer):
    assert neuron_sim_torch.folder(running) == layer / "torch_2_13"
    assert neuron_sim_torch.versions() == ["2.9", "2.13"]


@pytest.mark.parametrize("running", ["2.12.1", "2.14.0+cu130", "2.130.0", "3.2.13"])
def test_another_torch_is_refused_with_what_to_install(running, layer):
    with pytest.raises(ImportError) as caught:
        neuron_sim_torch.folder(running)
    sentence = str(caught.value)
    assert "built for torch 2.9, 2.13," in sentence and f"torch {running} is ins" in sentence
    assert "pip install 'torch==2.13.*'" in sentence


def test_a_layer_without_any_library_says_that_it_is_broken(monkeypatch, tmp_path):
    monkeypatch.setattr(neuron_sim_torch, "__file__", str(tmp_path / "__init__.py"))
    with pytest.raises(ImportError, match="holds no library for any torch: install it again"):
        neuron_sim_torch.folder("2.13.0")


REMOVED = {"asynchat", "asyncore", "distutils", "imp", "smtpd"}
"""Modules of the standard library that Python 3.12 no longer has."""


def modules_of(source):
    """The first names of everything that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def test_imports_are_found_wherever_they_stand():
    source = "def f():\n    import os.path, imp\nfrom distutils.core import a\nfrom . import smtpd"
    assert set(modules_of(source)) == {"os", "imp", "distutils"}


@pytest.mark.parametrize("folder", ["python_bindings", "benchmarks", "models", "tools"])
def test_no_module_that_python_3_12_removed_is_imported(folder):
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    for file in files:
        found = REMOVED & set(modules_of(file.read_text(encoding="utf-8")))
        assert not found, (file, found)
