"""Random numbers: a seed gives the numbers of the CPU, on every device, in strict mode too."""

import os
import subprocess
import sys

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE, OWN_NAME

ALL_DRAWS = {
    "rand": lambda d, **kw: torch.rand(7, device=d, **kw),
    "randn": lambda d, **kw: torch.randn(3, 20, device=d, **kw),
    "randn of float64": lambda d, **kw: torch.randn(5, dtype=torch.float64, device=d, **kw),
    "rand of bfloat16": lambda d, **kw: torch.rand(9, dtype=torch.bfloat16, device=d, **kw),
    "randint": lambda d, **kw: torch.randint(0, 99, (9,), device=d, **kw),
    "randperm": lambda d, **kw: torch.randperm(20, device=d, **kw),
    "normal of tensors": lambda d, **kw: torch.normal(torch.ones(5, device=d), 2.0, **kw),
    "bernoulli": lambda d, **kw: torch.bernoulli(torch.full((30,), 0.3, device=d), **kw),
    "poisson": lambda d, **kw: torch.poisson(torch.full((30,), 3.0, device=d), **kw),
    "multinomial": lambda d, **kw: torch.multinomial(torch.ones(9, device=d), 4, **kw),
    "exponential_": lambda d, **kw: torch.empty(5, device=d).exponential_(**kw),
    "cauchy_": lambda d, **kw: torch.empty(5, device=d).cauchy_(**kw),
    "geometric_": lambda d, **kw: torch.empty(5, device=d).geometric_(0.5, **kw),
    "log_normal_": lambda d, **kw: torch.empty(5, device=d).log_normal_(**kw),
    "random_": lambda d, **kw: torch.empty(5, device=d).random_(**kw),
    "random_ of int32": lambda d, **kw: torch.empty(5, device=d, dtype=torch.int32).random_(**kw),
    "random_ of bool": lambda d, **kw: torch.empty(5, device=d, dtype=torch.bool).random_(**kw),
    "random_ of every second": lambda d, **kw: torch.zeros(9, device=d)[::2].random_(9, **kw),
    "rand of nothing": lambda d, **kw: torch.rand(0, 3, device=d, **kw),
}  # fmt: skip
SEEDED_MODULES = {
    "a linear layer": lambda d: torch.nn.Linear(5, 3, device=d).weight.detach(),
    "trunc_normal_": lambda d: torch.nn.init.trunc_normal_(torch.empty(50, device=d)),
    "xavier_uniform_": lambda d: torch.nn.init.xavier_uniform_(torch.empty(5, 4, device=d)),
    "normal_": lambda d: torch.empty(20000, device=d).normal_(3.0, 0.5),
    "uniform_": lambda d: torch.empty(20000, device=d).uniform_(-2, 2),
    "rand_like": lambda d: torch.rand_like(torch.empty(20000, device=d)),
    "randint_like": lambda d: torch.randint_like(torch.empty(20000, device=d), 9),
    "a mask": lambda d: torch.rand(40, device=d) < 0.5,
}


@pytest.mark.parametrize("draw", ALL_DRAWS.values(), ids=ALL_DRAWS)
def test_a_generator_of_the_device_gives_the_numbers_of_one_of_the_cpu(draw):
    there = torch.Generator(f"{DEVICE_TYPE}:1").manual_seed(8)
    here = torch.Generator().manual_seed(8)
    assert there.device == torch.device(f"{DEVICE_TYPE}:1")
    assert torch.equal(draw(f"{DEVICE_TYPE}:1", generator=there).cpu(), draw("cpu", generator=here))


def test_devices_draw_from_their_own_generators():
    torch.manual_seed(1)
    first = torch.rand(4, device=f"{DEVICE_TYPE}:0")
    torch.rand(100, device=f"{DEVICE_TYPE}:0")
    assert torch.equal(torch.rand(4, device=f"{DEVICE_TYPE}:1").cpu(), first.cpu())


def test_states_are_saved_and_restored():
    torch.manual_seed(2)
    state, states = device_module.get_rng_state(1), device_module.get_rng_state_all()
    first = torch.rand(4, device=f"{DEVICE_TYPE}:1").cpu()
    device_module.set_rng_state(state, 1)
    assert torch.equal(torch.rand(4, device=f"{DEVICE_TYPE}:1").cpu(), first)
    device_module.set_rng_state_all(states)
    assert torch.equal(torch.rand(4, device=f"{DEVICE_TYPE}:1").cpu(), first)


def test_fork_rng_restores_the_device():
    torch.manual_seed(3)
    with torch.random.fork_rng(devices=[0, 1], device_type=DEVICE_TYPE):
        inside = torch.rand(4, device=f"{DEVICE_TYPE}:1").cpu()
    assert torch.equal(torch.rand(4, device=f"{DEVICE_TYPE}:1").cpu(), inside)


def test_seeds_are_reported():
    device_module.manual_seed(17)
    assert device_module.initial_seed() == 17
    device_module.manual_seed_all(18)
    assert device_module.default_generator(1).initial_seed() == 18
    device_module.seed()
    device_module.seed_all()
    assert device_module.default_generator(1).initial_seed() == device_module.initial_seed()


