"""Profiles of real kernels, replayed: what they compute, what they wait for, how long it takes."""

import dataclasses
import json
import math
from functools import cache

import ml_dtypes
import numpy as np
import pytest
from neuron_sim import _core, command_line
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.fidelity.replay import compare, order, program, reader, stream

TRACES = ("baseline_bf16_s512", "baseline_fp32_s512", "fused_bf16_s512", "fused_fp32_s512")
WINDOW = 4096 / 1.2
DTYPES = {"float32": np.dtype(np.float32), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


@cache
def replayed(name):
    return program.build_replay(reader.read_trace(reader.TRACES, name))


@cache
def compared(name):
    return compare.compare(replayed(name), window=WINDOW)


def test_the_package_has_four_profiles():
    assert tuple(reader.trace_names()) == TRACES


# --- the Program ---


@pytest.mark.parametrize("name", TRACES)
def test_the_replayed_instructions_compute_attention(name):
    random = np.random.default_rng(3)
    arrays, host = {}, []
    for argument in replayed(name).program.arguments:
        dtype = DTYPES[argument["dtype"]]
        array = np.zeros((128, 512), dtype)
        if argument["label"].startswith("constant"):  # the PE array transposes with an identity
            array = np.eye(128).astype(dtype)
        elif argument["read"]:
            array = (0.3 * random.standard_normal((128, 512))).astype(dtype)
        arrays[argument["label"]] = array
        host.append(array.view(np.uint16) if dtype.itemsize == 2 else array)
    replayed(name).program.run(host)
    inputs = [arrays[f"argument_{i}"].astype(np.float64) for i in range(3)]
    q, k, v = inputs if name.startswith("baseline") else (inputs[1], inputs[2], inputs[0])
    weights = np.exp(q.T @ k - np.max(q.T @ k, axis=1, keepdims=True))
    expected = weights / weights.sum(axis=1, keepdims=True) @ v.T
    result = arrays["argument_3"].astype(np.float64).reshape(512, 128)
    tolerance = 2e-6 if "fp32" in name else 2**-8
    assert np.abs(result - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("name", TRACES)
def test_every_instruction_of_the_kernel_is_replayed(name):
    published = {m.id: m for m in load_measurements()}
    extra = published[f"trn2-attnprof-{name.replace('_', '-')}"].extra
    counted = dict.fromkeys(extra["instruction_counts"], 0)
    for step in replayed(name).steps:
        for row in step.rows:
            counted[f"{row.row.engine}:{row.opcode}"] += 1
    assert counted == extra["instruction_counts"]
    assert compare.kernel_start(replayed(name)) == extra["first_user_instr_ns"]


@pytest.mark.parametrize(
    ("name", "waits"),
    list(zip(TRACES, (47, 46, 36, 35), strict=True)),
    ids=lambda value: str(value),
)
def test_the_program_waits_for_all_that_the_real_instructions_waited_for(name, waits):
    replay = replayed(name)
    assert len(stream.semaphore_waits(replay.trace, replay.stream)) == waits
    assert order.unordered_waits(replay) == []


def test_a_wait_that_the_bytes_do_not_imply_is_found():
    replay = replayed("fused_fp32_s512")
    # The first transpose also waits for the last transfer before it, whose bytes it does not touch.
    text = "S[8] (qSyncDynamicHW)>=16"
    rows = [
        dataclasses.replace(row, operands=row.operands.replace(text, "S[25] (qGpSimdDynamic)>=16"))
        for row in replay.trace.instructions
    ]
    changed = program.build_replay(dataclasses.replace(replay.trace, instructions=tuple(rows)))
    (wait,) = order.unordered_waits(changed)
    assert (wait.consumer.opcode, wait.producer.opcode) == ("LDWEIGHTS", "DMA_DIRECT2D")
    assert (wait.semaphore, wait.value) == (25, 16)


@pytest.mark.parametrize("name", TRACES)
def test_no_dependency_of_the_program_is_broken_by_the_real_times(name):
    replay = replayed(name)
    edges = 0
    for index, producers in enumerate(replay.program.dependencies()):
        for producer in producers:
            rows = replay.steps[producer].rows
            if rows[0].opcode == "DMA_DIRECT2D":  # shows its trigger, not its end
                continue
            edges += 1
            assert max(row.row.end for row in rows) <= replay.steps[index].rows[0].row.start
    assert edges > 100


# --- times ---


@pytest.mark.parametrize("name", TRACES)
def test_times_are_close_to_the_real_ones(name):
    comparison = compared(name)
    figures = comparison.figures
    assert comparison.missing == ()
    assert figures.duration_error <= 0.02
    assert figures.interval_error <= 0.03
    assert abs(comparison.body_error) <= 0.01
    assert figures.start_error <= 400


def test_the_kernels_time_is_the_published_one():
    published = {m.id: m for m in load_measurements()}
    for name in TRACES:
        extra = published[f"trn2-attnprof-{name.replace('_', '-')}"].extra
        real = extra["kernel_body_us_first_user_instr_to_last_dma"]
        assert compared(name).real_body == pytest.approx(1e3 * real, abs=1)
        assert compared(name).real_visible > compared(name).real_body


@pytest.mark.parametrize("name", TRACES)
def test_the_clocks_windows_are_those_of_the_profile(name):
    trace = replayed(name).trace
    phase = compare.clock_phase(replayed(name), WINDOW)
    assert 0 <= phase < WINDOW
    for span in trace.clock:
        since = (span.time - compare.kernel_start(replayed(name)) - phase) / WINDOW
        assert since == pytest.approx(round(since), abs=2 / WINDOW)


def test_figures_are_those_of_their_definition():
    base = compared("fused_fp32_s512")
    rows = [pair for pair in base.pairs if pair.row.row.engine == "Vector"][:3]
    times = ((0, 100, 0, 110), (200, 100, 250, 95), (600, 50, 650, 50))
    pairs = tuple(
        dataclasses.replace(pair, real_start=a, real_duration=b, start=c, duration=d)
        for pair, (a, b, c, d) in zip(rows, times, strict=True)
    )
    figures = compare.figures([dataclasses.replace(base, pairs=pairs)])
    assert figures.instructions == 3
    assert figures.duration_error == pytest.approx(0.05)  # of 10, 5 and 0 %
    assert figures.interval_error == pytest.approx((50 / 200 + 0) / 2)
    assert figures.start_error == pytest.approx(100 / 3)


def test_another_phase_moves_the_clocks_windows():
    phase = compare.clock_phase(replayed("fused_fp32_s512"), WINDOW)
    same = compare.compare(replayed("fused_fp32_s512"), phase=phase, window=WINDOW)
    assert same.body == compared("fused_fp32_s512").body
    other = compare.compare(replayed("fused_fp32_s512"), phase=phase + WINDOW / 2, window=WINDOW)
    assert other.body != same.body


# --- the command ---


def command(capsys, *arguments):
    status = command_line.main(["replay", *map(str, arguments)])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def test_the_command_writes_every_instruction(capsys, tmp_path):
    path = tmp_path / "replay.json"
    status, out, _ = command(capsys, "fused_fp32_s512", "--output", path)
    result = json.loads(path.read_text(encoding="utf-8"))
    (trace,) = result["traces"]
    assert json.loads(command(capsys, "fused_fp32_s512", "--json")[1]) == result
    assert status == 0 and "fused_fp32_s512" in out and "overall" in out
    assert (
        trace["instructions"] == len(trace["instructions_ns"]) == result["overall"]["instructions"]
    )
    assert trace["waits_not_implied"] == trace["not_simulated"] == []
    real, body = trace["body_ns"]["real"], trace["body_ns"]["simulated"]
    assert trace["body_error_percent"] == pytest.approx(100 * (body - real) / real)
    assert all(math.isfinite(each["start"]["simulated"]) for each in trace["instructions_ns"])


def test_the_command_takes_names_folders_and_files(capsys, tmp_path):
    copy_trace(tmp_path, "fused_fp32_s512")
    tables = set()
    for argument in ("fused_fp32_s512", tmp_path, tmp_path / "fused_fp32_s512"):
        status, out, _ = command(capsys, argument)
        assert status == 0
        tables.add(out)
    assert len(tables) == 1


def test_the_command_refuses_folders_without_a_profile(capsys, tmp_path):
    status, _, error = command(capsys, tmp_path)
    assert status == 2
    assert f"no trace (*_instructions.csv) in folder '{tmp_path}'." in error


# --- malformed profiles ---

FILES = ("_instructions.csv", "_dma.csv", "_semaphores.csv", "_pe_clock.csv", "_summary.json")


def copy_trace(folder, name):
    for part in FILES:
        (folder / (name + part)).write_bytes((reader.TRACES / (name + part)).read_bytes())


def broken(folder, part, old, new):
    """The sentence about a profile in which one text is replaced, once."""
    copy_trace(folder, TRACES[3])
    path = folder / (TRACES[3] + part)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError) as error:
        program.build_replay(reader.read_trace(folder, TRACES[3]))
    return str(error.value)


@pytest.mark.parametrize(
    ("part", "old", "new", "sentence"),
    [
        ("_instructions.csv", "Tensor,NOP,49,", "Tensor,NOP,early,",
         "trace file '{}', line 2: field 'start_ns' is 'early', not a whole number."),
        ("_instructions.csv", "Tensor,NOP,49,19,", "Tensor,NOP,49,-1,",
         "trace file '{}', line 2: field 'duration_ns' is '-1', not a whole number."),
        ("_instructions.csv", "Tensor,NOP,49,", "Tensor,,49,",
         "trace file '{}', line 2: field 'opcode' is empty."),
        ("_instructions.csv", "start_ns", "begin_ns",
         "trace file '{}', line 1: no column 'start_ns'."),
        ("_dma.csv", "\n68,14,", "\n68,",
         "trace file '{}', line 2: 9 fields, the header has 10."),
        ("_semaphores.csv", ",1\n", ",1.5\n",
         "trace file '{}', line 2: field 'value' is '1.5', not a whole number."),
        ("_pe_clock.csv", ",8,8", ",9,8",
         "trace file '{}', line 2: field 'k' is 9, not 1 to n = 8."),
        ("_summary.json", "{", "{,",
         "trace file '{}' is not JSON: Expecting property name enclosed in double quotes: "
            "line 1 column 2 (char 1)."),
    ],
)  # fmt: skip
def test_a_malformed_file_is_named_with_line_and_field(tmp_path, part, old, new, sentence):
    assert broken(tmp_path, part, old, new) == sentence.format(TRACES[3] + part)


def test_a_missing_file_is_named(tmp_path):
    copy_trace(tmp_path, TRACES[3])
    path = tmp_path / (TRACES[3] + "_dma.csv")
    path.unlink()
    with pytest.raises(ValueError) as error:
        reader.read_trace(tmp_path, TRACES[3])
    assert str(error.value) == f"trace file '{path}' cannot be read: No such file or directory."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Scalar,COPY,18305,", "Scalar,SHUFFLE,18305,",
         "trace 'fused_fp32_s512', line {}: instruction 'SHUFFLE' of engine 'Scalar' cannot be "
         "replayed."),
        ("S[5] (Tensor)>=4 ", "S[5] (Tensor)>=41 ",
         "trace 'fused_fp32_s512': 'COPY' (line {}) waits for S[5] >= 41, which 40 completions "
         "increment."),
        ("src=fp32@0x2000000[1,1,1,1][512,1,1,1]", "src=fp32@0x2000000[2,1,1,1][512,1,1,1]",
         "trace 'fused_fp32_s512': 'COPY' (line {}): access pattern [2, 1, 1, 1][512, 1, 1, 1] has "
         "gaps."),
        ("src=fp32@0x2000000[1,1,1,1][512,1,1,1]", "src=fp8@0x2000000[1,1,1,1][512,1,1,1]",
         "trace 'fused_fp32_s512': 'COPY' (line {}): operand 'src' is 'fp8@0x2000000[1,1,1,1]"
         "[512,1,1,1]', not dtype@address[strides][sizes]."),
    ],
)  # fmt: skip
def test_what_cannot_be_replayed_is_named(tmp_path, old, new, sentence):
    text = (reader.TRACES / (TRACES[3] + "_instructions.csv")).read_text(encoding="utf-8")
    line = next(i for i, row in enumerate(text.split("\n"), 1) if row.startswith("Scalar,COPY,183"))
    copy_trace(tmp_path, TRACES[3])
    path = tmp_path / (TRACES[3] + "_instructions.csv")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ValueError) as error:
        replay = program.build_replay(reader.read_trace(tmp_path, TRACES[3]))
        order.unordered_waits(replay)
    assert str(error.value) == sentence.format(line)


def test_the_architecture_has_the_window_of_the_profiles():
    facts = _core.architecture_facts("trn2")
    assert facts["tensor.gate_window"]["value"] == pytest.approx(WINDOW, abs=0.1)
