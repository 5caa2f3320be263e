"""Simulated figures of whole models."""

import json

import pytest
import torch
from device_type import DEVICE_TYPE
from neuron_sim import _core
from neuron_sim.command_line import main
from neuron_sim.fidelity.published_models import inference
from neuron_sim.model import estimate as estimates
from neuron_sim.model.workload import Workload
from neuron_sim.terminal.exit_codes import FAILURE, SUCCESS, WRONG_USAGE

# The Tensor engine's array has 128 x 128 cells at 2.8 GHz; fp32 takes four passes.
PEAK = {"bfloat16": 2 * 128 * 128 * 2.8e9, "float32": 2 * 128 * 128 * 2.8e9 / 4}


def linear(rows: int = 8, inputs: int = 64, outputs: int = 32) -> Workload:
    torch.manual_seed(0)
    return Workload(torch.nn.Linear(inputs, outputs).eval(), (torch.randn(rows, inputs),))


@pytest.mark.parametrize("compiled", [False, True])
def test_the_time_is_that_of_the_launches_after_the_first_run(compiled):
    found = estimates.estimate(linear(), estimates.Setting("float32", compiled))
    workload = linear()
    module = workload.module.to(DEVICE_TYPE)
    call = torch.compile(module, backend=DEVICE_TYPE) if compiled else module
    images = workload.inputs[0].to(DEVICE_TYPE)
    with torch.no_grad():
        call(images)
        with torch.neuron_sim.record_launches() as launches:
            call(images)
    assert found.launches == len(launches)
    assert found.body_ms == sum(launch.body_us for launch in launches) / 1e3
    assert found.latency_ms == sum(launch.latency_us for launch in launches) / 1e3
    assert found.moved_mb == sum(launch.dma_bytes for launch in launches) / 1e6


@pytest.mark.parametrize("rows", [1, 4096])
def test_the_copies_of_a_request_are_those_of_its_inputs_and_results(rows):
    class Both(torch.nn.Module):
        def forward(self, x):
            return {"sums": x.sum(1), "others": [x + 1.0, 7]}

    workload = Workload(Both().eval(), (torch.ones(rows, 64),))
    found = estimates.estimate(workload, estimates.Setting("float32"))
    nbytes = 4 * rows * (64 + 1 + 64)
    assert found.copies_ms == pytest.approx((3 * 10_000 + nbytes / 16) / 1e6)


def test_a_client_that_waits_for_the_host_waits_for_the_copies(monkeypatch):
    figures = estimates.Estimate(1.0, 1.5, 1, 0.0, {"DMA": 1.0}, None, 0.5, copies_ms=0.25)
    monkeypatch.setattr(inference, "_simulated", lambda *request: figures)
    found = inference.compare("resnet50")
    assert [row.waits_for_host for row in found] == [True, False]
    assert [row.simulated_ms for row in found] == [1.75, 1.5]


@pytest.mark.parametrize(("setting", "dtype"), [
    (estimates.Setting(), torch.bfloat16),
    (estimates.Setting("float32"), torch.float32),
    (estimates.Setting("float32", auto_cast="matmult"), torch.bfloat16),
    (estimates.Setting("float16", auto_cast="matmult"), torch.float16),
])  # fmt: skip
def test_products_multiply_in_the_dtype_of_the_weights_unless_they_are_cast(setting, dtype):
    assert setting.product_dtype == dtype


def test_casting_shortens_products_of_float32():
    found = {
        cast: estimates.estimate(
            linear(512, 512, 512), estimates.Setting("float32", auto_cast=cast)
        )
        for cast in ("none", "matmult")
    }
    assert found["matmult"].body_ms < found["none"].body_ms


def test_casting_without_the_compiler_is_refused():
    with pytest.raises(ValueError, match="--auto-cast is an option of torch.compile"):
        estimates.estimate(linear(), estimates.Setting("float32", False, "matmult"))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_peak_is_two_operations_per_cell_and_cycle(dtype):
    facts = _core.architecture_facts("trn1")
    assert estimates.peak_of(facts, estimates.DTYPES[dtype]) == PEAK[dtype]


def test_utilisation_counts_the_operations_of_products():
    found = estimates.estimate(linear(8, 64, 32), estimates.Setting())
    facts = _core.architecture_facts(torch.neuron_sim.get_device_properties().architecture)
    peak = estimates.peak_of(facts, torch.bfloat16)
    expected = 2 * 8 * 64 * 32 / (found.latency_ms * 1e-3) / peak
    assert found.utilisation == pytest.approx(expected, rel=1e-12)


