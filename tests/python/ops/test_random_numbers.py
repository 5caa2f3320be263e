"""Random tensors that the chip draws: moments, limits, seeds."""

from collections.abc import Iterator

import pytest
import torch
from against_cpu import DEVICE
from device_type import DEVICE_TYPE

COUNT = 40_000


@pytest.fixture(autouse=True)
def of_the_chip() -> Iterator[None]:
    torch.neuron_sim.set_random_source("chip")
    yield
    torch.neuron_sim.set_random_source("host")


def moments(x):
    x = x.cpu().double()
    return x.mean().item(), x.std().item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_uniform_numbers_lie_between_their_limits(dtype):
    x = torch.empty(COUNT, dtype=dtype, device=DEVICE).uniform_(-2, 4)
    mean, deviation = moments(x)
    assert abs(mean - 1) < 0.05
    assert abs(deviation - 6 / 12**0.5) < 0.05
    assert x.min().item() >= -2
    assert torch.rand(COUNT, dtype=dtype, device=DEVICE).max().item() < 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_normal_numbers(dtype):
    mean, deviation = moments(torch.randn(200, 201, dtype=dtype, device=DEVICE))
    assert abs(mean) < 0.02
    assert abs(deviation - 1) < 0.02
    x = torch.empty(COUNT, device=DEVICE, dtype=dtype).normal_(3, 0.5)
    mean, deviation = moments(x)
    assert abs(mean - 3) < 0.02
    assert abs(deviation - 0.5) < 0.02
    tail = (torch.randn(COUNT, device=DEVICE).abs() > 1.959964).float().mean().item()
    assert abs(tail - 0.05) < 0.005
    center = torch.full((COUNT,), 2.0, device=DEVICE)
    assert abs(moments(torch.normal(center, center * 0.25))[1] - 0.5) < 0.02


def test_other_distributions():
    assert abs(moments(torch.empty(COUNT, device=DEVICE).exponential_(2))[0] - 0.5) < 0.02
    probabilities = torch.full((COUNT,), 0.3, device=DEVICE)
    assert abs(moments(torch.bernoulli(probabilities))[0] - 0.3) < 0.015
    assert abs(moments(torch.empty(COUNT, device=DEVICE).bernoulli_(0.8))[0] - 0.8) < 0.015
    channels = torch.nn.functional.dropout2d(torch.ones(64, 8, 3, 3, device=DEVICE), 0.5)
    assert set(channels.cpu().sum((2, 3)).flatten().tolist()) == {0.0, 18.0}


@pytest.mark.parametrize("shape", [(5, 5), (3, 700), ()])
def test_dropout_in_place_drops_the_same_elements(shape):
    x = torch.ones(shape, device=DEVICE)
    torch.manual_seed(42)
    expected = torch.nn.functional.dropout(x, 0.3)
    torch.manual_seed(42)
    assert torch.equal(torch.nn.functional.dropout(x, 0.3, inplace=True).cpu(), expected.cpu())


def test_categories_are_drawn_with_their_probabilities():
    weights = torch.tensor([0.1, 0.0, 0.6, 0.3], device=DEVICE)
    drawn = torch.multinomial(weights, COUNT, replacement=True).cpu()
    shares = torch.bincount(drawn, minlength=4) / COUNT
    torch.testing.assert_close(shares, weights.cpu(), rtol=0, atol=0.015)
    without = torch.multinomial(torch.ones(5, 7, device=DEVICE), 7).cpu()
    assert torch.equal(without.sort(1)[0], torch.arange(7).expand(5, 7))
    assert torch.multinomial(weights.expand(6, 4), 1).shape == (6, 1)
    with pytest.raises(RuntimeError, match="element < 0"):
        torch.multinomial(torch.tensor([1.0, -1.0], device=DEVICE), 1)


def test_a_seed_decides_the_numbers():
    draws = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        draws.append(torch.randn(1000, device=DEVICE).cpu())
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    generator = torch.Generator(DEVICE).manual_seed(3)
    first = torch.rand(9, device=DEVICE, generator=generator).cpu()
    assert torch.equal(
        first, torch.rand(9, device=DEVICE, generator=generator.manual_seed(3)).cpu()
    )


def test_the_numbers_are_the_same_without_strict_mode():
    torch.manual_seed(1)
    strictly = torch.randn(50, device=DEVICE).cpu()
    torch.neuron_sim.set_fallback_policy("allow")
    try:
        torch.manual_seed(1)
        assert torch.equal(torch.randn(50, device=DEVICE).cpu(), strictly)
    finally:
        torch.neuron_sim.set_fallback_policy("error")


@pytest.mark.parametrize("draw", [
    lambda x, g: x.uniform_(generator=g),
    lambda x, g: x.normal_(generator=g),
    lambda x, g: x.exponential_(generator=g),
    lambda x, g: x.bernoulli_(0.5, generator=g),
    lambda x, g: x.bernoulli_(x.clone(), generator=g),
    lambda x, g: torch.multinomial(x, 2, generator=g),
    lambda x, g: torch.normal(x, 1.0, generator=g),
    lambda x, g: torch.normal(1.0, x, generator=g),
    lambda x, g: torch.normal(x, x, generator=g),
    lambda x, g: torch.bernoulli(x, generator=g),
])  # fmt: skip
def test_generators_of_the_host_are_refused(draw):
    x = torch.full((5,), 0.5, device=DEVICE)
    state = torch.neuron_sim.get_rng_state(DEVICE)
    with pytest.raises(RuntimeError, match=f"^Expected a '{DEVICE_TYPE}' device type for generator "
                                           "but found 'cpu'$"):  # fmt: skip
        draw(x, torch.Generator())
    assert x.tolist() == [0.5] * 5
    assert torch.equal(torch.neuron_sim.get_rng_state(DEVICE), state)


def test_what_the_chip_does_not_draw_is_a_fallback():
    with pytest.raises(NotImplementedError, match="poisson.*strict mode"):
        torch.poisson(torch.ones(3, device=DEVICE))


@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (7, 129)])
def test_odd_and_empty_shapes(shape):
    for draw in (torch.rand, torch.randn):
        assert draw(shape, device=DEVICE).shape == shape
