"""neuron-sim sweep: its table, CSV, picture, Pareto front and refusals."""

import csv
import json
import shutil

import pytest
from neuron_sim.command_line import main
from neuron_sim.sweep import point
from neuron_sim.timeline.interval import KINDS, interval
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


def test_points_without_compiler_passes_are_marked(capsys):
    arguments = ["--input", "x=float32[128, 64]", "--over", "factor=2", "--over"]
    rows = json.loads(told(capsys, *arguments, "arch=trn1,trn2", "--json"))
    assert [row["passes"] for row in rows] == ["neuronx-cc trn1 direct", "neuronx-cc trn2 direct"]
    assert main(["sweep", "kernels.py:scaled", *arguments, "arch=trn2,trn3", "--csv", "o.csv"]) == 0
    with open("o.csv", newline="") as file:
        assert [row["passes"] for row in csv.DictReader(file)] == ["neuronx-cc trn2 direct", "none"]
    assert capsys.readouterr().err.endswith(
        "neuron-sim sweep: warning: the times are not comparable: arch trn3 ran without the "
        "compiler's passes, arch trn2 with those of neuronx-cc trn2 direct (column 'passes').\n"
    )


def test_a_row_has_the_interval_that_run_prints(capsys):
    (row,) = json.loads(
        told(capsys, "--input", "x=float32[128, 64]", "--over", "factor=2", "--json")
    )
    error = interval(KINDS[row["bound"]])
    assert (row["low_us"], row["high_us"]) == error.around(row["latency_us"])
    assert row["low_us"] < row["high_us"]


@pytest.mark.parametrize(("over", "sentence"), [
    ("factr=1,2", "kernel 'scaled' has no parameter 'factr' (did you mean factor?)."),
    ("arch.hbm.bandwith=1x,2x", "is unknown; allowed there: bandwidth, size"),
    ("arch.hbm.bandwidth=0x,0", "hbm.bandwidth"),
])  # fmt: skip
@pytest.mark.parametrize("command", ["sweep", "tune"])
def test_a_parameter_that_no_point_takes_is_refused_at_the_start(
    capsys, monkeypatch, command, over, sentence
):
    monkeypatch.setattr(point, "evaluate", None)  # no point is reached
    arguments = ["--input", "x=float32[128, N]", "--over", "N=64,128", "--over", over]
    assert main([command, "kernels.py:scaled", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error and error.count("error:") == 1


def test_a_value_of_a_fact_that_is_refused_is_a_row_beside_others(capsys):
    arguments = ["--input", "x=float32[128, 64]", "--over", "factor=2"]
    low, good = json.loads(told(capsys, *arguments, "--over", "arch.hbm.bandwidth=0x,1x", "--json"))
    assert "error" in low and good["latency_us"] > 0


@pytest.mark.torch
def test_an_option_that_models_lack_is_refused_once(capsys):
    assert main(["sweep", "model:resnet18", "--over", "bach=1,2"]) == 2
    assert capsys.readouterr().err == (
        "neuron-sim sweep: error: `neuron-sim model` has no option 'bach' (did you mean batch?).\n"
    )
