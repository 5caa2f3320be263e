"""models/zoo: small networks of every kind on the device, in strict mode, against the CPU."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "models"))

catalogue, forward, generation, networks, page, report, training = (
    importlib.import_module(f"zoo.{name}")
    for name in ("catalogue", "forward", "generation", "networks", "page", "report", "training")
)

WORDS = 96
DTYPES = pytest.mark.parametrize("dtype", report.DTYPES, ids=str)


def evaluated(build, *arguments):
    return lambda: catalogue.seeded(build, *arguments).eval()


def tokens(batch, length):
    return lambda: catalogue.tokens(batch, length, WORDS)


def images(batch, size):
    return lambda: catalogue.images(batch, size)


# Odd sizes; what builds them, and inputs.
SMALL = {
    "ResNet-18": (lambda: catalogue.random_resnet(18, 10), images(1, 40)),
    "ResNet-50": (lambda: catalogue.random_resnet(50, 10), images(1, 33)),
    "ViT": (lambda: catalogue.vit(48, 2, 3, 32), images(3, 32)),
    "GPT-2": (lambda: catalogue.gpt2(48, 2, 3, WORDS), tokens(3, 17)),
    "Llama": (lambda: catalogue.llama(64, 2, 4, WORDS), tokens(1, 19)),
    "BERT": (lambda: catalogue.bert(48, 1, 3), tokens(2, 7)),
    "MobileNetV2": (lambda: catalogue.mobilenet_v2(64), images(1, 64)),
    "U-Net": (evaluated(networks.UNet, 8), images(1, 20)),
    "LSTM": (evaluated(networks.LstmLanguageModel, WORDS, 20, 2), tokens(3, 5)),
}


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """The layers are too small to share among threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_every_network_of_the_catalogue_is_tested():
    assert list(SMALL) == [model.name for model in catalogue.CATALOGUE]


@DTYPES
@pytest.mark.parametrize("name", SMALL)
def test_a_forward_pass_runs_on_the_device_with_the_error_of_the_cpu(name, dtype):
    build, inputs = SMALL[name]
    comparison = forward.compare(catalogue.Model(name, "", build, inputs), dtype)
    assert comparison.problem(dtype) is None
    account = comparison.account
    assert account.fallbacks == {}
    assert account.launches > 10
    assert 0 < account.body_ms < account.total_ms
    assert 0 < account.busiest_share <= 1
    # A float32 pass that rounded to bfloat16 inside would be off by about 1e-2.
    assert (comparison.error > 1e-4) == (dtype == torch.bfloat16)


@pytest.mark.parametrize("name", ["U-Net", "LSTM"])
def test_networks_without_indices_have_no_host_side_operators(name):
    build, inputs = SMALL[name]
    comparison = forward.compare(catalogue.Model(name, "", build, inputs), torch.float32)
    assert comparison.account.host_operators == {}


def test_simulated_times_are_the_same_every_time():
    build, inputs = SMALL["BERT"]
    model = catalogue.Model("BERT", "", build, inputs)
    first, again = (forward.compare(model, torch.float32).account for _ in range(2))
    assert (first.body_ms, first.total_ms) == pytest.approx((again.body_ms, again.total_ms), 1e-9)
    assert first.launches == again.launches


@pytest.mark.parametrize("name", ["GPT-2", "Llama"])
def test_generation_with_a_cache_gives_the_tokens_of_the_cpu(name):
    build, prompt = SMALL[name]
    result = generation.generate(build(), prompt()[0][:, :6], 9)
    assert result.problem() is None
    assert result.on_device.shape[1] == 15
    assert len(result.on_device[:, 6:].unique()) > 1


def test_training_on_digits_follows_the_cpu():
    batches = training.digits_batches(training.load_data(), 25)
    network, result = training.train(catalogue.seeded(training.DigitsNetwork), batches, 3e-3)
    assert result.problem() is None
    assert result.largest_difference < 1e-5
    assert result.final_losses[0] < result.on_device[0] / 3
    assert next(network.parameters()).device.type == forward.DEVICE


