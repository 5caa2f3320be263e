"""The table of settings: that all code reads through it, and typing errors."""

import re
import subprocess
from pathlib import Path

import pytest
from faults import run_apart
from neuron_sim import _core

ROOT = Path(__file__).resolve().parents[3]

#: Read the environment themselves: the table, what runs before the package can be loaded, and what
#: reads variables of the vendor and of torchrun.
READERS = (
    "device/base/settings.cpp",
    "python_bindings/neuron_sim/settings.py",
    "python_bindings/neuron_sim/run/",
    "python_bindings/neuron_sim/nki/kernel.py",
    "python_bindings/neuron_sim/nki/launch/program_cache.py",
    "python_bindings/neuron_sim/command_line/commands/completion.py",
    "python_bindings/neuron_sim/torch_backend/client_choices.py",
    "python_bindings/neuron_sim/torch_backend/registration.py",
    "python_bindings/neuron_sim/torch_compile/artifacts.py",
    "python_bindings/neuron_sim/torch_compile/host_inputs.py",
    "python_bindings/neuron_sim/torch_compile/options.py",
)  # fmt: skip
READ = re.compile(r"getenv\(|environ(?:\.get\(|\[[^\]]*\](?! =))")
NAME = re.compile(r"\bNEURON_SIM_[A-Z_]+\b")


def sources(*folders):
    """(path, text) of the files under version control in folders."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if name.endswith((".cpp", ".h", ".py", ".md", ".sh")):
            yield name, (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(("line", "reads"), [
    ('std::getenv("NEURON_SIM_ARCH")', True),
    ('os.environ.get("NEURON_SIM_ARCH")', True),
    ('os.environ["NEURON_SIM_ARCH"]', True),
    ('os.environ["NEURON_SIM_ARCH"] = name', False),
    ('setting("NEURON_SIM_ARCH")', False),
])  # fmt: skip
def test_reads_of_the_environment_are_seen(line, reads):
    assert bool(READ.search(line)) == reads


def test_only_the_table_reads_the_environment():
    found = [
        name
        for name, text in sources("device", "ops", "csrc", "python_bindings")
        if READ.search(text) and not name.startswith(READERS)
    ]
    assert found == []


def test_code_and_documents_name_only_settings_of_the_table():
    known = {name for name, _, _ in _core.settings()}
    macros = {*NAME.findall((ROOT / "csrc/runtime/export.h").read_text(encoding="utf-8"))}
    texts = list(sources("device", "ops", "python_bindings", "models", "docs", "README.md"))
    macros.update(name for _, text in texts for name in re.findall(r"#define (\w+)", text))
    for name, text in texts:
        assert set(NAME.findall(text)) <= known | macros, name


def test_a_variable_that_does_not_exist_is_named_once():
    code = "from neuron_sim import _core\nfor _ in 'ab': _core.setting('NEURON_SIM_ARCH')\n"
    ended = run_apart(code, NEURON_SIM_ARHC="trn1")
    assert ended.status == 0
    assert ended.errors.startswith(
        "neuron_sim: no setting of the environment is called NEURON_SIM_ARHC, so it has no effect"
    )
    assert ended.errors.count("\n") == 1
    assert run_apart(code, NEURON_SIM_ARCH="trn1").errors == ""
