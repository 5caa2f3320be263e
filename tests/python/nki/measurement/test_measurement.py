"""neuron_sim.nki.measurement: latencies, the vendor's table, program and trace files, profiles."""

import io
import json
import zipfile

import numpy as np
import pytest
from measured_kernels import TracedKernel, doubled, product
from neuron_sim import _core
from neuron_sim.nki import measurement
from neuron_sim.nki.measurement import program_file
from neuron_sim.nki.measurement.recorded import digest_of, profile_of, profile_summary


def long_product():
    """300 products in a row: the Tensor engine is busy enough for its clock to rise."""
    builder = _core.Builder("long_product", "trn2")
    x = builder.argument("x", [128, 512], "bfloat16")
    z = builder.argument("z", [128, 512])
    right = builder.sbuf("right", [128, 512], "bfloat16")
    total = builder.psum("total", [128, 512])
    result = builder.sbuf("result", [128, 512])
    builder.dma_copy(right, x)
    builder.loop(300, lambda i: builder.nc_matmul(total, right[:, :128], right, accumulate=False))
    builder.tensor_copy(result, total)
    builder.dma_copy(z, result)
    return TracedKernel(builder.finish())


# Latencies


def test_all_percentiles_are_the_simulated_latency(capsys):
    kernel = doubled()
    latency = measurement.measure(kernel).nc_latency
    for percentile in (0, 1, 10, 25, 50, 90, 99, 100):
        assert latency.get_latency_percentile(percentile) == pytest.approx(
            kernel.time()["latency_us"], abs=1e-3
        )


def test_a_percentile_that_the_vendor_has_not_is_refused():
    latency = measurement.LatencyPercentiles((5.0,))
    with pytest.raises(ValueError, match=r"^percentile 95 is not available; available are \[0, 1"):
        latency.get_latency_percentile(95)


def test_percentiles_over_several_latencies_are_their_ranks():
    latency = measurement.LatencyPercentiles(tuple(float(i) for i in range(101)))
    assert [latency.get_latency_percentile(p) for p in (0, 1, 50, 99, 100)] == [0, 1, 50, 99, 100]


def test_asked_for_clock_phases_the_latencies_are_those_of_the_phases(monkeypatch, capsys):
    monkeypatch.setenv("NEURON_SIM_PERCENTILES", "clock_phase")
    kernel = long_product()
    latency = measurement.measure(kernel).nc_latency
    low, high = (latency.get_latency_percentile(p) for p in (0, 100))
    window = kernel.program.facts["tensor.gate_window"]["value"]
    times = [kernel.program.time(clock_phase_ns=window * i / 32)["latency_us"] for i in range(32)]
    assert low == pytest.approx(min(times), abs=1e-3)
    assert high == pytest.approx(max(times), abs=1e-3)
    assert low < high
    monkeypatch.setenv("NEURON_SIM_PERCENTILES", "jitter")
    with pytest.raises(ValueError, match="^NEURON_SIM_PERCENTILES is 'jitter', not 'equal' or"):
        measurement.measure(kernel)


@pytest.mark.parametrize("option, value", [("warmup", -1), ("iters", 0), ("iters", True)])
def test_counts_of_iterations_are_checked(option, value):
    with pytest.raises(ValueError, match=f"^'benchmark': {option} is {value}"):
        measurement.measure(doubled(), **{option: value})


def test_the_table_has_the_vendors_columns_and_widths(capsys):
    measurement.measure(doubled(), warmup=0, iters=1, additional_compile_opt="--disable-dge")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["", "file".ljust(80)]
    titles = "B NC NC_USED WEIGHTS MODE INF/S IRES/S L(1) L(50) L(99) NCL(1) NCL(50) NCL(99) %USER"
    assert lines[3].replace("NC USED", "NC_USED").split() == titles.split()
    assert lines[2] == lines[5] and lines[2].startswith("+---+----+---------+---------+---------+")
    assert len(lines[2]) == len(lines[3]) == len(lines[4])
    cells = lines[4].split()
    latency = doubled().time()["latency_us"]
    assert cells[-4:] == [f"{latency:.0f}"] * 3 + ["N/A"]