def test_training_on_characters_follows_the_cpu():
    result = training.train_characters(steps=15, size=3, length=21)
    assert result.problem() is None
    assert result.largest_difference < 1e-5
    assert result.final_losses[0] < result.on_device[0]


# What the checks refuse


def account(**changes):
    facts = {"fallbacks": {}, "host_operators": {}, **changes}
    return forward.Account(1, 1.0, 2.0, "DMA", 0.5, 0.1, **facts)


def test_an_error_beyond_its_limit_and_a_fallback_are_problems():
    float32, bfloat16 = report.DTYPES
    assert forward.Comparison(1e-4, 0.0, account()).problem(float32) is None
    assert "1.1e-04 is more than 1.0e-04" in forward.Comparison(1.1e-4, 1, account()).problem(
        float32
    )
    assert forward.Comparison(0.02, 0.01, account()).problem(bfloat16) is None
    assert "is more than 2.0e-02" in forward.Comparison(0.021, 0.01, account()).problem(bfloat16)
    nothing = forward.Comparison(float("nan"), 1.0, account())
    assert "nan is more than" in nothing.problem(bfloat16)
    fallen = forward.Comparison(0.0, 0.0, account(fallbacks={"aten::inverse": 1}))
    assert fallen.problem(float32) == "falls back to the CPU: {'aten::inverse': 1}"


def test_losses_that_part_are_problems():
    cpu = [1.0] * 120
    assert training.Training([1.0009] * 120, cpu, account()).problem() is None
    assert "a loss differs" in training.Training([1.0011] * 120, cpu, account()).problem()
    late = [1.0] * 100 + [1.03] * 20
    assert "the final loss differs" in training.Training(late, cpu, account()).problem()
    assert "96.50 %" in training.Training(cpu, cpu, account(), accuracy=96.5).problem()
    assert training.Training(cpu, cpu, account(), accuracy=97.5).problem() is None


def test_other_tokens_are_a_problem():
    found = generation.Generation(torch.tensor([[1, 2]]), torch.tensor([[1, 3]]), 1, account())
    assert found.problem() == "the tokens are not the CPU's"


def test_work_in_strict_mode_raises_at_an_operator_without_a_kernel():
    x = torch.eye(3).to(forward.DEVICE)
    with pytest.raises(NotImplementedError, match="linalg_inv"):
        forward.account_for(lambda: torch.linalg.inv(x))


def test_a_run_that_raises_is_a_problem_of_the_report():
    def inverse(page):
        with torch.neuron_sim.strict():
            torch.linalg.inv(torch.eye(3).to(forward.DEVICE))

    (problem,) = report.run("inverse", inverse, page.Page())
    assert problem.startswith("inverse: ") and "linalg_inv" in problem


# The command


def command(*arguments):
    return subprocess.run(
        [sys.executable, ROOT / "models/zoo/report.py", *map(str, arguments)],
        capture_output=True,
        text=True,
    )


def test_the_command_writes_a_page_with_the_chosen_networks(tmp_path):
    result = command("--page", tmp_path / "page.md", "LSTM")
    assert result.returncode == 0, result.stdout + result.stderr
    lines = (tmp_path / "page.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| LSTM |")]
    assert len(rows) == 2 and all(len(row.split("|")) == 13 for row in rows)


def test_an_unknown_network_is_an_error_with_the_names():
    result = command("AlexNet")
    assert result.returncode == 2
    assert "there is no AlexNet; there are: ResNet-18, " in result.stderr


def test_the_committed_page_has_a_row_for_everything_that_the_command_runs():
    text = (ROOT / "docs/models.md").read_text()
    for model in catalogue.CATALOGUE:
        for dtype in ("float32", "bfloat16"):
            assert f"| {model.name} | {model.configuration} | {dtype} |" in text
    for name in report.all_runs():
        assert f"| {name.split(' ')[0]}" in text
