"""neuron-sim run: scripts as python runs them, with the simulator's NKI; few, for they are slow."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from device_type import DEVICE_TYPE
from neuron_sim import settings
from neuron_sim.run import environment

pytest.importorskip("neuron_sim.neuronxcc.nki")


def run_script(*arguments, cwd=None, variables=None):
    """Standard output, standard error and exit code of `neuron-sim run ...`."""
    command = [sys.executable, "-m", "neuron_sim", "run", *map(str, arguments)]
    changed = {**os.environ, **(variables or {})}
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=changed)
    return result.stdout, result.stderr, result.returncode


def written(folder: Path, text: str, name: str = "script.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


SCRIPT = """
import logging, os, subprocess, sys
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
from neuronxcc import nki as again
import neuron_sim.neuronxcc.nki.language as own
assert own is nl and again is nki
logging.disable(logging.OFF)
logging.critical("not seen")
print(sys.argv, os.path.basename(sys.path[0]), __name__, os.environ["NEURON_SIM_ARCH"])
child = "import neuronxcc.nki, logging; print('child', logging.OFF >= logging.CRITICAL)"
subprocess.run([sys.executable, "-c", child], check=True, cwd="/")
subprocess.run(["neuron-profile", "view", "-s", "none.ntff"])
sys.exit(7)
"""


def test_a_script_and_its_children_see_our_packages_and_our_profiler(tmp_path):
    script = written(tmp_path, SCRIPT)
    out, err, status = run_script("--arch", "trn1", script, "--arch", "x", "-m")
    assert out.splitlines() == [
        f"{[str(script), '--arch', 'x', '-m']} {tmp_path.name} __main__ trn1",
        "child True",
    ]
    assert err == "neuron-profile: error: none.ntff: No such file or directory.\n"
    assert status == 7


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("missing.py", "--flag"), "there is no script 'missing.py'."),
    (("",), "there is no script ''."),
    (("folder",), "'folder' is a folder without __main__.py, not a script."),
    (("-m", "no_such_module.part"), "there is no module 'no_such_module.part'."),
])  # fmt: skip
def test_a_script_that_is_not_there_is_named_in_one_sentence(tmp_path, arguments, sentence):
    (tmp_path / "folder").mkdir()
    out, err, status = run_script(*arguments, cwd=tmp_path)
    assert (out, err, status) == ("", f"neuron-sim run: error: {sentence}\n", 2)


def test_a_traceback_and_its_exit_code_are_those_of_python(tmp_path):
    script = written(tmp_path, "def fail(key):\n    raise KeyError(key)\n\nfail('boo')\n")
    plain = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert run_script(script) == (plain.stdout, plain.stderr, plain.returncode)
    assert plain.stderr.endswith("KeyError: 'boo'\n")


def test_private_modules_are_named(tmp_path):
    script = written(
        tmp_path,
        """
for line in (
    "import neuronxcc.starfish.support.util",
    "from neuronxcc.nki._private_kernels.qkv import rmsnorm",
    "from neuronxcc.nki import _private_kernels",
):
    try:
        exec(line)
    except ModuleNotFoundError as error:
        print(error.name, "|", error)
try:
    from neuronxcc.nki._private.private_api import sendrecv
except ImportError:
    print("a fallback works")
""",
    )
    out, err, status = run_script(script)
    assert (err, status) == ("", 0)
    reason = "private to the vendor's wheel or not there yet."
    first, second, third, last = out.splitlines()
    assert first.startswith("neuronxcc.starfish | No module named 'neuronxcc.starfish'")
    assert second.startswith("neuronxcc.nki._private_kernels | No module named")
    assert third.startswith("None | cannot import '_private_kernels' from 'neuronxcc.nki':")
    assert all(line.endswith(reason) for line in (first, second, third))
    assert last == "a fallback works"


def test_tutorials_for_torch_xla_find_a_stand_in(tmp_path):
    pytest.importorskip("torch")
    script = written(
        tmp_path,
        """
import torch, torch_neuronx, torch_xla
from torch_neuronx.xla_impl.ops import nki_jit
assert nki_jit is torch_neuronx.nki_jit
from torch_xla.core import xla_model as xm
assert xm.xla_device() == torch_xla.device()
xm.mark_step()
torch_xla.sync()
print(torch.ones(2, device=xm.xla_device()).tolist())
try:
    import torch_xla.experimental
except ModuleNotFoundError as error:
    print(error)
try:
    torch_neuronx.no_such_name
except AttributeError as error:
    print(error)
