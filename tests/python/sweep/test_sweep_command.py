"""neuron-sim sweep: its table, CSV, picture, Pareto front and refusals."""

import csv
import json
import shutil

import pytest
from neuron_sim.command_line import main
from test_sweep import FILE

GRID = ["--input", "x=float32[128, N]", "--over", "N=64:256:64", "--over", "factor=1.0,2.0"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A working directory with the kernels."""
    shutil.copy(FILE, tmp_path / "kernels.py")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(capsys, *arguments):
    assert main(["sweep", "kernels.py:scaled", *arguments]) == 0
    return capsys.readouterr().out


def test_table_csv_and_json_have_the_same_rows(capsys, folder):
    rows = json.loads(told(capsys, *GRID, "--json"))
    lines = told(capsys, *GRID, "--csv", "out.csv").splitlines()
    assert len(rows) == 8 and len(lines) == 9
    assert lines[0].split()[:3] == ["N", "factor", "latency_us"]
    assert [line.split()[0] for line in lines[1:]] == [str(row["N"]) for row in rows]
    with open("out.csv", newline="") as file:
        written = list(csv.DictReader(file))
    assert [float(each["latency_us"]) for each in written] == [row["latency_us"] for row in rows]


def test_the_front_has_only_points_that_no_other_beats(capsys):
    rows = json.loads(told(capsys, *GRID, "--json", "--pareto", "latency_us,-N"))
    best = {n: min(r["latency_us"] for r in rows if r["N"] == n) for n in {r["N"] for r in rows}}
    assert rows and all(row["latency_us"] == best[row["N"]] for row in rows)
    assert len({row["N"] for row in rows}) > 1


def test_a_picture_is_drawn(capsys, folder):
    told(capsys, *GRID, "--plot", "heat.svg", "--figure", "body_us")
    assert "<svg" in (folder / "heat.svg").read_text()


def test_a_file_declares_parameters_and_inputs(capsys):
    assert main(["sweep", "kernels.py:product", "--over", "rows=6", "--over", "columns=8",
                 "--over", "width=128", "--over", "depth=6", "--json"]) == 0  # fmt: skip
    (row,) = json.loads(capsys.readouterr().out)
    assert row["rows"] == 6 and row["latency_us"] > 0


@pytest.mark.parametrize("keeps", [True, False])
def test_results_are_kept_unless_their_name_is_empty(capsys, folder, keeps):
    told(capsys, *GRID, *([] if keeps else ["--results", ""]))
    assert (folder / "sweep.jsonl").exists() is keeps


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["none.py:f", "--over", "a=1"], "there is no file 'none.py'"),
    (["kernels.py", "--over", "a=1"], "there is no file ''"),
    (["kernels.py:absent", "--over", "a=1"], "has no function 'absent'"),
    (["model:resnet18"], "there is nothing to sweep: give --over NAME=VALUE"),
    (["kernels.py:scaled", "--over", "a"], "'a' must be NAME=VALUE"),
    (["kernels.py:scaled", *GRID, "--arch", "trn9"], "architecture 'trn9' is unknown"),
    (["kernels.py:scaled", *GRID, "--pareto", "speed"], "no point has a number 'speed'"),
])  # fmt: skip
def test_what_cannot_be_swept_is_refused_in_one_sentence(capsys, arguments, sentence):
    assert main(["sweep", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("neuron-sim sweep: error: ") and sentence in error
    assert error.count("\n") == 1
