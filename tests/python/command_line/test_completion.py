"""Completion: what a shell is told, in the protocol of argcomplete."""

import os
import shutil
import subprocess
import sys

import pytest
from neuron_sim.command_line import main
from neuron_sim.command_line.parser import COMMANDS


def completed(line):
    """The words that the command offers to bash for the end of a line."""
    environment = {
        **os.environ, "_ARGCOMPLETE": "1", "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_IFS": "\n", "_ARGCOMPLETE_SHELL": "bash", "COMP_TYPE": "9",
        "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_STDOUT_FILENAME": "words",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-m", "neuron_sim"], env=environment, check=True)
    assert done.returncode == 0
    with open("words") as file:
        return file.read().split("\n")


@pytest.fixture(autouse=True)
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_commands_are_completed():
    assert completed("neuron-sim ex") == ["explain"]
    assert set(COMMANDS) <= set(completed("neuron-sim "))


def test_options_choices_and_commands_of_commands_are_completed():
    assert completed("neuron-sim tune --tri") == ["--trials"]
    assert completed("neuron-sim model --dtype b") == ["bfloat16"]
    assert completed("neuron-sim arch sh") == ["show"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_code_for_a_shell_names_the_command(shell, capsys):
    assert main(["completion", shell]) == 0
    assert "neuron-sim" in capsys.readouterr().out


def test_bash_completes_with_the_code():
    script = (
        'eval "$(python -m neuron_sim completion bash)"\n'
        "COMP_WORDS=(neuron-sim ex) COMP_CWORD=1 COMP_LINE='neuron-sim ex' COMP_POINT=13\n"
        "COMP_TYPE=9 COMP_KEY=9\n"
        "_python_argcomplete neuron-sim ex neuron-sim\n"
        'echo "${COMPREPLY[@]}"'
    )
    folder = os.path.dirname(sys.executable)
    environment = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    bash = shutil.which("bash")
    done = subprocess.run([bash, "-c", script], env=environment, capture_output=True, text=True)
    assert done.stdout == "explain\n" or done.stdout.strip() == "explain", done.stderr
