"""--json: the result alone on standard output; --output: the same in a file."""

import json
import os
import subprocess
import sys

import pytest
from neuron_sim import command_line
from neuron_sim.command_line.parser import build_parser
from neuron_sim.terminal.exit_codes import FAILURE, SUCCESS, WRONG_USAGE
from neuron_sim.terminal.json_output import give_json

WITHOUT = {"arch schema", "completion", "profile capture", "run"}
"""Commands that print no result of theirs, or nothing but JSON."""

SMALL = "in20_out8_filter3x2_batch2_9x12_float16"

TALKATIVE = """
import os
import nki
import nki.language as nl

print("loaded")
os.system("echo child")

@nki.jit
def doubled(x):
    print("traced")
    os.write(1, b"descriptor\\n")
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.multiply(nl.load(x), 2.0))
    return out
"""

STUDY = ["kernels.py:doubled", "--input", "x=float32[P, 8]", "--results", ""]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text(TALKATIVE)
    return tmp_path


def leaves(parser, path=()):
    """(words, parser) of the commands that have no commands."""
    if not parser.commands:
        yield " ".join(path), parser
    for name, each in parser.commands.items():
        yield from leaves(each, (*path, name))


def ended(capfd, *arguments):
    """Exit code, standard output and standard error, as the descriptors have them."""
    capfd.readouterr()
    try:
        code = command_line.main(arguments)
    except SystemExit as stop:  # argparse
        code = stop.code
    return code, *capfd.readouterr()


def test_every_command_with_a_result_prints_it_as_json():
    for name, parser in leaves(build_parser()):
        options = {word: each for each in parser.actions for word in each.option_strings}
        assert ("--json" in options) == (name not in WITHOUT), name
        if "--json" in options:
            assert options["--json"].nargs == 0, name
            assert "--output" in options or "--output-file" in options, name


@pytest.mark.parametrize(
    "arguments", [["arch", "list"], ["arch", "show", "trn2", "dma.*"],
        ["arch", "diff", "trn1", "trn1"], ["explain", "nc_matmul"],
        ["fidelity", "--clone-lines", "folder"], ["fleet", "--list"],
        ["fleet", "--timing-only", "--test-case", SMALL], ["info"],
        pytest.param(["model", "--list"], marks=pytest.mark.torch),
        ["sweep", *STUDY, "--over", "P=64,129"], ["tune", *STUDY, "--over", "P=64,129"]],
)  # fmt: skip
def test_standard_output_and_the_file_have_the_result_alone(capfd, folder, arguments):
    code, out, _ = ended(capfd, *arguments, "--json", "--output", "result.json")
    result = json.loads(out)
    assert code == SUCCESS and json.loads((folder / "result.json").read_text()) == result
    code, out, _ = ended(capfd, *arguments, "--output", "again.json")
    assert code == SUCCESS and out.strip() and out[0] not in "[{"
    assert json.loads((folder / "again.json").read_text()) == result


@pytest.mark.parametrize("workers", [[], ["--jobs", "2"]])
def test_what_a_kernel_prints_goes_to_standard_error(folder, workers):
    command = [sys.executable, "-m", "neuron_sim", "sweep", *STUDY, "--over", "P=64,128", "--json"]
    done = subprocess.run([*command, *workers], capture_output=True, text=True)
    assert done.returncode == SUCCESS
    assert [row["P"] for row in json.loads(done.stdout)] == [64, 128]
    # Workers write at the same time, and their buffers may end with them.
    words = ["descriptor"] if workers else ["loaded", "child", "traced", "descriptor"]
    assert all(word in done.stderr for word in words)


def test_without_json_a_kernel_prints_to_standard_output(folder):
    command = [sys.executable, "-m", "neuron_sim", "sweep", *STUDY, "--over", "P=64"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert {"loaded", "child", "traced", "descriptor"} <= set(done.stdout.split())
    assert done.stderr == ""


def test_a_result_of_failures_is_printed_before_their_sentence(capfd):
    code, out, error = ended(capfd, "sweep", *STUDY, "--over", "P=129,130", "--json")
    assert code == FAILURE and len(json.loads(out)) == 2
    assert error.splitlines()[-1].startswith("neuron-sim sweep: error: every point was refused: ")


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["arch", "show", "trn9"], "architecture 'trn9' is unknown"),
    (["explain", "nc_matmul", "--arch", "trn9"], "architecture 'trn9' is unknown"),
    (["sweep", *STUDY, "--over", "P=64", "--arch", "trn9"], "architecture 'trn9' is unknown"),
    (["fleet", "--timing-only", "--arch", "trn9"], "architecture 'trn9' is unknown"),
    (["model"], "MODEL is missing"),
    (["replay", "absent"], "absent"),
])  # fmt: skip
def test_an_error_is_one_sentence_and_no_json(capfd, arguments, sentence):
    code, out, error = ended(capfd, *arguments, "--json")
    assert (code, out) == (WRONG_USAGE, "")
    last = error.splitlines()[-1]
    assert last.startswith(f"neuron-sim {arguments[0]}: error: ") and sentence in last


@pytest.mark.parametrize(("file", "sentence"), [
    ("none/result.json", "none/result.json: No such file or directory."),
    ("kernels.py/result.json", "kernels.py/result.json: Not a directory."),
    (".", ".: Is a directory."),
])  # fmt: skip
def test_a_file_that_cannot_be_written_is_known_before_any_work(capfd, folder, file, sentence):
    code, out, error = ended(capfd, "sweep", *STUDY, "--over", "P=64", "--output", file)
    assert (code, out) == (WRONG_USAGE, "")
    assert error == f"neuron-sim sweep: error: {sentence}\n"


@pytest.mark.parametrize("words", [["--json", "report.json"], ["--json=report.json"]])
@pytest.mark.parametrize("arguments", [["fidelity"], ["info"]])
def test_a_file_after_json_is_told_the_option_that_writes_it(capfd, arguments, words):
    code, out, error = ended(capfd, *arguments, *words)
    assert (code, out) == (WRONG_USAGE, "")
    assert error.endswith("(--json takes no file; --output report.json writes one)\n")


def test_standard_output_is_as_before_after_an_error(capfd):
    code, *_ = ended(capfd, "arch", "show", "trn9", "--json")
    print("python")
    os.write(1, b"descriptor\n")
    sys.stdout.flush()
    assert code == WRONG_USAGE
    assert sorted(capfd.readouterr().out.split()) == ["descriptor", "python"]


def in_shell(line):
    """Exit code and standard output of `neuron-sim LINE` in a shell."""
    command = f"{sys.executable} -m neuron_sim {line}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_a_closed_stream_is_no_hindrance_and_takes_no_errors():
    code, out = in_shell("info --json 2>&-")
    assert code == SUCCESS and "versions" in json.loads(out)
    assert in_shell("arch show trn9 --json 2>&-") == (WRONG_USAGE, "")
    assert in_shell("info --json >&-")[0] == in_shell("info >&-")[0] == SUCCESS


def test_a_full_standard_output_is_told():
    code, _ = in_shell("info --json 2>told >/dev/full")
    with open("told") as told:
        assert told.read() == "neuron-sim info: error: No space left on device.\n"
    assert code == WRONG_USAGE


def test_numbers_that_json_lacks_are_null():
    arguments = build_parser(["info"]).parse_args(["info", "--json"])
    assert give_json(arguments, {"a": [float("inf"), 1.5], "b": (float("nan"), 1, None)})
    assert json.loads(arguments.document) == {"a": [None, 1.5], "b": [None, 1, None]}
