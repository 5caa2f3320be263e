"""Exit codes: each from both sides, for programs that fail and for wrong usage."""

import errno
import os

import pytest
from neuron_sim.command_line import main
from neuron_sim.command_line.commands import explain
from neuron_sim.terminal.exit_codes import (
    EXIT_CODES,
    FAILURE,
    INTERRUPTED,
    SUCCESS,
    WRONG_USAGE,
    ProgramError,
    failures_of,
    sentence_of,
)

KERNEL = """
import nki
import nki.language as nl

{line}

@nki.jit
def doubled(x, most):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    assert x.shape[1] <= most
    nl.store(out, nl.multiply(nl.load(x), 2.0))
    return out
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text(KERNEL.format(line=""))
    return tmp_path


def study(*parameters, command="sweep"):
    overs = [word for each in parameters for word in ("--over", each)]
    return [command, "kernels.py:doubled", "--input", "x=float32[P, N]", "--results", "", *overs]


def ended(capsys, *arguments):
    """Exit code and stderr of the command."""
    capsys.readouterr()
    return main(arguments), capsys.readouterr().err


def test_the_codes_are_those_of_the_shell():
    assert list(EXIT_CODES) == [SUCCESS, FAILURE, WRONG_USAGE, INTERRUPTED] == [0, 1, 2, 130]


def test_a_sweep_fails_when_all_points_do_and_not_before(capsys):
    code, error = ended(capsys, *study("P=128,129", "N=4", "most=8"))
    assert (code, error) == (SUCCESS, "")
    code, error = ended(capsys, *study("P=129,130", "N=4", "most=8"))
    assert code == FAILURE and error.count("\n") == 1
    assert error.startswith("neuron-sim sweep: error: every point was refused: ")


def test_a_kernel_that_raises_fails_its_point_and_no_other(capsys):
    code, _ = ended(capsys, *study("P=128", "N=4,16", "most=8"))
    assert code == SUCCESS
    code, error = ended(capsys, *study("P=128", "N=16", "most=8", command="tune"))
    assert code == FAILURE and "every point was refused: AssertionError" in error
    assert "kernels.py, line " in error and error.count("\n") == 1


@pytest.mark.parametrize(("line", "sentence"), [
    ("{}['key']", "KeyError: 'key' ("),
    ("import absent_package", "No module named 'absent_package'"),
    ("raise SystemExit('done')", "it ends the process with done."),
    ("x = (", "SyntaxError: "),
])  # fmt: skip
@pytest.mark.parametrize("command", ["sweep", "tune"])
def test_a_file_that_fails_is_a_failure(capsys, folder, command, line, sentence):
    (folder / "kernels.py").write_text(KERNEL.format(line=line))
    code, error = ended(capsys, *study("P=128", "N=4", "most=8", command=command))
    assert code == FAILURE and error.count("\n") == 1
    assert f"neuron-sim {command}: error: {folder / 'kernels.py'}: {sentence}" in error


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["sweep", "absent.py:f", "--over", "a=1"], "there is no file 'absent.py'"),
    (["tune", "kernels.py:doubled", "--over", "N="], "'N=' must be NAME=VALUE"),
    (["arch", "show", "trn9"], "architecture 'trn9' is unknown"),
    (["replay", "absent"], "absent"),
    (["compare", "absent.html", "absent.html"], "absent.html"),
])  # fmt: skip
def test_what_is_not_there_is_wrong_usage(capsys, arguments, sentence):
    code, error = ended(capsys, *arguments)
    assert code == WRONG_USAGE and sentence in error and error.count("\n") == 1


@pytest.mark.parametrize(("error", "code"), [
    (ValueError("no."), WRONG_USAGE),
    (TypeError("no."), WRONG_USAGE),
    (OSError(errno.EACCES, "Permission denied", "file"), WRONG_USAGE),
    (ProgramError("no."), FAILURE),
    (MemoryError(), FAILURE),
    (BrokenPipeError(errno.EPIPE, "Broken pipe"), FAILURE),
    (KeyboardInterrupt(), INTERRUPTED),
])  # fmt: skip
def test_an_error_has_the_code_of_its_kind(monkeypatch, capfd, error, code):
    def run(arguments):
        raise error

    monkeypatch.setattr(explain, "run", run)
    output = os.dup(1)  # a broken pipe is replaced
    try:
        assert main(["explain", "nc_matmul"]) == code
    finally:
        os.dup2(output, 1)
        os.close(output)
    quiet = isinstance(error, BrokenPipeError | KeyboardInterrupt)
    assert capfd.readouterr().err.count("neuron-sim explain: error: ") == (0 if quiet else 1)


def test_an_error_of_a_program_names_it_once():
    with pytest.raises(ProgramError, match=r"^inner: no\.$"), failures_of("outer"):
        with failures_of("inner"):
            raise ValueError("no.")
    with pytest.raises(OSError, match="^no$"), failures_of("outer", OSError):
        raise OSError("no")
    with pytest.raises(KeyboardInterrupt), failures_of("outer"):
        raise KeyboardInterrupt


def test_the_sentence_of_an_error_says_what_its_message_leaves_out():
    assert sentence_of(ValueError("one.\ntwo.")) == "one."
    assert sentence_of(KeyError("key")) == "KeyError: 'key'"
    assert sentence_of(MemoryError()) == "MemoryError"
    try:
        raise AssertionError
    except AssertionError as error:
        assert sentence_of(error).startswith(f"AssertionError ({__file__}, line ")
