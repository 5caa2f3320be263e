"""Errors of kernels under `neuron-sim run`: the kernel's line first, then its callers."""

import pytest
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