def test_operations_that_depend_on_values_are_not_counted():
    class Stops(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.sum() > 0 else x

    setting = estimates.Setting("float32", compiled=False)
    assert estimates.estimate(Workload(Stops(), (torch.ones(4),)), setting).utilisation is None


def test_a_model_bound_by_no_engine_is_bound_by_latency():
    found = estimates.estimate(linear(2, 4, 4), estimates.Setting())
    assert max(found.busy.values()) < 0.5
    assert found.bound == "latency"


def test_operators_without_a_kernel_are_refused():
    class Eigenvalues(torch.nn.Module):
        def forward(self, x):
            return torch.linalg.eigvals(x)

    setting = estimates.Setting("float32", compiled=False)
    with pytest.raises(Exception, match="eig"):
        estimates.estimate(Workload(Eigenvalues(), (torch.eye(4),)), setting)


def test_the_command_prints_a_row_per_batch(tmp_path, monkeypatch, capsys):
    (tmp_path / "small.py").write_text(
        "import torch\ndef build():\n  return torch.nn.Conv2d(3, 4, 3)\n"
    )
    monkeypatch.chdir(tmp_path)
    command = ["model", "small:build", "--image", "8", "--batch", "1", "2"]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["batch"] for row in rows] == [1, 2]
    assert all(row["per_second"] == 1e3 * row["batch"] / row["latency_ms"] for row in rows)
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("small:build, bfloat16, one core of ")
    assert [line.split()[0] for line in lines[1:]] == ["batch", "1", "2"]


def test_what_a_model_prints_is_no_part_of_its_json(tmp_path, monkeypatch, capsys):
    (tmp_path / "talkative.py").write_text(
        "import torch\nprint('loaded')\ndef build():\n"
        "  print('built')\n  return torch.nn.Conv2d(3, 4, 3)\n"
    )
    monkeypatch.chdir(tmp_path)
    command = ["model", "talkative:build", "--image", "8", "--json", "--output", "rows.json"]
    assert main(command) == SUCCESS
    printed = capsys.readouterr()
    assert json.loads(printed.out) == json.loads((tmp_path / "rows.json").read_text())
    assert printed.err.split() == ["loaded", "built"]


@pytest.mark.parametrize(("source", "message"), [
    ("return torch.nn.Linear(3, 4), (torch.zeros(5, 2),)", "shapes"),
    ("import no_such_package", "No module named 'no_such_package'"),
    ("return torch.zeros(1 << 60)", "memory"),
    ("return {}['width']", "KeyError: 'width' ("),
    ("return torch.nn.Identity(), (torch.ones(2),)", "runs nothing on the device"),
    ("return torch.nn.Linear(3, 4", "SyntaxError: "),
    ("raise ValueError('my own')", "my own"),
    ("raise SystemExit(7)", "it ends the process with 7."),
])  # fmt: skip
def test_a_model_that_fails_is_one_sentence_and_a_failure(
    source, message, tmp_path, monkeypatch, capsys
):
    (tmp_path / "faulty.py").write_text(f"import torch\ndef build():\n  {source}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "faulty", raising=False)
    assert main(["model", "faulty:build", "--eager"]) == FAILURE
    error = capsys.readouterr().err
    assert error.startswith("neuron-sim model: error: faulty:build: ")
    assert error.count("\n") == 1 and message in error


def test_the_command_without_a_model_is_refused(capsys):
    assert main(["model"]) == WRONG_USAGE
    assert "MODEL is missing" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "message"), [
    (["absent_module:build"], "there is no module 'absent_module'."),
    (["json:build"], "module 'json' has no function 'build'."),
    (["resnet18", "--batch", "0"], "--batch is 0; it must be at least 1."),
    (["resnet18", "--eager", "--auto-cast", "matmult"], "--auto-cast is an option of"),
    ([""], "'' is not a known model"),
])  # fmt: skip
def test_a_model_that_cannot_be_asked_for_is_wrong_usage(arguments, message, capsys):
    assert main(["model", *arguments, "--json"]) == WRONG_USAGE
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert printed.err.startswith(f"neuron-sim model: error: {message}")


def test_a_model_without_published_latencies_is_refused_with_those_that_have_some():
    with pytest.raises(ValueError, match="no latency of 'gpt2' is published.*resnet50"):
        inference.compare("gpt2")


def test_the_order_of_rows_is_compared_by_rank():
    rows = [inference.Comparison("m", "i", 1, *times, "DMA") for times in ((1, 5), (2, 6), (3, 70))]
    assert inference.rank_correlation(rows) == pytest.approx(1)
    assert inference.rank_correlation(
        [rows[0], inference.Comparison("m", "i", 1, 2, 4, "DMA")]
    ) == (pytest.approx(-1))


def test_errors_are_relative_to_the_measured_time():
    rows = [inference.Comparison("m", "i", 1, 2.0, simulated, "DMA") for simulated in (1.0, 3.0)]
    assert [row.error for row in rows] == [-0.5, 0.5]
    assert inference.mean_absolute_error(rows) == 0.5
    assert inference.as_objects(rows)[0]["error"] == -0.5
    assert inference.as_text(rows).splitlines()[-1] == "mean absolute error 50%"
