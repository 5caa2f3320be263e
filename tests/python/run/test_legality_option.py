"""`neuron-sim run --legality`: what becomes of a kernel that the vendor's build refuses."""

import subprocess
import sys

import pytest

SCRIPT = """
import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np


@nki.jit
def kernel(a):
    import math
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(a))
    return out


print("ran", kernel(np.ones((4, 4), np.float32)).sum())
"""


def run(folder, *options, **environment):
    (folder / "script.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "neuron_sim", "run", *options, "script.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("options", "level", "runs", "is_told"),
    [
        ((), None, True, True),
        (("--legality", "warn"), "compiler", True, True),
        ((), "off", True, False),
        (("--legality", "compiler"), None, False, False),
        ((), "documented", False, False),
    ],
)
def test_the_option_comes_before_the_variable_and_warns_without_both(
    options, level, runs, is_told, tmp_path, monkeypatch
):
    monkeypatch.delenv("NEURON_SIM_LEGALITY", raising=False)
    environment = {} if level is None else {"NEURON_SIM_LEGALITY": level}
    result = run(tmp_path, *options, **environment)
    assert (result.stdout == "ran 16.0\n", result.returncode == 0) == (runs, runs)
    told = "script.py:10: warning: kernel 'kernel' breaks PY-IMPORT, "
    assert (told in result.stderr) == is_told
    assert ('File "' in result.stderr and "line 10" in result.stderr) == (not runs)


def test_a_level_that_does_not_exist_is_refused_before_the_script_runs(tmp_path):
    result = run(tmp_path, NEURON_SIM_LEGALITY="strict")
    assert (result.stdout, result.returncode) == ("", 2)
    assert result.stderr == (
        "neuron-sim run: error: NEURON_SIM_LEGALITY is 'strict'; it must be compiler or documented "
        "or warn or off.\n"
    )


@pytest.mark.parametrize(("version", "runs"), [("0.6", False), ("0.7", True)])
def test_a_kernel_is_judged_by_the_version_of_its_user(version, runs, tmp_path):
    options = ("--legality", "documented")
    result = run(tmp_path, *options, "--nki-version", version)
    assert (result.returncode == 0) == runs, result.stderr
    assert run(tmp_path, *options, NEURON_SIM_NKI_VERSION=version).returncode == result.returncode


def test_a_version_that_does_not_exist_is_refused_before_the_script_runs(tmp_path):
    result = run(tmp_path, NEURON_SIM_NKI_VERSION="0.8")
    assert (result.stdout, result.returncode) == ("", 2)
    assert "NEURON_SIM_NKI_VERSION is '0.8'; it must be 0.2 or 0.3" in result.stderr
