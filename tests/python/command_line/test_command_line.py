"""The command line itself: version, info, suggestions, exit statuses."""

import importlib.metadata
import json
import platform

import pytest
from neuron_sim import _core
from neuron_sim.command_line import COMMANDS, main


def ended(*arguments):
    """The exit status of the command."""
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    return caught.value.code


def test_the_version_is_that_of_the_package(capsys):
    assert ended("--version") == 0
    assert capsys.readouterr().out == f"neuron-sim {importlib.metadata.version('neuron_sim')}\n"


@pytest.mark.parametrize(
    ("arguments", "nearest"),
    [
        (["sweeep"], "sweep"),
        (["archs"], "arch"),
        (["arch", "shw"], "show"),
        (["info", "--jsn"], "--json"),
        (["tune", "k.py:f", "--trails=3"], "--trials"),
    ],
)
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
    assert f"usage: neuron-sim {name}" in capsys.readouterr().out


def test_info_tells_versions_architecture_and_changed_settings(capsys, monkeypatch):
    for name, *_ in _core.settings():
        monkeypatch.delenv(name, raising=False)
    assert main(["info", "--json"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert plain["versions"]["Python"] == platform.python_version()
    assert plain["versions"]["torch"] == importlib.metadata.version("torch")
    assert plain["architecture"]["name"] == "trn2" and plain["settings"] == {}
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn1")
    assert main(["info"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["name", "trn1"] in lines and ["NEURON_SIM_ARCH", "trn1"] in lines
    monkeypatch.setenv("NEURON_SIM_ARCH", "trn9")
    assert main(["info"]) == 2