def test_a_table_as_students_publish_it_comes_out_again():
    def percentiles(p1, p50, p99):
        return measurement.LatencyPercentiles((p1,) * 10 + (p50,) * 81 + (p99,) * 10)

    result = measurement.BenchmarkResult(
        nc_latency=percentiles(37298.0, 37308.0, 37318.0),
        latency=percentiles(37342.0, 37388.0, 37394.0),
    )
    lines = result.table().splitlines()
    widths = (3, 4, 9, 9, 9, 7, 8, 7, 7, 7, 8, 9, 9, 7)
    assert lines[1] == "+" + "+".join("-" * width for width in widths) + "+"
    row = "  1   1    1         dynamic   LIBMODE   26.75   26.75    37342   37388   37394   "
    assert lines[3] == row + "37298    37308     37318     N/A    "


# Files


def test_a_program_file_has_listing_summary_recording_and_trace(tmp_path):
    kernel = doubled()
    measurement.save_program(kernel, tmp_path / "file.neff")
    with zipfile.ZipFile(tmp_path / "file.neff") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert members["listing.txt"].decode() == kernel.program.listing()
    assert members["trace.pftrace"] == kernel.program.perfetto()
    assert json.loads(members["summary.json"]) == profile_summary(kernel)
    assert json.loads(members["recording.json"])["timing"] == kernel.time()
    with np.load(io.BytesIO(members["columns.npz"])) as columns:
        assert set(columns) == set(kernel.program.recording()["columns"])
    manifest = json.loads(members["manifest.json"])
    digests = manifest.pop("members")
    assert digests.keys() == members.keys() - {"manifest.json"}
    assert manifest == {
        "format": "neuron_sim program", "version": 2, "kernel": "doubled", "architecture": "trn2",
        "program": digest_of(kernel.program),
    }  # fmt: skip


def test_equal_programs_give_equal_files(tmp_path):
    for name in ("a.neff", "b.neff"):
        measurement.save_program(doubled(), tmp_path / name)
    assert (tmp_path / "a.neff").read_bytes() == (tmp_path / "b.neff").read_bytes()


def test_the_captured_trace_is_the_saved_trace(tmp_path):
    kernel = doubled()
    measurement.save_program(kernel, tmp_path / "file.neff")
    measurement.save_trace(kernel, tmp_path / "saved.ntff")
    program_file.capture(tmp_path / "file.neff", tmp_path / "captured.ntff")
    saved = program_file.read(tmp_path / "saved.ntff", program_file.TRACE)
    captured = program_file.read(tmp_path / "captured.ntff", program_file.TRACE)
    assert captured.manifest == saved.manifest and captured.members == saved.members


def test_a_program_is_not_taken_for_a_trace_nor_anything_else_for_either(tmp_path):
    program, other = tmp_path / "file.neff", tmp_path / "other"
    measurement.save_program(doubled(), program)
    with pytest.raises(ValueError, match="is a 'neuron_sim program' file, not a 'neuron_sim trace"):
        program_file.read(program, program_file.TRACE)
    other.write_bytes(b"\x7fNEFF")
    with pytest.raises(ValueError, match="other is not a program file of neuron_sim.$"):
        program_file.read(other, program_file.PROGRAM)
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("manifest.json", '{"format": "neuron_sim trace", "version": 99}')
    with pytest.raises(ValueError, match="has version 99 of the format; this neuron_sim reads"):
        program_file.read(other, program_file.TRACE)


def test_a_failing_kernel_leaves_no_file_and_keeps_the_old_one(tmp_path):
    class Failing(TracedKernel):
        def time(self):
            raise RuntimeError("no time")

    path = tmp_path / "file.neff"
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no time"):
            measurement.save_program(Failing(doubled().program), path)
        assert [entry.name for entry in tmp_path.iterdir()] == (["file.neff"] if _ else [])
        path.write_text("old")


# Profiles


