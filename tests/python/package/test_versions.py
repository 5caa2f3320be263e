"""Versions are stated once: that of the package in CMakeLists.txt, that of torch for the build in
cmake/neuron_sim_torch.cmake; pip must be told the release of torch in three files more."""

import ast
import importlib.metadata
import re
import tomllib

import neuron_sim
import pytest
from neuron_sim import _build
from neuron_sim.torch_backend import registration
from test_package import ROOT, needs_package


def stated(path: str, pattern: str) -> str:
    match = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    assert match, (path, pattern)
    return match[1]


@needs_package
def test_the_version_of_the_package_is_that_of_cmake():
    version = stated("CMakeLists.txt", r"project\(neuron_sim VERSION ([0-9.]+)")
    assert neuron_sim.__version__ == version == importlib.metadata.version("neuron_sim")


def test_the_release_of_torch_is_of_a_series_that_cmake_names():
    series = stated(
        "cmake/neuron_sim_torch.cmake", r"NEURON_SIM_TORCH_VERSIONS ([0-9. ]+)\)"
    ).split()
    assert _build.TORCH_SERIES in series
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [
        *project["project"]["dependencies"],
        *project["build-system"]["requires"],
        *(ROOT / "requirements-dev.txt").read_text().splitlines(),
        stated("requirements-lock.txt", r"(?m)^(torch==[0-9.]+)"),
    ]
    pins = [line for line in lines if re.match(r"torch\b", line)]
    assert len(pins) == 4 and len(set(pins)) == 1
    release = re.fullmatch(r"torch==(\d+\.\d+)\.\d+", pins[0])
    assert release and release[1] in series


@pytest.mark.parametrize("running", ["2.13.1", "2.13.0+cpu", "2.13.0.dev20260101"])
def test_every_release_of_the_series_is_accepted(running):
    registration._check_torch_version(running, "2.13")


@pytest.mark.parametrize("running", ["2.12.1", "2.14.0+cu130", "2.130.0", "3.2.13"])
def test_another_torch_is_refused_with_what_to_install(running):
    with pytest.raises(ImportError) as caught:
        registration._check_torch_version(running, "2.13")
    sentence = str(caught.value)
    assert "built for torch 2.13" in sentence and f"torch {running} is running" in sentence
    assert "install torch 2.13" in sentence


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
