"""The command `neuron-sim calibrate`."""

import json
import tomllib

import fidelity_samples as samples
import pytest
from neuron_sim import _core, command_line
from neuron_sim.fidelity.evaluate import PreparedCase
from neuron_sim.fidelity.measurement import parse_measurement


def run(capsys, *arguments):
    """Exit status, stdout and stderr of `neuron-sim calibrate`."""
    try:
        status = command_line.main(["calibrate", *map(str, arguments)])
    except SystemExit as stop:  # argparse
        status = stop.code
    printed = capsys.readouterr()
    return status, printed.out, printed.err


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Copies timed with another launch overhead, in two families."""
    samples.install(monkeypatch)
    launch = _core.architecture_facts("handwritten/trn2")["launch.benchmark"]["value"] / 1e3
    entries = []
    for columns in (1, 9, 64, 500, 1000, 3000):
        written = samples.entry("any", columns)
        case = PreparedCase(samples.match(parse_measurement(written)))
        value = case.time(architecture="handwritten/trn2") - launch + 12.0
        family = "narrow" if columns < 100 else "wide"
        entries.append(samples.entry(f"copy-{columns}", columns, value, family=family))
    path = tmp_path / "measurements.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


def test_the_command_finds_the_launch_overhead_and_writes_the_overlay(capsys, tmp_path, data):
    overlay, result = tmp_path / "trn2.toml", tmp_path / "result.json"
    options = ("--arch", "trn2", "--data", data, "--no-traces", "--overlay", overlay)
    status, out, err = run(
        capsys, *options, "--parameters", "launch.benchmark=5000:20000", "--output", result
    )
    assert (status, err) == (0, "")
    fact = tomllib.loads(overlay.read_text(encoding="utf-8"))["launch"]["benchmark"]
    assert fact["value"] == pytest.approx(12000, abs=5)
    assert fact["certainty"] == "fitted" and fact["standard_error"] < 100
    assert fact["source"] == "neuron-sim calibrate: family narrow, family wide"
    assert "1 parameters fitted to 6 residuals." in out
    written = json.loads(result.read_text(encoding="utf-8"))
    assert written["refused"] == {}
    assert written["overall"]["latency"]["before"] > 5
    assert written["overall"]["latency"]["training"] < 0.1
    assert written["overall"]["latency"]["left_out"] < 0.1
    assert {each["group"] for each in written["errors"]} == {"family narrow", "family wide"}


def test_the_command_says_what_it_refuses_and_a_dry_run_writes_nothing(capsys, tmp_path, data):
    overlay = tmp_path / "trn2.toml"
    options = ("--arch", "trn2", "--data", data, "--no-traces", "--overlay", overlay, "--dry-run")
    keys = ("launch.benchmark", "tensor.drain", "launch.profile")
    status, out, _ = run(capsys, *options, "--no-cross-validation", "--parameters", *keys)
    assert status == 1
    for key in keys[1:]:
        assert f"refused: {key}: no residual depends on it." in out
    status, out, _ = run(capsys, *options, "--no-cross-validation", "--parameters", *keys, "--json")
    assert status == 1 and set(json.loads(out)["refused"]) == set(keys[1:])
    assert not overlay.exists()


def test_wrong_arguments_of_the_command_are_one_sentence(capsys, tmp_path, data, monkeypatch):
    status, _, err = run(capsys)
    assert status == 2 and "--arch" in err
    options = ("--arch", "trn2", "--data", data, "--no-traces")
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, *options)
    assert status == 2 and "name the overlay with --overlay, or say --dry-run." in err
    status, _, err = run(capsys, *options, "--dry-run", "--families", "tall")
    assert status == 2 and "there is nothing to fit to" in err
    hand_written = tmp_path / "trn2.toml"
    hand_written.write_text('name = "trn2"\n')
    status, _, err = run(capsys, *options, "--overlay", hand_written)
    assert status == 2 and "is not an overlay of fitted values" in err
    assert hand_written.read_text() == 'name = "trn2"\n'
