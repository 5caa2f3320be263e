"""The command neuron-sim fleet: names of cases, results, times, records and errors."""

import json
import os
import subprocess
import sys

import pytest
import torch
from neuron_sim import _core, command_line, torch_device
from neuron_sim.command_line.commands import fleet

SMALL = "in20_out8_filter3x2_batch2_9x12_float16"


def run(capsys, *arguments):
    """Exit status, lines of stdout and stderr of `neuron-sim fleet`."""
    try:
        status = command_line.main(["fleet", *arguments])
    except SystemExit as stop:  # argparse
        status = stop.code
    printed = capsys.readouterr()
    return status, printed.out.splitlines(), printed.err


def test_a_name_gives_its_sizes():
    case = fleet.parse_case(SMALL)
    assert case == fleet.FleetCase(20, 8, 3, 2, 2, 9, 12, "float16")
    assert case.shapes == [[2, 20, 9, 12], [8, 20, 3, 2], [8]]
    assert case.name == SMALL


@pytest.mark.parametrize("name", fleet.FLEET)
def test_every_case_of_the_fleet_has_a_name_that_parses(name):
    assert fleet.parse_case(name).name == name


def test_the_basic_cases_belong_to_the_fleet():
    assert len(fleet.FLEET) == 14 and len(fleet.BASIC) == 3
    assert set(fleet.BASIC) < set(fleet.FLEET)


@pytest.mark.parametrize("name", [
    "",
    "in128_out128_filter3x3_batch16_256x256",
    "in128_out128_filter3x3_batch16_256x256_float64",
    "in128_out128_filter3x3_batch16_256x256_float16 ",
    "in128_out128_filter3_batch16_256x256_float16",
    "in0_out128_filter3x3_batch16_256x256_float16",
    "in128_out128_filter3x3_batch16_-2x256_float16",
])  # fmt: skip
def test_another_name_is_refused_with_the_form(name, capsys):
    sentence = (
        f"test case '{name}' is not of the form in<C>_out<F>_filter<KH>x<KW>_batch<N>_<H>x<W>_"
        "<dtype> with sizes of at least 1 and dtype float16, float32 or bfloat16, for example "
        "in128_out128_filter3x3_batch16_256x256_float16."
    )
    with pytest.raises(ValueError) as caught:
        fleet.parse_case(name)
    assert str(caught.value) == sentence
    if name:
        status, lines, errors = run(capsys, "--timing-only", "--test-case", name)
        assert (status, lines) == (2, [])
        assert errors == f"neuron-sim fleet: error: {sentence}\n"


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_result_is_that_of_torch_and_the_time_needs_no_data(dtype):
    case = fleet.parse_case(SMALL.replace("float16", dtype))
    latency, share, difference = fleet.check_case(case, seed=1)
    architecture = torch_device.get_device_properties(0).architecture
    assert difference is None
    assert (latency, share) == fleet.time_case(case, architecture)


def test_a_wrong_element_is_named():
    case = fleet.parse_case(SMALL)
    operands = [torch.ones(shape) for shape in case.shapes]
    out = torch.nn.functional.conv2d(*operands)
    assert out[0, 0, 0, 0] == 121
    relative, absolute = 1e-2, 0.0
    out[1, 3, 2, 1] = 121 * 1.0099
    assert fleet._difference(out, operands, (relative, absolute)) is None
    out[1, 3, 2, 1] = 121 * 1.0101
    assert fleet._difference(out, operands, (relative, absolute)) == (
        "1 elements of image 1 differ, the first at [3, 2, 1]: 122.222 instead of 121"
    )


def test_a_wrong_result_fails_the_command(capsys, monkeypatch):
    monkeypatch.setattr(fleet, "check_case", lambda case, seed: (5.0, 0.5, "all is wrong"))
    architecture = torch_device.get_device_properties(0).architecture
    for flags, time in (([], ", 5.0 us, Tensor engine 50 % busy"), (["--simulate"], "")):
        status, lines, _ = run(capsys, "--test-case", SMALL, "--arch", architecture, *flags)
        assert status == 1
        assert lines == [
            f"{SMALL}: Failed, not equal to torch (all is wrong){time}",
            f"0 of 1 cases passed on {architecture}.",
        ]


def test_a_case_that_does_not_fit_the_host_fails_in_one_sentence(capsys):
    name = "in99999_out8_filter3x3_batch9999_9999x9999_float32"
    architecture = torch_device.get_device_properties(0).architecture
    status, lines, errors = run(capsys, "--test-case", name, "--arch", architecture, "--json")
    assert (status, lines) == (1, []) and errors.count("\n") == 1
    assert errors.startswith(f"neuron-sim fleet: error: {name}: ")


def test_a_case_passes_up_to_its_limit_and_fails_beyond_it(capsys, monkeypatch):
    latency, _ = fleet.time_case(fleet.parse_case(SMALL), "trn1")
    for limit, expected in ((latency, "Passed"), (latency * (1 - 1e-9), "Failed")):
        monkeypatch.setitem(fleet.FLEET, SMALL, limit)
        status, lines, _ = run(capsys, "--timing-only", "--test-case", SMALL, "--arch", "trn1")
        assert status == (expected == "Failed")
        assert lines[0].startswith(f"{SMALL}: {expected}, {latency:.1f} us of at most {limit:.0f},")


