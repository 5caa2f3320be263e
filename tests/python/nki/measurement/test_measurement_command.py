"""neuron-profile of the simulator: capture and view."""

import json

import pytest
from measured_kernels import doubled, product
from neuron_sim.nki import measurement
from neuron_sim.nki.measurement import command
from neuron_sim.nki.measurement.summary import profile_summary


def view(capsys, *arguments):
    status = command.main(["view", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.fixture
def files(tmp_path):
    measurement.save_program(product(), tmp_path / "file.neff")
    program, trace = tmp_path / "file.neff", tmp_path / "profile.ntff"
    assert command.main(["capture", "-n", str(program), "-s", str(trace)]) == 0
    return ["-n", program, "-s", trace]


def test_summary_text_has_two_columns_in_alphabetical_order(capsys, files):
    capsys.readouterr()
    status, out, _ = view(capsys, *files, "--output-format", "summary-text")
    rows = [line.split() for line in out.splitlines()]
    assert status == 0 and all(len(row) == 2 for row in rows)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    values = dict(rows)
    assert values["dma_transfer_count"] == "3"
    assert float(values["total_time"]) == pytest.approx(product().time()["profile_us"] * 1e-6)


def test_summary_json_is_one_entry_with_the_same_metrics(capsys, files):
    capsys.readouterr()
    status, out, _ = view(capsys, *files, "--output-format", "summary-json")
    assert status == 0
    assert json.loads(out) == {"product": profile_summary(product())}


def test_json_has_the_summary_and_all_instructions(capsys, files, tmp_path):
    path = tmp_path / "out.json"
    assert view(capsys, *files, "--output-format", "json", "--output-file", path)[0] == 0
    document = json.loads(path.read_text())
    assert document["summary"] == [profile_summary(product())]
    opcodes = [entry["opcode"] for entry in document["instruction"]]
    assert opcodes.count("nc_matmul") == 3
    entry = next(entry for entry in document["instruction"] if entry["opcode"] == "nc_matmul")
    assert entry["duration"] > 0 and "Tensor" in entry["label"]


def test_without_a_format_the_timeline_is_written_for_perfetto(capsys, files, tmp_path):
    status, out, _ = view(capsys, *files)
    path = tmp_path / "profile.trace.json"
    assert status == 0 and f"View profile at https://ui.perfetto.dev: open {path}" in out
    assert json.loads(path.read_text())["traceEvents"]


def test_a_missing_file_is_one_sentence(capsys, tmp_path):
    status, out, err = view(capsys, "-s", tmp_path / "none.ntff")
    assert (status, out) == (2, "")
    assert err == f"neuron-profile: error: {tmp_path}/none.ntff: No such file or directory.\n"


def test_the_nth_execution_names_the_trace(tmp_path):
    measurement.save_program(doubled(), tmp_path / "file.neff")
    arguments = ["-n", tmp_path / "file.neff", "-s", tmp_path / "p.ntff", "--profile-nth-exec=2"]
    assert command.main(["capture", *map(str, arguments)]) == 0
    assert (tmp_path / "p_exec_2.ntff").exists()
