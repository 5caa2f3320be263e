"""models/zoo/compiled.py: the networks by torch.compile(backend="neuron_sim")."""

import functools
import importlib
import sys
from pathlib import Path

import pytest
import torch
from device_type import DEVICE_TYPE

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "models"))

catalogue, compiled = (importlib.import_module(f"zoo.{name}") for name in ("catalogue", "compiled"))
BY_NAME = {model.name: model for model in compiled.COMPILED}
LAST = {"forwarded": compiled.STAGES["forwarded"]}
WORDS = 96


def small(name, build, inputs):
    return catalogue.Model(name, "", build, inputs)


def tokens(batch, length):
    return lambda: catalogue.tokens(batch, length, WORDS)


def images(batch, size):
    return lambda: catalogue.images(batch, size)


# Odd sizes.
SMALL = [
    small("ResNet-50", lambda: catalogue.random_resnet(50, 10), images(1, 33)),
    small("ViT", lambda: catalogue.vit(48, 2, 3, 32), images(3, 32)),
    small("GPT-2", lambda: catalogue.gpt2(48, 2, 3, WORDS), tokens(3, 17)),
    small("Llama", lambda: catalogue.llama(64, 2, 4, WORDS), tokens(1, 19)),
    small("BERT", lambda: catalogue.bert(48, 1, 3), tokens(2, 7)),
    small("MobileNetV2", lambda: catalogue.mobilenet_v2(64), images(1, 64)),
    small("U-Net", lambda: catalogue.UNet(8).eval(), images(1, 20)),
]


@functools.cache
def limited(name):
    return compiled.compile_model(BY_NAME[name])


def bodies(name):
    return [cost.body_ms for cost in limited(name).stages.values()]


@pytest.mark.parametrize("name", compiled.LIMITED)
def test_compiled_networks_are_faster_by_the_limit_and_no_step_lengthens_them(name):
    compilation = limited(name)
    assert compilation.problem(name) is None
    assert compilation.speed_up >= compiled.SPEED_UP_LIMIT
    assert compilation.compiled.launches == 1
    assert bodies(name) == sorted(bodies(name), reverse=True)
    assert compilation.compiled.moved_mb < compilation.eager.moved_mb


def test_each_step_shortens_a_network():
    for step in range(1, len(compiled.STAGES)):
        assert any(bodies(name)[step] < bodies(name)[step - 1] for name in compiled.LIMITED)


@pytest.mark.parametrize("model", SMALL, ids=lambda model: model.name)
def test_a_compiled_network_is_one_program_with_the_results_of_its_operators(model):
    compilation = compiled.compile_model(model, stages=LAST)
    assert compilation.problem("") is None
    assert compilation.compiled.launches == 1
    assert compilation.speed_up > 1


@pytest.mark.parametrize("name", ["ViT", "GPT-2", "Llama", "U-Net"])
def test_gradients_of_a_compiled_network_are_those_of_its_operators(name):
    model = next(model for model in SMALL if model.name == name)
    compilation = compiled.compile_model(model, compiled.training_pass, LAST)
    assert compilation.problem("") is None
    assert compilation.compiled.launches < compilation.eager.launches / 2
    assert compilation.speed_up > 1


def test_training_a_compiled_network_follows_the_operators_step_by_step():
    losses = {}
    for mode in ("operators", "compiled"):
        torch.manual_seed(0)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(1, 8, 3, padding=1),
            torch.nn.BatchNorm2d(8),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Flatten(),
            torch.nn.Dropout(0.2),
            torch.nn.Linear(128, 10),
        ).to(DEVICE_TYPE)
        torch._dynamo.reset()
        run = torch.compile(network, backend=DEVICE_TYPE) if mode == "compiled" else network
        optimizer = torch.optim.AdamW(network.parameters(), 1e-2)
        generator = torch.Generator().manual_seed(1)
        images = torch.randn(24, 1, 8, 8, generator=generator).to(DEVICE_TYPE)
        labels = torch.randint(0, 10, (24,), generator=generator).to(DEVICE_TYPE)
        losses[mode] = []
        for _ in range(8):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(run(images), labels)
            loss.backward()
            optimizer.step()
            losses[mode].append(loss.item())
    assert losses["compiled"] == pytest.approx(losses["operators"], rel=1e-5)
    assert losses["compiled"][-1] < losses["compiled"][0] / 2


@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
def test_compiled_networks_run_under_autocast(half):
    model = SMALL[2]
    network = model.build().to(DEVICE_TYPE)
    inputs = [tensor.to(DEVICE_TYPE) for tensor in model.inputs()]
    with torch.no_grad(), torch.autocast(DEVICE_TYPE, dtype=half):
        expected = network(*inputs)[0]
        torch._dynamo.reset()
        found = torch.compile(network, backend=DEVICE_TYPE)(*inputs)[0]
    assert found.dtype == expected.dtype
    scale = expected.float().abs().max().item()
    torch.testing.assert_close(found.float(), expected.float(), rtol=0, atol=0.02 * scale)


def test_a_slower_network_and_a_wrong_result_are_problems():
    eager, slow = compiled.Cost(9, 1.0, 1.0), compiled.Cost(1, 0.8, 1.0)
    right = compiled.Compilation(eager, {"forwarded": slow}, 0.0)
    assert right.problem("ViT") is None
    assert "1.25 times as fast, not 1.3" in right.problem("GPT-2")
    wrong = compiled.Compilation(eager, {"forwarded": slow}, float("nan"))
    assert "differs by nan" in wrong.problem("ViT")
