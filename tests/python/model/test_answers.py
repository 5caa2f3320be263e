"""Answers on disk: found again by what they depend on, and only then."""

import json
import os
import subprocess
import sys
import threading

import pytest
from device_type import DEVICE_TYPE
from neuron_sim.command_line import main
from neuron_sim.model import answers

QUESTION = {"model": "m", "batch": 1}


class Computation:
    """Counts its calls; answers with their number."""

    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return {"number": self.calls, "pair": (1, 2)}


def kept():
    return sorted(answers.folder().glob("*"))


def test_an_answer_is_computed_once_and_read_as_it_was_written():
    compute = Computation()
    first = answers.recall(QUESTION, compute)
    assert answers.recall(dict(reversed(QUESTION.items())), compute) == first
    assert first == {"number": 1, "pair": [1, 2]}
    assert compute.calls == 1 and len(kept()) == 1


@pytest.mark.parametrize("other", [{"model": "m", "batch": 2}, {"model": "m", "batch": "1"}, {}])
def test_another_question_has_another_answer(other):
    compute = Computation()
    answers.recall(QUESTION, compute)
    assert answers.recall(other, compute)["number"] == 2


def test_settings_of_the_environment_are_part_of_a_question(monkeypatch):
    compute = Computation()
    answers.recall(QUESTION, compute)
    monkeypatch.setenv("NEURON_SIM_DYNAMIC_TRIPS", "3")
    answers.surroundings.cache_clear()
    try:
        assert answers.recall(QUESTION, compute)["number"] == 2
    finally:
        monkeypatch.undo()
        answers.surroundings.cache_clear()


@pytest.mark.parametrize("damage", [
    lambda text: "",
    lambda text: text[: len(text) // 2],
    lambda text: text.replace('"number": 1', '"number": 7'),
    lambda text: "[]",
    lambda text: '{"content": {}, "digest": 3}',
    lambda text: "\0" * len(text),
    lambda text: "[" * 100_000,
])  # fmt: skip
def test_a_damaged_file_is_replaced(damage):
    compute = Computation()
    answers.recall(QUESTION, compute)
    (file,) = kept()
    file.write_text(damage(file.read_text()))
    assert answers.recall(QUESTION, compute)["number"] == 2
    assert answers.recall(QUESTION, compute)["number"] == 2
    assert compute.calls == 2


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.warns(UserWarning, match="the answer is not kept: .*file.*--no-cache"):
        assert answers.recall(QUESTION, Computation())["number"] == 1


def test_a_relative_folder_of_caches_is_ignored(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert answers.folder().is_absolute()
    assert answers.folder().parts[-3:] == (".cache", DEVICE_TYPE, "models")


def test_a_folder_of_caches_may_have_any_name(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    compute = Computation()
    assert answers.recall(QUESTION, compute) == answers.recall(QUESTION, compute)
    assert compute.calls == 1 and len(kept()) == 1


def test_two_writers_leave_one_whole_answer():
    barrier = threading.Barrier(2)

    def compute():
        barrier.wait()  # both have found nothing
        return {"text": "x" * 100_000}

    threads = [threading.Thread(target=answers.recall, args=(QUESTION, compute)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kept()) == 1
    assert answers.recall(QUESTION, Computation()) == {"text": "x" * 100_000}


SOURCE = "import torch\nimport helper\ndef build():\n  return torch.nn.Linear(8, helper.width), "
COMMAND = [sys.executable, "-m", "neuron_sim", "model", "small:build", "--json"]


def asked(folder, *options):
    """Standard output, and whether torch was loaded."""
    found = subprocess.run(
        [*COMMAND, *options], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPROFILEIMPORTTIME": "1"},
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)[0], " torch\n" in found.stderr


def test_a_model_of_a_function_is_simulated_again_when_its_modules_change(tmp_path):
    (tmp_path / "small.py").write_text(SOURCE + "(torch.ones(4, 8),)\n")
    (tmp_path / "helper.py").write_text("width = 16\n")
    first, loaded = asked(tmp_path)
    assert loaded
    again, loaded = asked(tmp_path)
    assert again == first and not loaded
    (tmp_path / "helper.py").write_text("width = 512\n")
    wider, loaded = asked(tmp_path)
    assert loaded and wider["moved_mb"] > first["moved_mb"]


def test_without_the_cache_nothing_is_read_or_kept(tmp_path, monkeypatch, capsys):
    (tmp_path / "other.py").write_text(
        "import torch\ndef build():\n  return torch.nn.Linear(8, 8), (torch.ones(4, 8),)\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["model", "other:build", "--no-cache"]) == 0
    assert not kept()
    first = capsys.readouterr().out
    assert main(["model", "other:build"]) == 0
    assert len(kept()) == 1 and capsys.readouterr().out == first


def test_prices_and_instances_need_no_new_answer(tmp_path, monkeypatch, capsys):
    (tmp_path / "priced.py").write_text(
        "import torch\ndef build():\n  return torch.nn.Linear(8, 8), (torch.ones(4, 8),)\n"
    )
    monkeypatch.chdir(tmp_path)
    command = ["model", "priced:build", "--json", "--arch", "trn1"]
    for options in ([], ["--instance", "inf2.xlarge"], ["--instance", "trn1.32xlarge"]):
        assert main([*command, *options]) == 0
        capsys.readouterr()
    assert len(kept()) == 1
