"""Candidates of public suites on the device: what is wrong with them, and their simulated times."""

import pytest

pytest.importorskip("torch")
from neuron_sim.sweep import suites
from neuron_sim.terminal.exit_codes import ProgramError

PROBLEM = """
import torch

class Model(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size))

    def forward(self, x):
        return torch.relu(x) * self.weight

def get_inputs():
    return [torch.randn(128, 64)]

def get_init_inputs():
    return [64]
"""
KERNEL = """
import nki
import nki.language as nl
import torch

@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.OPERATOR(nl.load(x), nl.load(y)))
    return out
"""
CANDIDATE = """
class ModelNew(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(size))

    def forward(self, x):
        BEFORE
        return kernel(torch.relu(x), self.weight.expand(128, 64).contiguous())
"""
OPERATOR = """
def NAME_kernel_impl(x, y, **keywords):
    if x.dim() != 3 or y.shape != x.shape or keywords:
        return getattr(torch, "NAME")(x, y, **keywords)
    return kernel(x.flatten(0, 1), y.flatten(0, 1)).reshape(x.shape)
"""


@pytest.fixture
def written(tmp_path):
    def write(name, text):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return str(file)

    return write


def candidate(operator, before="pass"):
    return KERNEL.replace("OPERATOR", operator) + CANDIDATE.replace("BEFORE", before)


def test_a_right_candidate_of_a_problem_passes_with_its_simulated_time(written):
    files = written("problem.py", PROBLEM), written("candidate.py", candidate("multiply"))
    result = suites.judge_problem(*files)
    assert result["passed"] and (result["name"], result["runs"]) == ("problem", 2)
    again = suites.judge_problem(*files)
    assert result["latency_us"] == pytest.approx(again["latency_us"]) and result["latency_us"] > 1


@pytest.mark.parametrize(
    ("operator", "before", "told"),
    [("add", "pass", "index"), ("multiply", "raise ValueError('no')", "sentence")],
)
def test_a_wrong_candidate_is_told_what_is_wrong_first(operator, before, told, written):
    files = written("problem.py", PROBLEM), written("candidate.py", candidate(operator, before))
    result = suites.judge_problem(*files)
    assert not result["passed"] and told in result["first_wrong"]
    assert result["first_wrong"]["inputs"] == "seed 0"


def test_a_candidate_that_overwrites_its_input_is_a_cheat(written):
    text = candidate("multiply", "x.relu_()")
    result = suites.judge_problem(written("problem.py", PROBLEM), written("candidate.py", text))
    assert result["first_wrong"] is None and not result["passed"]
    assert result["cheats"] == ["an input is overwritten"]


def test_a_problem_that_fails_or_lacks_a_name_is_an_error(written):
    right = written("candidate.py", candidate("multiply"))
    with pytest.raises(ValueError, match="has no 'ModelNew'"):
        suites.judge_problem(written("problem.py", PROBLEM), written("other.py", "x = 1"))
    broken = written("problem.py", PROBLEM.replace("return [64]", "return [64, 64]"))
    with pytest.raises(ProgramError, match="^the problem: "):
        suites.judge_problem(broken, right)


def test_each_operator_of_a_folder_is_judged_by_samples_of_pytorch(written, tmp_path):
    for name, operator in (("maximum", "maximum"), ("minimum", "maximum")):
        text = KERNEL.replace("OPERATOR", operator) + OPERATOR.replace("NAME", name)
        written(f"{name}/{name}_implementation_v1.py", text)
    right, wrong = suites.judge_operators(str(tmp_path))
    assert right["name"] == "maximum" and right["passed"] and right["latency_us"] > 0
    assert wrong["name"] == "minimum" and "index" in wrong["first_wrong"]


def test_a_folder_without_operators_and_an_unknown_one_are_refused(written, tmp_path):
    with pytest.raises(ValueError, match="has no folder OP"):
        suites.judge_operators(str(tmp_path))
    written("no_such_operator/no_such_operator_implementation_v1.py",
            "def no_such_operator_kernel_impl(): pass")  # fmt: skip
    with pytest.raises(ValueError, match="no samples of an operator 'no_such_operator'"):
        suites.judge_operators(str(tmp_path))
