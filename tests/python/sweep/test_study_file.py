"""neuron-sim sweep FILE.toml: the file says what the command line would, and the chip."""

import json
import shutil

import neuron_sim
import pytest
from neuron_sim.command_line import main
from neuron_sim.sweep.study_file import read_study
from test_sweep import FILE

STUDY = """
base = "trn2"
hbm.bandwidth = "0.25x"
dma.bandwidth = "2x"

[sweep]
target = "kernels.py:scaled"
input.x = "float32[128, N]"

[sweep.over]
N = "64:256:x2"
factor = [1.0, 2.0]
arch.vector.clock = ["1x", "2x"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory beside the folder of the kernels and the study."""
    (tmp_path / "studies").mkdir()
    (tmp_path / "elsewhere").mkdir()
    shutil.copy(FILE, tmp_path / "studies/kernels.py")
    (tmp_path / "studies/study.toml").write_text(STUDY)
    monkeypatch.chdir(tmp_path / "elsewhere")
    return tmp_path / "studies"


def rows(capsys, *arguments):
    assert main(["sweep", *arguments, "--results", "", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_file_gives_the_rows_of_the_command_line_on_its_chip(capsys, folder):
    path = str(folder / "study.toml")
    chip = neuron_sim.architecture("trn2", {"hbm.bandwidth": "0.25x", "dma.bandwidth": "2x"})
    grid = ["--over", "N=64,128,256", "--over", "factor=1.0,2.0", "--over",
            "arch.vector.clock=1x,2x", "--input", "x=float32[128, N]"]  # fmt: skip
    target = str(folder / "kernels.py:scaled")
    found = rows(capsys, path)
    assert found == rows(capsys, target, *grid, "--arch", chip)
    assert len(found) == 12
    stock = rows(capsys, target, *grid)
    assert all(
        mine["latency_us"] != other["latency_us"] for mine, other in zip(found, stock, strict=True)
    )


def test_parameters_of_the_command_line_go_first(capsys, folder):
    (row,) = rows(capsys, str(folder / "study.toml"), "--over", "N=64", "--over", "factor=1.0")
    assert (row["N"], row["factor"]) == (64, 1.0)


def test_a_file_without_a_chip_takes_that_of_the_command_line(capsys, folder):
    (folder / "plain.toml").write_text('name = "a"\n' + STUDY[STUDY.index("[sweep]") :])
    assert read_study(str(folder / "plain.toml")).architecture is None
    arguments = ["--arch", "trn1", "--over", "N=64", "--over", "factor=1.0"]
    found = rows(capsys, str(folder / "plain.toml"), *arguments)
    target = str(folder / "kernels.py:scaled")
    assert found == rows(capsys, target, *arguments, "--input", "x=float32[128, N]")


def test_chips_and_models_that_a_file_names_are_found(folder):
    (folder / "many.toml").write_text(
        '[sweep]\ntarget = "model:resnet18"\nover.arch = ["trn1", "mine.toml"]\nover.batch = 3\n'
    )
    declared = read_study(str(folder / "many.toml"))
    assert declared.target == "model:resnet18"
    assert declared.parameters == {"arch": ("trn1", str(folder / "mine.toml")), "batch": (3,)}


@pytest.mark.parametrize(("text", "sentence"), [
    ("", r"must have a table \[sweep\]"), ("[sweep]\nover.N = 3", r"must have .* target"),
    ('[sweep]\ntarget = "a.py:b"\novr.N = 3', r"'sweep.ovr' .* unknown \(did you mean over\?\)"),
    ('[sweep]\ntarget = "a.py:b"\nover = 3', "'sweep.over' .* must be a table"),
    ('[sweep]\ntarget = "a.py:b"\nover.N = [[3]]', r"'sweep.over.N' .* value \[3\]"),
    ('[sweep]\ntarget = "a.py:b"\nover.N = "9:3:1"', "does not rise"),
    ('[sweep]\ntarget = "a.py:b"\ninput.x = 3', "'sweep.input.x' .* must be a string"),
    ("[sweep", "not valid TOML"),
])  # fmt: skip
def test_a_wrong_file_is_refused_by_its_key(folder, text, sentence):
    (folder / "wrong.toml").write_text(text)
    with pytest.raises(ValueError, match=sentence):
        read_study(str(folder / "wrong.toml"))


def test_a_missing_file_and_a_second_chip_are_refused(capsys, folder):
    assert main(["sweep", str(folder / "studi.toml")]) == 2
    assert "did you mean" in capsys.readouterr().err
    assert main(["sweep", str(folder / "study.toml"), "--arch", "trn1"]) == 2
    assert "describes the chip already; leave out --arch" in capsys.readouterr().err