def test_generators_are_cloned_with_their_state():
    generator = torch.Generator(DEVICE_TYPE).manual_seed(4)
    clone = generator.clone_state()
    assert torch.equal(
        torch.rand(3, device=DEVICE_TYPE, generator=generator).cpu(),
        torch.rand(3, device=DEVICE_TYPE, generator=clone).cpu(),
    )


@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
@pytest.mark.parametrize("draw", [*ALL_DRAWS.values(), *SEEDED_MODULES.values()],
                         ids=[*ALL_DRAWS, *SEEDED_MODULES])  # fmt: skip
def test_strict_mode_changes_no_numbers(draw, device):
    torch.manual_seed(5)
    expected = [draw("cpu") for _ in range(3)]
    torch.manual_seed(5)
    device_module.reset_fallback_counts()
    found = [draw(device).cpu()]
    with device_module.strict():
        found.append(draw(device).cpu())
    found.append(draw(device).cpu())
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert device_module.fallbacks() == []


def test_strict_mode_changes_no_masks_and_no_times():
    def run():
        x = torch.randn(40, 30, device=f"{DEVICE_TYPE}:1")
        x = torch.nn.functional.dropout(x, 0.5)
        return x * torch.empty(40, 30, device=f"{DEVICE_TYPE}:1").bernoulli_(0.7) + torch.rand_like(
            x
        )

    found, times = [], []
    for mode in (None, device_module.strict(), None):
        torch.manual_seed(2)
        before = device_module.simulated_time(1)
        if mode is None:
            found.append(run().cpu())
        else:
            with mode:
                found.append(run().cpu())
        times.append(device_module.simulated_time(1) - before)
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
    assert times[1] == pytest.approx(times[0], rel=1e-6)


def test_numbers_that_the_host_draws_are_counted_and_cross_the_link():
    device_module.reset_fallback_counts()
    before = device_module.simulated_time()
    with device_module.strict():
        torch.rand(1 << 16, device=DEVICE_TYPE)
    assert device_module.host_operators() == {"aten::uniform_": 1}
    assert device_module.fallbacks() == []
    assert device_module.simulated_time() > before


@pytest.mark.parametrize("source", ["host", "chip"])
@pytest.mark.parametrize("draw", ALL_DRAWS.values(), ids=ALL_DRAWS)
def test_a_generator_of_the_host_is_refused(draw, source):
    state = device_module.get_rng_state()
    device_module.set_random_source(source)
    try:
        with pytest.raises(RuntimeError, match=f"^Expected a '{DEVICE_TYPE}' device type for "
                                               "generator but found 'cpu'$"):  # fmt: skip
            draw(DEVICE_TYPE, generator=torch.Generator())
    finally:
        device_module.set_random_source("host")
    assert torch.equal(device_module.get_rng_state(), state)


def test_a_generator_that_is_refused_changes_nothing():
    x = torch.full((5,), 7.0, device=f"{DEVICE_TYPE}:1")
    for draw in (x.uniform_, x.normal_, x.random_, lambda generator: x.bernoulli_(
            0.5, generator=generator)):  # fmt: skip
        with pytest.raises(RuntimeError, match="device type for generator"):
            draw(generator=torch.Generator())
    assert x.tolist() == [7.0] * 5


@pytest.mark.parametrize("source", ["host", "chip"])
def test_host_tensors_refuse_generators_of_the_device(source):
    generator, x = torch.Generator(DEVICE_TYPE), torch.full((3,), 7.0)
    device_module.set_random_source(source)
    try:
        for draw in (x.uniform_, x.normal_, x.exponential_, x.random_):
            with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but "
                                                   f"found '{DEVICE_TYPE}'"):  # fmt: skip
                draw(generator=generator)
    finally:
        device_module.set_random_source("host")
    assert x.tolist() == [7.0] * 3


def test_a_wrong_source_is_named():
    with pytest.raises(ValueError, match="'dice' is neither 'host' nor 'chip'"):
        device_module.set_random_source("dice")
    assert device_module.random_source() == "host"


@pytest.mark.parametrize("setting", ["", "host", "chip", "dice"])
def test_the_environment_sets_the_source(setting):
    program = (
        "import torch, neuron_sim.torch_device as device\n"
        "torch.manual_seed(1); here = torch.rand(9)\n"
        "torch.manual_seed(1); there = torch.rand(9, device='neuron_sim').cpu()\n"
        "print(device.random_source(), torch.equal(here, there))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **OWN_NAME, "NEURON_SIM_RANDOM_SOURCE": setting},
        capture_output=True, text=True,
    )  # fmt: skip
    if setting == "dice":
        assert "ValueError: neuron_sim: the source of random numbers 'dice'" in result.stderr
    else:
        expected = ["chip", "False"] if setting == "chip" else ["host", "True"]
        assert result.stdout.split() == expected, result.stderr
