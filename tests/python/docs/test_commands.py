"""What stands beside a command in README.md and docs/ is what it prints; every command parses."""

import contextlib
import importlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import page_commands
import pytest
from neuron_sim.command_line.parser import build_parser

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text(encoding="utf-8")
NKI = (ROOT / "docs/nki.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
USAGE = re.compile(r"\[OPTION|\bCOMMAND\b|\.\.\.")
"""In a line that says how a command is used rather than how it is called."""
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "models")]
cells_of = importlib.import_module("write_figures").table


def commands(page: Path) -> list[str]:
    """The calls of neuron-sim in the blocks of a page, up to a pipe or a redirection."""
    fences = FENCE.findall(page.read_text(encoding="utf-8"))
    lines = "".join(text for language, text in fences if language in ("", "sh")).replace(
        "\\\n", " "
    )
    return [
        re.split(r" (?:\d?>|\|)", line)[0].strip()
        for line in lines.splitlines()
        if line.strip().startswith("neuron-sim ") and "$" not in line and not USAGE.search(line)
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda p: p.stem)
def test_every_command_of_a_page_is_one_that_the_parser_takes(page):
    parser = build_parser()
    for command in commands(page):
        parser.parse_args(shlex.split(command, comments=True)[1:])


def test_the_model_command_prints_the_row_of_the_table_below_it(tmp_path):
    command = next(line for line in commands(ROOT / "README.md") if " model bert" in line)
    words = shlex.split(command, comments=True)
    result = subprocess.run(
        [sys.executable, "-m", "neuron_sim", *words[1:], "--json"],
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert result.returncode == 0, result.stderr
    (row,) = (row for row in cells_of(README, "published ms") if row["model"] == words[2])
    (printed,) = json.loads(result.stdout)
    assert f"{printed['latency_ms']:.3f}" == row["simulated ms"]


def test_the_kernel_that_is_timed_prints_the_row_of_the_table_below_it(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(import neuron_sim\n.*?)```", README, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(code)
    (row,) = (row for row in cells_of(README, "trn2 us") if row["kernel"] == "matmul")
    assert f"{float(printed.getvalue()):,.2f}" == row["trn2 us"]


def test_a_vector_addition_has_one_latency_on_every_page():
    """The kernel of CS149 with row chunks of 128 on trn2: evaluation and demo."""
    additions = importlib.import_module("vector_additions").vector_additions("trn2")
    demo = next(addition for addition in additions if addition.variant == "ROW_CHUNK 128")
    report = json.loads((ROOT / "docs/fidelity.json").read_text(encoding="utf-8"))
    (case,) = (
        case for case in report["fidelity"]["cases"] if case["id"] == "trn2-vadd-tiled-rc128-25600"
    )
    assert demo.simulated_us == pytest.approx(case["simulated"], abs=1e-3)
    assert demo.measured_us == case["measured"]
    assert "row_chunk=128" not in (ROOT / "docs/kernels.md").read_text(encoding="utf-8")


def test_the_report_of_a_model_prints_the_table_below_it():
    page = (ROOT / "docs/profiling.md").read_text(encoding="utf-8")
    block = re.search(
        r"```python\n(import neuron_sim\n.*?)```\n\n```text\n(.*?)```", page, re.DOTALL
    )
    code = f"import torch\n{block[1]}"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout == block[2]


SCRIPT = re.compile(
    r"^```python\n(# (\w+\.py)\n.*?)^```\n\n```sh\n(neuron-sim .*?)\n```\n\n```text\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
"""A script, the command that runs it, and how that begins to print."""


@pytest.mark.parametrize("script", SCRIPT.findall(NKI), ids=lambda script: script[1])
def test_a_script_of_the_page_of_nki_prints_what_stands_below_it(script, tmp_path):
    code, name, command, text = script
    (tmp_path / name).write_text(code, encoding="utf-8")
    words = [sys.executable, "-m", "neuron_sim", *command.split()[1:]]
    result = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert (result.stdout + result.stderr).replace(f"{tmp_path}/", "").startswith(text)


def test_the_scripts_of_the_page_of_nki_are_found():
    assert NKI.count("\n```sh\nneuron-sim run ") == len(SCRIPT.findall(NKI)) == 3


def test_the_collective_prints_the_line_below_it():
    page = (ROOT / "docs/distributed.md").read_text(encoding="utf-8")
    first = page.partition("## One rank alone")[0]
    assert "```sh\ntorchrun" in first and page_commands.page(first) == first
