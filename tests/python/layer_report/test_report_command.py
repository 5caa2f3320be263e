"""`neuron-sim report`."""

import json
import os

import pytest
import torch
from device_type import DEVICE_TYPE
from neuron_sim.command_line import main
from neuron_sim.settings import ARCHITECTURE
from neuron_sim.terminal.exit_codes import FAILURE, WRONG_USAGE

MODEL = """
import torch
from torch import nn

def build():
    layers = [nn.Linear(64, 64, bias=False) for _ in range(3)]
    return nn.Sequential(*layers, nn.Flatten()), (torch.ones(8, 64),)

def wrong():
    return nn.Linear(64, 64), (torch.ones(8, 63),)

def faulty():
    return {}["missing"]
"""


@pytest.fixture(autouse=True)
def _model(tmp_path, monkeypatch):
    torch._dynamo.reset()
    (tmp_path / "reported_model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    # The command writes its choice into the environment, where later tests must not find it.
    monkeypatch.setenv(ARCHITECTURE, os.environ.get(ARCHITECTURE, ""))


def layers_of(path):
    root = json.loads(path.read_text())["layers"]
    return root, {child["name"]: child for child in root["children"]}


def test_it_prints_a_table_and_writes_files(tmp_path, capsys):
    files = {name: tmp_path / f"out.{name}" for name in ("html", "markdown", "output")}
    options = [text for name, file in files.items() for text in (f"--{name}", str(file))]
    assert main(["report", "reported_model:build", *options]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Sequential on {DEVICE_TYPE}:0 (trn2), torch.compile, forward\nlayer ")
    assert shown.endswith("Modules without launches: Flatten 1.\n")
    assert files["html"].read_text().startswith("<!DOCTYPE html>")
    assert "| layer | class |" in files["markdown"].read_text()
    root, children = layers_of(files["output"])
    assert list(children) == ["0", "1", "2", "(launch overhead)"]
    assert json.loads(files["output"].read_text())["dtype"] == "bfloat16"
    assert root["flop"] == 3 * 2 * 8 * 64 * 64


def test_its_time_is_that_of_the_command_that_times_models(tmp_path, capsys):
    out = tmp_path / "out.json"
    chosen = ["reported_model:build", "--dtype", "float32", "--auto-cast", "matmult"]
    assert main(["report", *chosen, "--json", "--output", str(out)]) == 0
    assert json.loads(out.read_text())["dtype"] == "bfloat16"  # of products
    assert json.loads(capsys.readouterr().out) == json.loads(out.read_text())
    torch._dynamo.reset()
    assert main(["model", *chosen, "--no-cache", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert layers_of(out)[0]["time_us"] == pytest.approx(1e3 * row["latency_ms"], rel=1e-9)


def test_operators_one_by_one_backward_and_in_groups(tmp_path, capsys):
    out = tmp_path / "out.json"
    options = ["--eager", "--backward", "--group", "--depth", "1", "--output", str(out)]
    assert main(["report", "reported_model:build", *options]) == 0
    assert "eager, forward and backward" in capsys.readouterr().out
    _, children = layers_of(out)
    assert children["[0-2]"]["calls"] == 3 and children["[0-2]"]["backward_us"] > 0


@pytest.mark.parametrize(("arguments", "message"), [
    (["nothing_of_this_name"], "is not a known model; name a configuration file"),
    (["reported_model:build", "--depth", "0"], "depth is 0; it must be"),
    (["reported_model:build", "--batch", "0"], "--batch is 0; it must be at least 1"),
    (["reported_model:build", "--arch", "trn9"], "trn9"),
    (["reported_model:build", "--eager", "--auto-cast", "matmult"], "--auto-cast is an option"),
    (["reported_model:build", "--html", "missing/out.html"], "missing/out.html: No such file"),
])  # fmt: skip
def test_what_it_refuses_is_one_sentence(arguments, message, capsys):
    expect_sentence(arguments, WRONG_USAGE, message, capsys)


@pytest.mark.parametrize(("arguments", "message"), [
    (["reported_model:wrong"], "reported_model:wrong: "),
    (["reported_model:faulty"], "KeyError: 'missing' ("),
])  # fmt: skip
def test_a_model_that_fails_is_one_sentence(arguments, message, capsys):
    expect_sentence(arguments, FAILURE, message, capsys)


def expect_sentence(arguments, code, message, capsys):
    assert main(["report", *arguments]) == code
    shown = capsys.readouterr()
    assert message in shown.err and shown.err.count("\n") == 1 and "Traceback" not in shown.err
    assert shown.out == ""
