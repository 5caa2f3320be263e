"""torch.neuron_sim.sanitize(): operators on the device."""

import inspect
import os
import subprocess
import sys

import pytest
import torch
from device_type import DEVICE_TYPE, OWN_NAME
from neuron_sim import Finding
from neuron_sim.sanitizer import checking

DEVICE = f"{DEVICE_TYPE}:1"


FINDING = {
    "rule": "uninitialised-read", "severity": "error", "kernel": "add", "message": "it is wrong.",
    "instruction": "tensor_tensor", "operand": "data1", "tile": "x", "bytes": (0, 4),
    "partitions": (0, 1), "index": [2], "source_line": "", "other_line": "", "remedy": "mend it",
}  # fmt: skip


@pytest.fixture
def wrong_addition(monkeypatch):
    """Every aten::add on the device is followed by a finding, as if its kernel were wrong."""

    def taken(**changes):
        is_addition = changes.get("operator") == "aten::add.Tensor"
        return checking.made([FINDING] if is_addition else [], **changes)

    monkeypatch.setattr(checking, "taken", taken)


def model(x):
    y = x * 2
    return y + 1  # here


def line_of_here():
    lines, first = inspect.getsourcelines(model)
    return first + next(i for i, line in enumerate(lines) if "# here" in line)


def test_a_finding_names_the_operator_and_the_line_that_called_it(wrong_addition):
    x = torch.ones(4, 4, device=DEVICE)
    with torch.neuron_sim.sanitize(raise_error=False) as findings:
        model(x)
    (found,) = findings
    assert isinstance(found, Finding) and found.operator == "aten::add.Tensor"
    assert found.source_line == f"{__file__}:{line_of_here()}"
    assert "operator aten::add.Tensor" in str(found) and "return y + 1" in str(found)


def test_a_raising_block_stops_at_the_operator(wrong_addition):
    x = torch.ones(4, 4, device=DEVICE)
    with torch.neuron_sim.sanitize(), pytest.raises(torch.neuron_sim.SanitizeError) as caught:
        model(x)
    assert f"line {line_of_here()}" in caught.value.__notes__[0]
    model(x)  # outside of the block


def test_correct_operators_forward_and_backward_have_no_finding():
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.GELU(),
        torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(32, 5),
    ).to(DEVICE)  # fmt: skip
    optimizer = torch.optim.AdamW(network.parameters())
    x = torch.randn(4, 3, 9, 9).to(DEVICE)
    target = torch.tensor([0, 4, 2, 1]).to(DEVICE)
    with torch.neuron_sim.sanitize(raise_error=False) as findings:
        loss = torch.nn.functional.cross_entropy(network(x), target)
        loss.backward()
        optimizer.step()
        picked = x[:, [2, 0], ::2].sort(dim=-1).values[x[:, :2, ::2] > 0]
        torch.cat([picked, picked.cumsum(0)]).clone().fill_(0)
        torch.zeros(7, 5, device=DEVICE).scatter_(0, target[:, None] % 5, 1.0)
    assert not findings, "\n".join(map(str, findings))


def test_results_are_those_without_the_block():
    x = torch.randn(33, 65).to(DEVICE)
    expected = torch.softmax(x @ x.T, dim=-1)
    with torch.neuron_sim.sanitize():
        assert torch.equal(torch.softmax(x @ x.T, dim=-1), expected)


def test_a_compiled_model_runs_in_a_block():
    compiled = torch.compile(model, backend=DEVICE_TYPE)
    x = torch.randn(5, 3).to(DEVICE)
    with torch.neuron_sim.sanitize():
        assert torch.equal(compiled(x), model(x))


def test_the_environment_watches_a_whole_process():
    script = (
        "import torch; from neuron_sim.sanitizer import checking\n"
        "assert checking.active() is not None\n"
        "assert torch.utils._python_dispatch._get_current_dispatch_mode() is not None\n"
        "x = torch.ones(3, device='neuron_sim:1'); print((x + 1).sum().item())\n"
    )
    environment = {**os.environ, **OWN_NAME, "NEURON_SIM_SANITIZE": "1"}
    run = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "6.0\n"
