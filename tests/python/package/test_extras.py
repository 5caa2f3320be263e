"""Packages of extras: what a command says that misses one."""

import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
from neuron_sim import command_line
from neuron_sim.command_line.parser import COMMANDS
from neuron_sim.terminal import extras
from test_package import distribution

needs_package = pytest.mark.skipif(
    distribution("neuron_sim") is None, reason="neuron_sim is not installed with pip"
)


def test_an_extra_is_found_by_the_import_name_of_its_package(monkeypatch):
    lines = ["numpy", "scipy; extra == 'fidelity'", 'a-b>=2; extra == "sweep"']
    lines += ["scipy>=1; python_version > '3' and extra == 'model'"]
    lines += ["neuron_sim_torch==0.1; extra == 'torch'"]
    monkeypatch.setattr(extras, "requires", lambda name: lines)
    assert extras.extras_with("scipy") == ["fidelity", "model"]
    assert extras.extras_with("a_b") == ["sweep"]
    assert extras.extras_with("torch") == extras.extras_with("neuron_sim_torch") == ["torch"]
    assert extras.extras_with("model") == extras.extras_with("sci") == []


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
    assert 'pip install "neuron-sim[fidelity]"' in said


def test_of_several_extras_that_of_the_user_is_named(monkeypatch):
    lines = ["scipy; extra == 'fidelity'", "scipy; extra == 'model'"]
    monkeypatch.setattr(extras, "requires", lambda name: lines)
    for user, named in (("model", "model"), ("report", "fidelity")):
        with pytest.raises(ModuleNotFoundError, match=rf'"neuron-sim\[{named}\]"') as missing:
            with extras.explained(user):
                raise ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats")
        assert missing.value.name == "scipy.stats"
    with pytest.raises(ModuleNotFoundError, match="^mine$"), extras.explained():
        raise ModuleNotFoundError("mine", name="mine")


def test_a_missing_module_of_no_extra_stays_an_error(monkeypatch):
    def run(arguments):
        raise ModuleNotFoundError("No module named 'mine'", name="mine")

    monkeypatch.setattr("neuron_sim.command_line.commands.fleet.run", run)
    with pytest.raises(ModuleNotFoundError, match="mine"):
        command_line.main(["fleet"])


def without(hidden: set[str], program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program in which these packages cannot be found."""
    prelude = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.partition('.')[0] in {hidden}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "from neuron_sim import command_line\n"
    )
    return subprocess.run(
        [sys.executable, "-c", prelude + program], cwd=folder, capture_output=True, text=True
    )


@needs_package
@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_every_command_needs_no_extra(command, tmp_path):
    hidden = {"torch", "scipy", "matplotlib", "tomlkit", "transformers", "perfetto"}
    shown = without(hidden, f"command_line.main([{command!r}, '--help'])", tmp_path)
    assert shown.returncode == 0 and "Usage:" in shown.stdout, shown.stderr


@needs_package
@pytest.mark.parametrize(
    "words",
    ["fleet --basic", "model resnet18", "model --list", "model --published", "report resnet18",
     "sweep model:resnet18 --over batch=1,2"],
)  # fmt: skip
def test_a_command_that_needs_torch_says_what_to_install(words, tmp_path):
    command = words.split()[0]
    shown = without({"torch"}, f"sys.exit(command_line.main({words.split()}))", tmp_path)
    assert (shown.returncode, shown.stdout) == (2, "")
    assert shown.stderr == (
        f"neuron-sim {command}: error: the package 'torch' is not installed; "
        f'pip install "neuron-sim[{"model" if command == "model" else "torch"}]" installs it.\n'
    )


@needs_package
@pytest.mark.parametrize(
    "program",
    ["import neuron_sim.torch_device", "import neuron_sim; neuron_sim.report(None, ())",
     "import neuron_sim; neuron_sim.library_path()"],
)  # fmt: skip
def test_what_needs_torch_in_python_says_what_to_install(program, tmp_path):
    shown = without({"torch", "neuron_sim_torch"}, program, tmp_path)
    assert shown.returncode == 1
    assert re.fullmatch(
        r"ModuleNotFoundError: the package '(neuron_sim_)?torch' is not installed; "
        r'pip install "neuron-sim\[torch\]" installs it\.',
        shown.stderr.splitlines()[-1],
    )