def test_the_result_as_json_has_the_case_and_its_limit(capsys, monkeypatch):
    latency, share = fleet.time_case(fleet.parse_case(SMALL), "trn1")
    for limit, passes in ((latency, True), (latency * (1 - 1e-9), False)):
        monkeypatch.setitem(fleet.FLEET, SMALL, limit)
        status, lines, errors = run(
            capsys, "--timing-only", "--test-case", SMALL, "--arch", "trn1", "--json"
        )
        assert status == (0 if passes else 1) and f"{SMALL}: " in errors
        assert json.loads("\n".join(lines)) == {
            "architecture": "trn1", "passed": int(passes),
            "cases": [{"name": SMALL, "passed": passes, "equal_to_torch": None, "difference": None,
                    "latency_us": latency, "limit_us": limit, "tensor_share": share}],
        }  # fmt: skip


def test_the_limits_of_the_course_are_for_its_own_chip(capsys):
    name = fleet.BASIC[0]
    _, with_limit, _ = run(capsys, "--timing-only", "--test-case", name, "--arch", "trn1")
    _, without, _ = run(capsys, "--timing-only", "--test-case", name, "--arch", "trn2")
    assert " us of at most 1000, " in with_limit[0] and "at most" not in without[0]


def test_the_whole_fleet_meets_the_limits_of_the_course(capsys):
    status, lines, _ = run(capsys, "--timing-only", "--arch", "trn1")
    assert status == 0 and len(lines) == 15
    assert all(": Passed, " in line for line in lines[:-1])
    assert lines[-1] == "14 of 14 cases passed on trn1."


def test_a_record_has_the_microseconds_of_each_case(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    status, lines, _ = run(capsys, "--basic", "--timing-only", "--record", "--arch", "trn1")
    assert status == 0 and len(lines) == 4
    text = (tmp_path / "results" / "execution_times.json").read_text()
    times = json.loads(text)
    assert list(times) == list(fleet.BASIC)
    assert text == json.dumps(times, indent=4) + "\n"
    for name, time in times.items():
        assert time == fleet.time_case(fleet.parse_case(name), "trn1")[0]


def test_nothing_is_written_without_the_option(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    run(capsys, "--timing-only", "--test-case", SMALL)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("flags, sentence", [
    (["--record", "--simulate"], "--record needs times, which --simulate leaves out"),
    (["--basic", "--test-case", SMALL], "not allowed with argument --basic"),
    (["--simulate", "--timing-only"], "not allowed with argument --simulate"),
    (["--timing-only", "--arch", "trn9"], "architecture 'trn9' is unknown; allowed: inf2, "),
    (["--timing-only", "--test-case", SMALL.replace("9x12", "2x12")],
        "the kernel height of 3 exceeds the padded input height of 2"),
])  # fmt: skip
def test_wrong_usage_is_one_sentence_and_status_two(flags, sentence, capsys):
    status, lines, errors = run(capsys, *flags)
    assert (status, lines) == (2, [])
    assert errors.splitlines()[-1].startswith("neuron-sim fleet: error: ")
    assert sentence in errors


def test_another_chip_than_that_of_the_process_is_refused(capsys):
    running = torch_device.get_device_properties(0).architecture
    other = next(name for name in _core.architectures() if name != running)
    status, lines, errors = run(capsys, "--test-case", SMALL, "--arch", other)
    assert (status, lines) == (2, [])
    assert errors == (
        f"neuron-sim fleet: error: the device of this process is a {running} already, not a "
        f"{other}.\n"
    )


def test_the_command_runs_a_case_on_the_chip_of_the_lab(tmp_path):
    command = [sys.executable, "-m", "neuron_sim", "fleet"]
    environment = {key: value for key, value in os.environ.items() if key != "NEURON_SIM_ARCH"}
    done = subprocess.run([*command, "--test-case", SMALL, "--record"], cwd=tmp_path,
                          env=environment, capture_output=True, text=True, check=True)  # fmt: skip
    latency, share = fleet.time_case(fleet.parse_case(SMALL), "trn1")
    assert done.stdout.splitlines() == [
        f"{SMALL}: Passed, equal to torch, {latency:.1f} us, Tensor engine {100 * share:.0f} % "
        "busy",
        "1 of 1 cases passed on trn1.",
    ]
    record = tmp_path / "results" / "execution_times.json"
    assert json.loads(record.read_text()) == {SMALL: latency}


def test_help_and_list_do_not_import_torch():
    program = (
        "import sys, neuron_sim.command_line as c\n"
        "try: c.main(['fleet', '--list'])\n"
        "finally: print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                          check=True)  # fmt: skip
    assert done.stdout.splitlines() == [*fleet.FLEET, "False"]
