"""models/demo.py: its output, its exit codes, its functions."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import neuron_sim.torch_device as neuron_sim_device
import pytest
import torch
from device_type import DEVICE_TYPE

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "models"))
demo = importlib.import_module("demo")

PROGRAM = Path(os.environ.get("NEURON_SIM_MODELS_DIR", ROOT / "build/release/models"), "digits_cnn")
needs_program = pytest.mark.skipif(
    not PROGRAM.is_file(), reason=f"the C++ program {PROGRAM} is not built"
)


def run_demo(folder: Path, program: Path) -> subprocess.CompletedProcess:
    """The demo, started in `folder`, on a terminal of the usual width."""
    return subprocess.run(
        [sys.executable, ROOT / "models/demo.py", "--out", folder / "out", "--cpp", program],
        capture_output=True,
        text=True,
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key != "COLUMNS"},
    )


@needs_program
def test_the_demo_runs_twice_from_any_folder_within_100_columns(tmp_path):
    first, second = (run_demo(tmp_path, PROGRAM) for _ in range(2))
    for result in (first, second):
        assert result.returncode == 0, result.stdout + result.stderr
        assert result.stdout.rstrip().endswith("demo: all predictions equal")
        assert result.stdout.count("predictions equal: yes") == 2
        lines = [line for line in result.stdout.splitlines() if "timeline" not in line]
        assert max(map(len, lines)) <= 100

    def without_seconds(output):
        return re.sub(r"[\d.]+ s\n", "", output)

    assert without_seconds(first.stdout) == without_seconds(second.stdout)
    assert "<title>ffnn" in (tmp_path / "out/digits_ffnn_timeline.html").read_text()
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"digits_cnn.pt", "digits_test.pt", "digits_ffnn_timeline.html"}


def test_the_demo_says_at_once_that_the_cpp_program_is_missing(tmp_path):
    result = run_demo(tmp_path, tmp_path / "none")
    assert result.returncode == 2 and result.stdout == ""
    assert f"there is no C++ program {tmp_path / 'none'}" in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_failing_cpp_program_fails_the_demo(tmp_path):
    program = tmp_path / "failing"
    program.write_text("#!/bin/sh\necho '[red]broken' >&2\nexit 1\n")
    program.chmod(0o755)
    result = run_demo(tmp_path, program)
    assert result.returncode == 1 and "[red]broken" in result.stdout
    assert result.stdout.rstrip().endswith("demo: FAILED")


def test_the_demo_shows_wrong_predictions(capsys):
    labels = torch.tensor([1, 2, 3, 4])
    wrong = torch.tensor([1, 2, 3, 5], device=DEVICE_TYPE)
    assert demo.show_predictions("net", labels.to(DEVICE_TYPE), labels, labels)
    assert not demo.show_predictions("net", wrong, labels, labels)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].endswith("predictions equal: yes") and "device 100.00 %" in shown[0]
    assert shown[1].endswith("predictions equal: no") and "device 75.00 %" in shown[1]


def test_the_demo_sums_the_launches_of_a_layer_and_shows_its_error():
    table = demo.layer_table("a title")
    a = torch.ones(1000, device=DEVICE_TYPE)

    def twice():
        return demo.OPS.vector_add(demo.OPS.vector_add(a, a), a)

    output = demo.add_layer(table, "twice", twice, torch.full((1000,), 3.25))
    assert torch.equal(output.cpu(), torch.full((1000,), 3.0))
    with neuron_sim_device.record_launches() as launches:
        demo.OPS.vector_add(a, a)
    cells = [list(column.cells)[0] for column in table.columns]
    assert cells[:3] == ["twice", "1000", "2.5e-01"]
    assert cells[3] == f"{2 * launches[0].latency_us:.2f} us"
    assert re.fullmatch(r"\w+ \d+%, \w+ \d+%", cells[4])
    assert cells[5] == launches[0].bottleneck


def test_the_vector_additions_teach_the_lesson_of_the_handout():
    latencies = {
        addition.variant: addition.simulated_us for addition in demo.vector_additions("trn2")
    }
    assert latencies["ROW_CHUNK 128"] > latencies["FREE_DIM 2"] > latencies["FREE_DIM 200"]
    # Two tiles overlap loads with the addition; one tile of 2000 columns does not.
    assert latencies["FREE_DIM 1000"] < latencies["FREE_DIM 2000"]


def test_measured_latencies_are_the_benchmark_s_of_the_same_architecture():
    measured = {
        architecture: [addition.measured_us for addition in demo.vector_additions(architecture)]
        for architecture in ("trn1", "trn2", "trn3")
    }
    assert measured["trn1"] == [None, 206, 53, None, 30, None]
    assert measured["trn2"] == [None, 378, 186, None, None, None]
    assert set(measured["trn3"]) == {None}
