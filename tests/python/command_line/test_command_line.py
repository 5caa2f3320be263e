"""The command line itself: version, info, suggestions, exit statuses."""

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys

import pytest
from neuron_sim import _core
from neuron_sim.command_line import main
from neuron_sim.command_line.commands import explain
from neuron_sim.command_line.parser import COMMANDS


def ended(*arguments):
    """The exit status of the command."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code


def test_the_version_is_that_of_the_package(capsys):
    assert ended("--version") == 0
    assert capsys.readouterr().out == f"neuron-sim {importlib.metadata.version('neuron_sim')}\n"


@pytest.mark.parametrize(("arguments", "nearest"), [
    (["sweeep"], "sweep"),
    (["archs"], "arch"),
    (["arch", "shw"], "show"),
    (["info", "--jsn"], "--json"),
    (["tune", "k.py:f", "--trails=3"], "--trials"),
])  # fmt: skip
def test_the_nearest_word_is_suggested(capsys, arguments, nearest):
    assert ended(*arguments) == 2
    assert capsys.readouterr().err.endswith(f"(did you mean {nearest}?)\n")


@pytest.mark.parametrize("word", ["qqqq", ""])
def test_nothing_is_suggested_for_a_word_that_is_like_none(capsys, word):
    assert ended(word) == 2
    error = capsys.readouterr().err
    assert f"invalid choice: '{word}'" in error and "did you mean" not in error


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(capsys, name):
    assert ended(name, "--help") == 0
    assert f"Usage: neuron-sim {name}" in capsys.readouterr().out


def test_info_tells_versions_architecture_and_changed_settings(capsys, monkeypatch):
    for name, *_ in _core.settings():
        monkeypatch.delenv(name, raising=False)
    assert main(["info", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["versions"]["Python"] == platform.python_version()
    assert plain["versions"]["numpy"] == importlib.metadata.version("numpy")
    assert plain["architecture"]["name"] == "trn2" and plain["settings"] == {}
    rate = r"\w+( \(used\))?: \d+ GFLOP/s in fp32, \d+ in bf16"
    assert re.fullmatch(f"{rate}(; {rate})*", plain["host"]["products"])
    assert plain["host"]["products"].count("(used)") == 1
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn1")
    assert main(["info"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["name", "trn1"] in lines and ["NEURON_SIM_ARCH", "trn1"] in lines
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn9")
    assert main(["info"]) == 2


def test_a_known_command_loads_no_other_one():
    program = (
        "import sys\n"
        "from neuron_sim.command_line import main\n"
        "from neuron_sim.command_line.parser import COMMANDS\n"
        "try: main(['run', '--help'])\n"
        "except SystemExit: pass\n"
        "others = {each for name, each in COMMANDS.items() if name not in ('run', 'completion')}\n"
        "assert not (others | {'torch', 'neuron_sim._core', 'argcomplete'}) & set(sys.modules)\n"
        "print('rich_argparse' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["True"], done.stderr


def test_a_command_that_runs_loads_nothing_of_rich(tmp_path):
    program = (
        "import os, sys\n"
        "from neuron_sim.command_line import main\n"
        "def execve(*_): print([name for name in sys.modules if name.startswith('rich')])\n"
        "os.execve = execve\n"
        "main(['run', '-m', 'json.tool'])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_an_interrupt_ends_with_130_and_without_a_word(monkeypatch, capsys):
    def run(arguments):
        raise KeyboardInterrupt  # a shell may have started the tests with SIGINT ignored

    monkeypatch.setattr(explain, "run", run)
    assert main(["explain", "nc_matmul"]) == 130
    assert capsys.readouterr() == ("", "")


def test_an_interrupt_while_the_command_loads_is_the_same(monkeypatch, capsys):
    def add_arguments(parser):
        raise KeyboardInterrupt  # a shell may have started the tests with SIGINT ignored

    monkeypatch.setattr(explain, "add_arguments", add_arguments)
    assert main(["explain", "nc_matmul"]) == 130
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_has_enough_ends_the_command_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "neuron_sim", "arch", "show", "trn2"]
    with os.fdopen(writing, "w") as stdout:
        done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "")


def test_brackets_in_descriptions_are_shown(capsys):
    assert ended("sweep", "--help") == 0
    told = capsys.readouterr().out
    assert "a=bfloat16[128, 2*K]" in told and "[sweep]" in told


@pytest.mark.parametrize(
    ("name", "near"), [("kernls.py", "kernels.py"), ("kernels.pyy", "kernels.py"), ("qqqq", None)]
)
def test_the_nearest_file_is_suggested(tmp_path, capsys, monkeypatch, name, near):
    (tmp_path / "kernels.py").touch()
    target = tmp_path / name
    suggestion = f" (did you mean {tmp_path / near}?)" if near else ""
    assert main(["sweep", f"{target}:f", "--over", "K=1"]) == 2
    assert f"there is no file '{target}'{suggestion};" in capsys.readouterr().err


def test_a_folder_that_is_not_there_suggests_nothing(tmp_path, capsys):
    assert main(["sweep", f"{tmp_path}/none/k.py:f", "--over", "K=1"]) == 2
    assert "did you mean" not in capsys.readouterr().err


def test_a_file_that_the_host_does_not_find_is_named_with_the_nearest(
    monkeypatch, tmp_path, capsys
):
    (tmp_path / "kernels.toml").touch()

    def run(arguments):
        open(tmp_path / "kernel.toml")

    monkeypatch.setattr(explain, "run", run)
    assert main(["explain", "nc_matmul"]) == 2
    near = f"No such file or directory (did you mean {tmp_path / 'kernels.toml'}?)."
    assert near in capsys.readouterr().err


def test_the_bare_command_prints_its_help(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--help"])
    told = capsys.readouterr().out
    assert ended.value.code == 0 and "  sweep" in told
    assert main([]) == 0
    assert capsys.readouterr() == (told, "")
