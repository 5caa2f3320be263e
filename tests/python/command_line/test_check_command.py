"""`neuron-sim check`: the exit code says which part of a verdict fails."""

import json

import pytest
from neuron_sim.command_line import main

KERNELS = """
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def right(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.add(nl.load(a), nl.load(b)))
    return out


@nki.jit
def illegal(a, b):
    import math
    return right(a, b)


@nki.jit
def wrong(a, b):
    return right(a, a)


@nki.jit
def unclean(a, b):
    t = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=t[:, 0:1], src=t[:, 1:2])
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.add(nl.load(a), nl.load(b)))
    nl.store(out[:, 0:1], nl.multiply(t[:, 0:1], 0.0))
    nl.store(out, nl.add(nl.load(a), nl.load(b)))
    return out


def added(a, b):
    return a + b
"""
SHAPES = ("--shapes", "a=float32[128,64]", "b=float32[128, 64]")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels.py").write_text(KERNELS)


def ended(capsys, name, *more):
    code = main(["check", "kernels.py", "--kernel", name, "--reference", ":added", *SHAPES, *more])
    return code, capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "code", "line"),
    [
        ("right", 0, "correct: yes"),
        ("illegal", 1, "breaks PY-IMPORT"),
        ("wrong", 3, "output 0 at [0, 0] is"),
        ("unclean", 4, "clean: NO"),
    ],
)
def test_the_exit_code_says_which_part_fails(name, code, line, capsys):
    ended_with, told = ended(capsys, name)
    assert (ended_with, told.err) == (code, "") and line in told.out


def test_each_set_of_shapes_has_a_verdict(capsys):
    more = ("--shapes", "a=float32[129,64]", "b=float32[129,64]", "--json")
    code, told = ended(capsys, "right", *more)
    first, second = json.loads(told.out)
    assert code == 1 and first["passed"] and not second["passed"]
    assert "src[129, 64] of 'load' exceed" in second["legal"]["rules"][0]["sentence"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("none.py", "--kernel", "right", *SHAPES), "none.py: No such file or directory."),
        (("kernels.py", "--kernel", "left", *SHAPES), "'kernels.py' has no function 'left'."),
        (("kernels.py", "--kernel", "right", "--shapes", "a"), "--shapes 'a' must be NAME="),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, sentence, capsys):
    assert main(["check", *arguments]) == 2
    assert sentence in capsys.readouterr().err