def test_a_profile_has_the_traces_of_every_nth_execution(tmp_path):
    folder = tmp_path / "work"
    kernel = doubled()
    traces = measurement.profile_kernel(
        kernel, str(folder), "cus.neff", "custom.ntff", num_execs=20, profile_nth=10
    )
    assert [path.name for path in traces] == ["custom_exec_10.ntff", "custom_exec_20.ntff"]
    assert all(path.exists() for path in [*traces, folder / "cus.neff"])
    reports = sorted((folder / "json_reports").iterdir())
    assert [path.name for path in reports] == ["custom_exec_10.json", "custom_exec_20.json"]
    assert json.loads(reports[0].read_text())["summary"][0]["total_time"] > 0
    with pytest.raises(ValueError, match="cus.neff exists; overwrite=True replaces it.$"):
        measurement.profile_kernel(kernel, str(folder), "cus.neff")
    first = measurement.profile_kernel(kernel, str(folder), "cus.neff", overwrite=True)
    assert [path.name for path in first] == ["profile.ntff"]


def test_a_relative_working_directory_is_refused():
    with pytest.raises(ValueError, match="working_directory 'here' must be an absolute path.$"):
        measurement.profile_kernel(doubled(), "here")
    with pytest.raises(ValueError, match="profile_nth is 0 and must be an int >= 1.$"):
        measurement.profile_kernel(doubled(), "/here", profile_nth=0)


# Summary


@pytest.mark.parametrize("architecture", ["trn1", "trn2", "trn3"])
def test_the_summary_counts_bytes_instructions_and_flops(architecture):
    kernel = product(architecture)
    summary = profile_summary(kernel)
    assert list(summary) == sorted(summary)
    assert summary["total_time"] == kernel.time()["profile_us"] * 1e-6
    assert summary["hbm_read_bytes"] == 128 * 64 * 2 + 128 * 256 * 2
    assert summary["hbm_write_bytes"] == 64 * 256 * 4
    assert summary["inputs_outputs_weights_size_bytes"] == 128 * 320 * 2 + 64 * 256 * 4
    assert summary["inputs_and_weights_size_bytes"] == 128 * 320 * 2
    assert summary["matmul_instruction_count"] == 4
    assert summary["hardware_flops"] - summary["transpose_flops"] == 3 * 2 * 128 * 64 * 256
    assert summary["transpose_flops"] == 2 * 128 * 64 * 128
    assert summary["psum_read_sbuf_write_count"] == 3
    assert summary["psum_read_bytes"] == summary["psum_read_sbuf_write_bytes"] == 3 * 64 * 256 * 4
    assert summary["dma_transfer_count"] == 3
    assert summary["dma_transfer_average_bytes"] * 3 == summary["dma_transfer_total_bytes"]
    assert 0 < summary["mfu_estimated_percent"] < summary["hfu_estimated_percent"] < 1


def test_packets_are_counted_by_who_makes_their_descriptors():
    counters = doubled().program.counters()
    kinds = ("static_dma", "hardware_dynamic_dma", "software_dynamic_dma")
    assert sum(counters[f"{kind}_bytes"] for kind in kinds) == 2 * 128 * 512 * 4
    assert counters["hardware_dynamic_dma_packets"] >= 4 * 128
    assert doubled(architecture="trn1").program.counters()["hardware_dynamic_dma_packets"] == 0


# Timing only


def test_timing_only_is_the_innermost_context_else_the_environment(monkeypatch):
    assert not measurement.is_timing_only()
    with measurement.timing_only():
        assert measurement.is_timing_only()
        with measurement.timing_only(False):
            assert not measurement.is_timing_only()
        assert measurement.is_timing_only()
    monkeypatch.setenv("NEURON_SIM_TIMING_ONLY", "1")
    assert measurement.is_timing_only()
    with measurement.timing_only(False):
        assert not measurement.is_timing_only()


@pytest.mark.parametrize(
    ("architecture", "instance"),
    [("inf2", "inf2.xlarge"), ("trn1", "trn1.2xlarge"), ("trn2", "trn2.3xlarge"), ("trn3", "trn3")],
)
def test_a_profile_names_an_instance_of_its_chip(architecture, instance):
    profile = profile_of(doubled(architecture=architecture))
    assert profile.header["instance_type"] == instance
