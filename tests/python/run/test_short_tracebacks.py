"""Errors of kernels under `neuron-sim run`: the kernel's line first, then its callers."""

import inspect
import os
import subprocess
import sys

import pytest
from neuron_sim.neuronxcc import nki
from neuron_sim.run import tracebacks
from test_run_command import run_script, written

SCRIPT = """\
import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

def load(a):
    return nl.load(a)

@nki.jit
def double(a, rows):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, load(a) * 2)
    return out

def main():
    {call}

main()
"""
PLAIN = SCRIPT.replace("neuronxcc", "neuron_sim.neuronxcc")
REMARK = "(neuron-sim run --full-traceback shows the frames of the simulator)\n"


def told(tmp_path, call, *options, variables=None):
    script = written(tmp_path, SCRIPT.format(call=call))
    out, err, status = run_script(*options, script, variables=variables)
    assert (out, status) == ("", 1)
    return err.replace(str(script), "script.py")


FAILS = "double(np.zeros((129, 4), np.float32), 1)"


def test_the_kernels_line_comes_first_and_then_its_callers(tmp_path):
    assert told(tmp_path, FAILS) == (
        "ValueError: number of partition in src[129, 4] of 'load' exceed architecture limitation "
        "of 128.\n"
        '  File "script.py", line 6, in load\n    return nl.load(a)\n           ^^^^^^^^^^\n'
        "called from\n"
        '  File "script.py", line 11, in double\n    nl.store(out, load(a) * 2)\n'
        f'  File "script.py", line 15, in main\n    {FAILS}\n'
        '  File "script.py", line 17, in <module>\n    main()\n'
        f"{REMARK}"
    )


@pytest.mark.parametrize(
    ("options", "variables"),
    [(("--full-traceback",), {}), ((), {"NEURON_SIM_FULL_TRACEBACK": "1"})],
)
def test_the_simulators_frames_are_shown_where_they_are_asked_for(tmp_path, options, variables):
    text = told(tmp_path, FAILS, *options, variables=variables)
    assert text.startswith("Traceback (most recent call last):\n") and "movement.py" in text
    assert REMARK not in text


def test_other_errors_and_caused_ones_are_those_of_python(tmp_path):
    text = told(tmp_path, "raise KeyError(1)")
    assert text.startswith("Traceback") and text.endswith("KeyError: 1\n")
    caused = (
        f"try:\n        {FAILS}\n    except ValueError as error:\n        raise KeyError from error"
    )
    text = told(tmp_path, caused)
    assert "direct cause" in text and text.endswith("KeyError\n")


def test_a_script_without_kernels_loads_none_of_their_modules(tmp_path):
    script = written(tmp_path, "import sys\nprint('neuron_sim.nki' in sys.modules)\n")
    assert run_script(script) == ("False\n", "", 0)


def python(*arguments, variables=None):
    """What `python ARGUMENTS` says, without `neuron-sim run`."""
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 1
    return done.stdout + done.stderr


@pytest.mark.parametrize("call", [FAILS, FAILS.replace("(", ".traced(", 1)])
def test_a_script_without_the_command_ends_with_the_kernels_line(tmp_path, call):
    script = written(tmp_path, PLAIN.format(call=call))
    text = python(script)
    frames = [line for line in text.splitlines() if line.startswith("  File ")]
    assert [line.rpartition(" ")[2] for line in frames] == [
        "<module>", "main", "double", "load", "load"  # the last one is the note's
    ]  # fmt: skip
    assert text.endswith(
        f'  File "{script}", line 6, in load\n    return nl.load(a)\n           ^^^^^^^^^^\n'
    )
    whole = python(script, variables={"NEURON_SIM_FULL_TRACEBACK": "1"})
    assert "movement.py" in whole and "movement.py" not in text


TEST = """
def test_it():
    {call}
"""


@pytest.mark.parametrize("options", [(), ("--tb=native",)])
def test_pytest_shows_the_kernels_line_as_the_innermost_one(tmp_path, options):
    head = PLAIN.partition("def main")[0]
    test = written(tmp_path, head + TEST.format(call=FAILS), name="test_it.py")
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", tmp_path, *options)
    text = python(*command, test)
    assert "return nl.load(a)" in text and "movement.py" not in text
    whole = python(*command, test, variables={"NEURON_SIM_FULL_TRACEBACK": "1"})
    assert "movement.py" in whole


def test_kernels_keep_their_signature_and_documentation():
    kernel = nki.jit(lambda a, rows: None)
    assert list(inspect.signature(kernel.traced).parameters) == ["args", "kwargs"]
    assert kernel.traced.__doc__.startswith("The program for these arguments")
    assert kernel.traced.__name__ == "traced" and kernel.traced.__self__ is kernel


def test_an_error_that_a_script_handles_keeps_its_context(tmp_path):
    call = f"try:\n        1 / 0\n    except ZeroDivisionError:\n        {FAILS}"
    text = python(written(tmp_path, PLAIN.format(call=call)))
    assert text.index("ZeroDivisionError") < text.index("During handling of")


def test_an_earlier_line_of_the_function_where_the_traceback_ends_is_no_caller():
    names: dict = {}
    code = compile("def kernel():\n    first = 1\n    raise ValueError('late')\n", "k.py", "exec")
    exec(code, names)
    told = {}
    for line in (2, 3, 7):  # of the kernel twice, of a function that returned already
        with pytest.raises(ValueError) as caught:
            names["kernel"]()
        caught.value.add_note(f'  File "k.py", line {line}, in kernel')
        caught.value._neuron_sim_located = True
        told[line] = tracebacks.short(caught.value)
    assert "k.py" not in told[2].partition("called from")[2]
    assert "line 2, in kernel\ncalled from\n" in told[2] and told[2] != told[7]
    assert 'File "k.py", line 3, in kernel' in told[7].partition("called from")[2]


def test_functions_of_numpy_name_those_of_the_language(tmp_path):
    body = SCRIPT.replace("load(a) * 2", "{expression}").replace("{call}", "FAILS")
    for expression, name in (("np.maximum(load(a), 0)", "maximum"), ("np.exp(load(a))", "exp")):
        script = written(tmp_path, body.replace("{expression}", expression).replace(
            "FAILS", "double(np.zeros((12, 4), np.float32), 1)"))  # fmt: skip
        _, err, status = run_script(script)
        assert status == 1
        assert err.startswith(f"TypeError: NumPy's {name} does not take a tile: use nl.{name}.\n")
