"""The summary that `neuron-sim run` prints when a process that launched something ends."""

import pytest
from device_type import DEVICE_TYPE, OWN_NAME
from neuron_sim import _C, settings
from neuron_sim.run import summary
from test_run_command import run_script, written

SCRIPT = """
import torch
with torch.neuron_sim.record_launches() as launches:
    x = torch.ones(64, 64, device="neuron_sim")
    for _ in range(3):
        y = torch.addmm(x[0], x, x)
    torch.linalg.eigvals(x)
    y.sum()
time = sum(launch.latency_us for launch in launches)
print(len(launches), len({launch.kernel_id for launch in launches}), f"{time:.4g} us")
print(*torch.neuron_sim.fallback_counts())
"""


def test_a_script_that_launches_is_summed_up(tmp_path):
    out, err, status = run_script(written(tmp_path, SCRIPT), variables=OWN_NAME)
    assert status == 0
    count, programs, time, unit, fallback = out.split()
    warning, summary = err.split("neuron-sim run: ", 1)
    assert f"operator '{fallback}" in warning and warning.count("UserWarning") == 1
    lines = f"neuron-sim run: {summary}".splitlines()
    assert len(lines) <= 12
    first = f"neuron-sim run: {count} launches of {programs} programs took {time} {unit} on trn2, "
    assert lines[0].startswith(first)
    assert lines[1].startswith("  bound by latency 100%; ")
    assert lines[2].split()[:3] == ["aten::addmm", "3", "x"]
    assert "aten::sum" in err and "pointwise" not in err  # which is a kernel, not an operator
    assert f"  on the CPU: {fallback} 1 x" in lines
    assert lines[-1] == "  clock of the script: the host's; --clock simulated is the chip's"


@pytest.mark.parametrize(
    ("options", "variables"), [(("--no-summary",), {}), ((), {settings.SUMMARY: "0"})]
)
def test_it_can_be_turned_off(tmp_path, options, variables):
    script = written(tmp_path, "import torch\nprint(torch.ones(2, device='neuron_sim').tolist())")
    variables = {**OWN_NAME, **variables}
    assert run_script(*options, script, variables=variables) == ("[1.0, 1.0]\n", "", 0)


def test_a_script_without_launches_has_none(tmp_path):
    script = written(tmp_path, "import torch\nprint(torch.ones(2).add(1).tolist())\n")
    assert run_script(script) == ("[2.0, 2.0]\n", "", 0)


TALLY = {
    "launches": 1234,
    "programs": 7,
    "latency_us": 2e6,
    "body_us": 1.5e6,
    "bounds": {"latency": 1e6, "Tensor": 0.6e6, "DMA": 0.3e6, "Vector": 0.1e6},
    "operators": {f"aten::op{i}": (10 * i, 10.0 * i) for i in range(1, 8)},
}


def test_the_text_ranks_operators_and_counts_the_others(monkeypatch):
    monkeypatch.delenv(settings.CLOCK, raising=False)
    fallbacks = [("aten::a", 2, "no kernel", 8), ("aten::b", 9, "", 8), ("aten::a", 1, "other", 8)]
    lines = summary.summary_text(TALLY, "trn2", 2.5e6, fallbacks).splitlines()
    assert lines[:2] == [
        "neuron-sim run: 1,234 launches of 7 programs took 2 s on trn2, whose clock ended at 2.5 s",
        "  bound by latency 50%, Tensor 30%, DMA 15%; 25% is launch overhead",
    ]
    assert [line.split()[0] for line in lines[2:7]] == [f"aten::op{i}" for i in (7, 6, 5, 4, 3)]
    assert lines[7].split() == "2 other operators 30 x 30 us 0.0%".split()
    assert lines[8] == "  on the CPU: aten::b 9 x, aten::a 3 x"
    assert len(lines) == 10


def test_many_fallbacks_stay_one_line():
    fallbacks = [(f"aten::op{i}", i, "", 0) for i in range(1, 9)]
    text = summary.summary_text(TALLY, "trn2", 1.0, fallbacks)
    [line] = [line for line in text.splitlines() if "on the CPU" in line]
    assert line.count(" x") == summary.ROWS and line.endswith(" and 3 others")


@pytest.mark.parametrize(("rank", "reports"), [(None, True), ("0", True), ("1", False)])
def test_one_rank_reports(monkeypatch, rank, reports):
    monkeypatch.delenv("RANK", raising=False)
    if rank is not None:
        monkeypatch.setenv("RANK", rank)
    assert summary.reports() is reports


def test_a_tally_has_the_sums_of_the_launches():
    import torch

    tally = _C.start_tally(True)
    x = torch.ones(32, 32).to(DEVICE_TYPE)
    with torch.neuron_sim.record_launches() as launches:
        for _ in range(3):
            y = (x @ x).add(1)
        torch.nn.functional.softmax(y, 1)
    facts = _C.read_tally(tally)
    x + x
    assert _C.finish_tally(tally)["launches"] == len(launches) + 1
    assert _C.read_tally(tally)["launches"] == 0
    assert facts["launches"] == len(launches) == 7
    assert facts["programs"] == len({launch.kernel_id for launch in launches}) == 3
    latency = sum(launch.latency_us for launch in launches)
    assert facts["latency_us"] == pytest.approx(latency)
    assert facts["body_us"] == pytest.approx(sum(launch.body_us for launch in launches))
    assert sum(facts["bounds"].values()) == pytest.approx(latency)
    assert sum(count for _, _, count, _ in facts["kept"]) == 7
    of_mm = [launch for launch in launches if launch.operator == "aten::mm"]
    count, time = facts["operators"]["aten::mm"]
    assert count == 3 and time == pytest.approx(sum(launch.latency_us for launch in of_mm))
