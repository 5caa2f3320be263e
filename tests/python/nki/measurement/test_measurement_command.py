"""neuron-profile of the simulator: capture and view."""

import json
import os
import subprocess
import sys

import pytest
from measured_kernels import doubled, product
from neuron_sim.nki import measurement
from neuron_sim.nki.measurement import command
from neuron_sim.nki.measurement.recorded import profile_summary
from neuron_sim.nki.measurement.tables import SCHEMA
from neuron_sim.terminal.exit_codes import FAILURE
from page_content import unpacked
from recorded_programs import column


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


def test_json_is_short_for_the_summary_as_json(capsys, files):
    capsys.readouterr()
    expected = view(capsys, *files, "--output-format", "summary-json")
    assert view(capsys, *files, "--json") == expected


@pytest.mark.parametrize("form", command.FORMATS)
def test_json_and_a_format_exclude_each_other(capsys, files, form):
    for options in (["--json", "--output-format", form], ["--output-format", form, "--json"]):
        with pytest.raises(SystemExit, match="2"):
            view(capsys, *files, *options)
        assert "not allowed with argument" in capsys.readouterr().err


def test_json_has_the_summary_and_all_instructions(capsys, files, tmp_path):
    path = tmp_path / "out.json"
    assert view(capsys, *files, "--output-format", "json", "--output-file", path)[0] == 0
    document = json.loads(path.read_text())
    assert document["summary"] == [profile_summary(product())]
    opcodes = [entry["opcode"] for entry in document["instruction"]]
    assert opcodes.count("nc_matmul") == 3
    entry = next(entry for entry in document["instruction"] if entry["opcode"] == "nc_matmul")
    assert entry["duration"] > 0 and entry["label"] == "Tensor"
    moves = [entry["opcode"] for entry in document["instruction"] if entry["label"][0] == "q"]
    assert sorted(moves) == ["dma read", "dma read", "dma write"]


def test_without_a_format_the_timeline_is_a_page_for_a_browser(capsys, files, tmp_path):
    status, out, _ = view(capsys, *files)
    path = tmp_path / "profile.html"
    assert status == 0 and out.endswith(f"View profile at {path.as_uri()}\n")
    header, columns = unpacked(path.read_text())
    assert header["kernel"] == "product"
    starts = column(product().program.recording(), "event_start")
    assert columns["event_start"].tolist() == starts.tolist()


def test_the_timeline_for_perfetto_is_the_programs(capsys, files, tmp_path):
    status, out, _ = view(capsys, *files, "--output-format", "perfetto")
    path = tmp_path / "profile.pftrace"
    assert status == 0
    assert out.endswith(f"View profile at https://ui.perfetto.dev: open {path}\n")
    assert path.read_bytes() == product().program.perfetto()


def test_parquet_is_a_folder_with_a_file_per_table_of_the_schema(capsys, files, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    status, out, _ = view(capsys, *files, "--output-format", "parquet")
    folder = tmp_path / "profile.parquet"
    assert status == 0 and out.endswith(f"{len(SCHEMA)} tables written to {folder}\n")
    assert {path.stem for path in folder.iterdir()} == SCHEMA.keys()
    types = {"float": "float", "double": "double", "boolean": "bool"}
    for name, fields in SCHEMA.items():
        table = parquet.read_table(folder / f"{name}.parquet")
        assert table.column_names == [field.name for field in fields]
        for field in fields:
            column_ = table.schema.field(field.name)
            assert str(column_.type) == types.get(field.type, field.type), field
            assert (column_.metadata or {}).get(b"unit", b"").decode() == field.unit, field
    other = tmp_path / "other"
    view(capsys, *files, "--output-format", "parquet", "--output-file", other)
    assert parquet.read_table(other / "Summary.parquet")["dma_transfer_count"].to_pylist() == [3]


def test_files_that_do_not_belong_together_are_refused_in_one_sentence(capsys, files, tmp_path):
    trace = files[-1]
    programs = {
        "product' on trn2, not of {} of another version of it": product(loops=4),
        "product' on trn2, not of {}, which is 'product' on trn1": product("trn1"),
        "product' on trn2, not of {}, which is 'doubled' on trn2": doubled(),
    }
    for sentence, kernel in programs.items():
        path = tmp_path / "other.neff"
        measurement.save_program(kernel, path)
        with pytest.raises(ValueError) as refusal:
            view(capsys, "-n", path, "-s", trace)
        assert str(refusal.value) == f"{trace} is a trace of '{sentence.format(path)}."
    capsys.readouterr()
    assert view(capsys, *files, "--output-format", "summary-text")[0] == 0


def test_a_missing_file_is_one_sentence(capsys, tmp_path):
    status, out, err = view(capsys, "-s", tmp_path / "none.ntff")
    assert (status, out) == (2, "")
    assert err == f"neuron-profile: error: {tmp_path}/none.ntff: No such file or directory.\n"


def test_the_nth_execution_names_the_trace(tmp_path):
    measurement.save_program(doubled(), tmp_path / "file.neff")
    arguments = ["-n", tmp_path / "file.neff", "-s", tmp_path / "p.ntff", "--profile-nth-exec=2"]
    assert command.main(["capture", *map(str, arguments)]) == 0
    assert (tmp_path / "p_exec_2.ntff").exists()


@pytest.mark.parametrize("command", [
    ["-m", "neuron_sim", "profile"],
    ["-c", "import sys; from neuron_sim.nki.measurement import command as c; sys.exit(c.main())"],
], ids=["neuron-sim profile", "neuron-profile"])  # fmt: skip
def test_a_reader_that_has_enough_is_no_error(files, command):
    words = ["view", *map(str, files), "--output-format", "summary-text"]
    reads, writes = os.pipe()
    os.close(reads)
    done = subprocess.run(
        [sys.executable, *command, *words], stdout=writes, stderr=subprocess.PIPE, text=True
    )
    os.close(writes)
    assert (done.returncode, done.stderr) == (FAILURE, "")