""",
    )
    out, err, status = run_script(script)
    assert status == 0 and err.startswith("neuron-sim run: 1 launches of 1 programs took")
    first, second, third = out.splitlines()
    assert first == "[1.0, 1.0]"
    assert second.endswith("beyond the simulator's stand-in for torch_xla, which is not installed.")
    assert third.startswith("torch_neuronx.no_such_name is not there: under `neuron-sim run`")


def vendor_package(folder: Path) -> Path:
    package = folder / "installed" / "neuronxcc" / "nki"
    package.mkdir(parents=True)
    written(package.parent, "", "__init__.py")
    written(package, "VENDOR = True\n", "__init__.py")
    return package.parents[1]


@pytest.mark.parametrize("override", [False, True])
def test_the_installed_package_of_the_vendor_wins_unless_overridden(tmp_path, override):
    installed = vendor_package(tmp_path)
    script = written(tmp_path, "import neuronxcc.nki as n; print(hasattr(n, 'VENDOR'))\n")
    paths = os.pathsep.join([str(installed), os.environ.get("PYTHONPATH", "")])
    options = ["--override"] if override else []
    out, err, _ = run_script(*options, script, variables={"PYTHONPATH": paths})
    assert (out, err) == (f"{not override}\n", "")


@pytest.mark.torch
def test_a_library_with_support_for_neuron_sees_torch_xla_once_the_script_has_imported_it(tmp_path):
    asks = (
        "from importlib.util import find_spec\ndef found(): return bool(find_spec('torch_xla'))\n"
    )
    for library in ("transformers", "some_other"):
        (tmp_path / library).mkdir()
        written(tmp_path / library, asks, "__init__.py")
    text = "import some_other, transformers as t\nprint(t.found(), some_other.found())\n"
    script = written(tmp_path, text + "import torch_xla\nprint(t.found())\n")
    assert run_script(script) == ("False True\nTrue\n", "", 0)


def test_a_folder_called_nki_is_no_package_and_a_hidden_sitecustomize_runs(tmp_path):
    (tmp_path / "nki").mkdir()
    site = tmp_path / "site"
    site.mkdir()
    written(site, "print('hidden')\n", "sitecustomize.py")
    written(tmp_path, "import nki; print(nki.jit.__name__)\n", "module.py")
    paths = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    out, err, _ = run_script("-m", "module", cwd=tmp_path, variables={"PYTHONPATH": paths})
    # The command itself is a Python process, too.
    assert (out.splitlines(), err) == (["hidden", "hidden", "jit"], "")


def test_an_unknown_architecture_is_refused_before_the_script_runs(tmp_path):
    out, err, status = run_script("--arch", "trn9", written(tmp_path, "print('ran')\n"))
    assert (out, status) == ("", 2)
    assert err.startswith("neuron-sim run: error: architecture 'trn9' is unknown; allowed: inf2,")


# The environment, without a process


def test_what_is_not_asked_for_is_not_set():
    base = {"PATH": "/usr/bin", "HOME": "/home/user"}
    given = environment.script_environment(base)
    assert {name for name in given if name not in base} == {
        "PYTHONPATH",
        settings.INTERPRETER,
        settings.PACKAGE_FOLDER,
    }
    assert given["PATH"].endswith("/run/bin:/usr/bin") and given["HOME"] == "/home/user"


def test_options_are_variables_and_entries_are_put_once(tmp_path):
    once = environment.script_environment(
        {}, architecture="trn3", sanitize=True, profile=str(tmp_path / "new"), dump="schedule",
        explain_memory=True, timeline=str(tmp_path / "page.html"), advice=True, override=True,
        eager=True, clock="simulated", summary=True,
    )  # fmt: skip
    twice = environment.script_environment(once)
    assert twice == once
    assert (
        once[settings.ARCHITECTURE] == "trn3"
        and once[settings.SANITIZE] == once[settings.OVERRIDE] == "1"
    )
    assert once[settings.PROFILE] == str(tmp_path / "new") and (tmp_path / "new").is_dir()
    assert once[settings.DUMP] == "after:schedule"
    assert once[settings.EXPLAIN_MEMORY] == once[settings.EAGER] == once[settings.SUMMARY] == "1"
    assert once[settings.CLOCK] == "simulated"


EAGER = """
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import numpy as np

@nki.jit
def doubled(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.load(a) * 2
    print(x.numpy().sum())
    nl.store(out, x)
    return out

doubled(np.ones((2, 3), np.float32))
"""


def test_values_of_tiles_are_shown_where_kernels_run_eagerly(tmp_path):
    script = written(tmp_path, EAGER)
    assert run_script("--eager", script) == ("12.0\n", "", 0)
    out, err, status = run_script(script)
    assert (out, status) == ("", 1) and "`neuron-sim run --eager`" in err


def test_a_profile_folder_that_cannot_be_made_is_refused(tmp_path):
    written(tmp_path, "", "file")
    with pytest.raises(ValueError, match="^--profile .*file/inside: Not a directory.$"):
        environment.script_environment({}, profile=str(tmp_path / "file" / "inside"))


def test_a_dump_after_an_unknown_pass_is_refused():
    with pytest.raises(ValueError, match="is 'after:sort'; there are: after:all, after:rename"):
        environment.script_environment({}, dump="sort")


def test_our_commands_can_be_run():
    commands = {path.name: path for path in environment.command_folder().iterdir()}
    assert set(commands) == {"neuron-profile", "neuron-explorer"}
    assert all(os.access(path, os.X_OK) for path in commands.values())


DEVICE = "import os; print(os.environ['NEURON_SIM_DEVICE'])"


@pytest.mark.parametrize(("text", "options", "name"), [
    (DEVICE, (), "neuron"),
    (f"{DEVICE}  # torch.device('neuron_sim')", (), DEVICE_TYPE),
    (DEVICE, ("--device", DEVICE_TYPE), DEVICE_TYPE),
    (f"{DEVICE}  # neuron_sim", ("--device", "neuron"), "neuron"),
])  # fmt: skip
def test_the_device_has_the_name_that_the_script_or_the_option_says(tmp_path, text, options, name):
    script = written(tmp_path, text)
    for call in ((script,), ("-m", "script"), ("-m", "cProfile", "-o", "profile", script)):
        out, err, _ = run_script(*options, *call, cwd=tmp_path)
        assert out == f"{name}\n", (call, err)


def test_the_name_of_the_users_environment_wins_over_the_text_of_the_script(tmp_path):
    script = written(tmp_path, f"{DEVICE}  # neuron_sim")
    assert run_script(script, variables={"NEURON_SIM_DEVICE": "neuron"})[0] == "neuron\n"


def test_a_name_of_a_device_that_does_not_exist_is_refused(tmp_path):
    _, err, status = run_script("--device", "xla", written(tmp_path, DEVICE))
    assert status == 2 and "argument --device: invalid choice: 'xla'" in err
