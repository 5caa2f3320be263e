"""Packages of extras: what a command says that misses one."""

import subprocess
import sys
from importlib import metadata

import pytest
from neuron_sim import command_line
from neuron_sim.command_line.parser import COMMANDS
from neuron_sim.terminal import extras
from test_package import needs_package


def test_an_extra_is_found_by_the_import_name_of_its_package(monkeypatch):
    lines = ["torch==2.13.0", "numpy", "scipy; extra == 'fidelity'", 'a-b>=2; extra == "sweep"']
    lines += ["scipy>=1; python_version > '3' and extra == 'model'"]
    monkeypatch.setattr(extras, "requires", lambda name: lines)
    assert extras.extras_with("scipy") == ["fidelity", "model"]
    assert extras.extras_with("a_b") == ["sweep"]
    assert extras.extras_with("torch") == extras.extras_with("sci") == []


def test_a_package_that_is_not_installed_has_no_extras(monkeypatch):
    def requires(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(extras, "requires", requires)
    assert extras.extras_with("scipy") == []


@needs_package
def test_a_command_names_the_extra_that_it_misses(monkeypatch, capsys):
    def run(arguments):
        raise ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats")

    monkeypatch.setattr("neuron_sim.command_line.commands.fleet.run", run)
    assert command_line.main(["fleet"]) == 2
    said = capsys.readouterr().err
    assert "the package 'scipy' is not installed" in said
    assert "pip install 'neuron_sim[fidelity]'" in said


def test_a_missing_module_of_no_extra_stays_an_error(monkeypatch):
    def run(arguments):
        raise ModuleNotFoundError("No module named 'mine'", name="mine")

    monkeypatch.setattr("neuron_sim.command_line.commands.fleet.run", run)
    with pytest.raises(ModuleNotFoundError, match="mine"):
        command_line.main(["fleet"])


@needs_package
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_every_command_needs_no_extra(command, tmp_path):
    program = (
        "import sys\n"
        "hidden = {'scipy', 'matplotlib', 'tomlkit', 'transformers', 'perfetto'}\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in hidden:\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "from neuron_sim import command_line\n"
        "sys.meta_path.insert(0, Hidden())\n"
        f"command_line.main([{command!r}, '--help'])\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert shown.returncode == 0 and "Usage:" in shown.stdout, shown.stderr
