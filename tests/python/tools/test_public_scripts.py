"""The driver of public scripts, on a repository made here; the list names what it can run."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "public_scripts"))
checkout = importlib.import_module("checkout")
notebook = importlib.import_module("notebook")
run = importlib.import_module("run")

SOURCES = {
    "examples/works.py": (
        "import torch, sys\nfrom beside import size\n"
        "x = torch.ones(size, device='neuron')\nprint('sum', (x + x).sum().item(), *sys.argv[1:])\n"
    ),
    "examples/beside.py": "size = 4\n",
    "examples/fails.py": "import torch\nx = torch.ones(1, device='neuron')\nraise ValueError(x)\n",
    "examples/on_the_cpu.py": "import torch\nprint('sum', torch.ones(4).sum().item())\n",
    "examples/leaves.py": "import os, works\nos._exit(0)\n",
    "examples/waits.py": "import time\ntime.sleep(60)\n",
    "elsewhere/other.py": "",
}


@pytest.fixture(scope="module")
def mirror(tmp_path_factory):
    """A folder with one clone, `someone+scripts`, and its commit."""
    folder = tmp_path_factory.mktemp("mirror")
    clone = folder / "someone+scripts"
    for name, text in SOURCES.items():
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(text)
    identity = ["-c", "user.name=Someone", "-c", "user.email=someone@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "Scripts"]):
        subprocess.run(["git", "-C", str(clone), *command], check=True)
    commit = subprocess.run(
        ["git", "-C", str(clone), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    for name in SOURCES:
        (clone / name).write_text("the work tree is not what runs")
    return folder, commit


def script(commit, name, **others):
    values = {
        "name": name,
        "repository": "someone/scripts",
        "commit": commit,
        "path": f"examples/{name}.py",
        "shows": "a test",
        "expects": r"sum 8\.0",
    }
    return run.Script(**{**values, **others})


def test_a_script_of_the_commit_runs_on_the_device_with_its_arguments(mirror, tmp_path):
    folder, commit = mirror
    case = script(commit, "works", arguments=("--to", "{scratch}"), expects=r"sum 8\.0 --to /.*")
    outcome = run.run_script(case, folder, tmp_path)
    assert outcome.failure == "" and outcome.simulated_ms > 0 and outcome.launches >= 2
    assert str(tmp_path) in (tmp_path / "output" / "works.txt").read_text()


def test_a_script_that_leaves_without_pythons_end_is_counted_too(mirror, tmp_path):
    folder, commit = mirror
    outcome = run.run_script(script(commit, "leaves"), folder, tmp_path)
    assert outcome.failure == "" and outcome.simulated_ms > 0


@pytest.mark.parametrize(
    "name, others, failure",
    [
        ("works", {"expects": "sum 9"}, "its output has no match of sum 9"),
        ("fails", {}, "exit code 1: ValueError: tensor([1.], device='neuron:0')"),
        ("on_the_cpu", {"expects": r"sum 4\.0"}, "nothing ran on the device"),
        ("waits", {"seconds": 1}, "not done after 1 s"),
    ],
)
def test_a_run_that_is_not_what_the_list_says_fails_with_the_reason(
    mirror, tmp_path, name, others, failure
):
    folder, commit = mirror
    assert run.run_script(script(commit, name, **others), folder, tmp_path).failure == failure


def test_a_folder_gets_the_paths_that_are_asked_for_and_keeps_nothing_else(mirror, tmp_path):
    folder, commit = mirror
    git = checkout.git_directory(folder, "someone/scripts")
    checkout.unpack(git, commit, tmp_path / "whole", [])
    for paths in (["elsewhere"], ["examples/works.py"]):
        checkout.unpack(git, commit, tmp_path / "part", paths)
    names = {
        part: {
            str(path.relative_to(tmp_path / part))
            for path in (tmp_path / part).rglob("*")
            if path.is_file()
        }
        for part in ("whole", "part")
    }
    assert names == {"whole": set(SOURCES), "part": {"examples/works.py"}}
    assert (tmp_path / "part/examples/works.py").read_text() == SOURCES["examples/works.py"]


def test_a_notebook_runs_as_the_script_of_its_code(tmp_path):
    cells = [
        ("markdown", ["# Title\n", "!not code"]),
        ("code", ["%env A=1\n", "if True:\n", "    !pip install it\n", "    print('sum', 8.0)"]),
        ("code", ["print('last % ! line')\n"]),
    ]
    path = tmp_path / "example.ipynb"
    path.write_text(json.dumps({"cells": [{"cell_type": t, "source": x} for t, x in cells]}))
    written = notebook.script_of(path)
    assert written == tmp_path / "example.py" == notebook.script_of(written)
    out = subprocess.run([sys.executable, written], capture_output=True, text=True, check=True)
    assert out.stdout == "sum 8.0\nlast % ! line\n"


def test_what_a_mirror_lacks_is_named(mirror, tmp_path):
    folder, commit = mirror
    with pytest.raises(FileNotFoundError, match=r"no clone of no/body"):
        checkout.git_directory(folder, "no/body")
    git = checkout.git_directory(folder, "someone/scripts")
    with pytest.raises(ValueError, match=f"none of nowhere at {commit}"):
        checkout.unpack(git, commit, tmp_path / "x", ["nowhere"])


def test_the_list_names_scripts_of_pinned_commits_that_differ():
    scripts = run.read_scripts()
    assert len(scripts) >= 20
    for case in scripts:
        assert re.fullmatch(r"[0-9a-f]{40}", case.commit), case
        assert case.path.endswith((".py", ".ipynb")) and case.shows, case
        re.compile(case.expects)
    assert len({(case.repository, case.path) for case in scripts}) == len(scripts)


def test_a_name_that_stands_twice_in_a_list_and_an_unknown_key_are_errors(tmp_path):
    row = '[[script]]\nname = "a"\nrepository = "o/r"\npath = "a.py"\nshows = "s"\nexpects = "e"\n'
    listed = tmp_path / "list.toml"
    listed.write_text('[repositories]\n"o/r" = "c"\n' + row)
    assert [case.name for case in run.read_scripts(listed)] == ["a"]
    listed.write_text('[repositories]\n"o/r" = "c"\n' + row + row)
    with pytest.raises(ValueError, match="two scripts of the name a"):
        run.read_scripts(listed)
    listed.write_text('[repositories]\n"o/r" = "c"\n' + row + 'colour = "red"\n')
    with pytest.raises(TypeError, match="colour"):
        run.read_scripts(listed)


def test_a_tiny_model_stands_for_a_public_one_of_the_hub(tmp_path):
    pytest.importorskip("transformers")
    models = tmp_path / "hub.toml"
    models.write_text(
        '[datasets]\nsome = [{ text = "a" }]\n'
        '[[model]]\nrepository = "some/model"\nclass = "transformers:GPT2LMHeadModel"\n'
        "tokenizer = 32\n"
        "config = { vocab_size = 264, n_embd = 8, n_layer = 1, n_head = 2, n_positions = 32 }\n"
    )
    program = (
        "from transformers import AutoModelForCausalLM, AutoTokenizer\n"
        "tokenizer = AutoTokenizer.from_pretrained('some/model')\n"
        "model = AutoModelForCausalLM.from_pretrained('some/model')\n"
        "print(type(model).__name__, model.config.n_embd)\n"
        "print(tokenizer.decode(tokenizer('héllo')['input_ids'], skip_special_tokens=True))\n"
    )
    write = (
        f"import hub, pathlib; hub.write_hub(pathlib.Path('home'), pathlib.Path({str(models)!r}))"
    )
    environment = {
        **os.environ,
        "HF_HOME": str(tmp_path / "home"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": str(ROOT / "tools" / "public_scripts"),
        "PYTHONIOENCODING": "utf-8",
    }
    for text in (write, program):
        output = subprocess.run(
            [sys.executable, "-c", text],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            encoding="utf-8",
        )
        assert output.returncode == 0, output.stderr
    assert output.stdout == "GPT2LMHeadModel 8\nhéllo\n"
    assert json.loads((tmp_path / "home/datasets/some/train.jsonl").read_text()) == {"text": "a"}
