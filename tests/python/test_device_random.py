"""Random numbers: a seed gives the numbers of the CPU, on every device."""

import neuron_sim.torch_device as device_module
import pytest
import torch

DRAWS = [
    lambda device, **kw: torch.rand(7, device=device, **kw),
    lambda device, **kw: torch.randn(3, 20, device=device, **kw),
    lambda device, **kw: torch.randint(0, 99, (9,), device=device, **kw),
    lambda device, **kw: torch.randperm(20, device=device, **kw),
    lambda device, **kw: torch.empty(5, device=device).exponential_(**kw),
    lambda device, **kw: torch.bernoulli(torch.full((30,), 0.3, device=device), **kw),
    lambda device, **kw: torch.multinomial(torch.ones(9, device=device), 4, **kw),
    lambda device, **kw: torch.randn(4, dtype=torch.bfloat16, device=device, **kw),
]


@pytest.mark.parametrize("draw", DRAWS)
@pytest.mark.parametrize("device", ["neuron_sim:0", "neuron_sim:1"])
def test_manual_seed_gives_the_numbers_of_the_cpu(draw, device):
    torch.manual_seed(5)
    there = [draw(device).cpu() for _ in range(2)]
    torch.manual_seed(5)
    here = [draw("cpu") for _ in range(2)]
    assert torch.equal(there[0], here[0]) and torch.equal(there[1], here[1])


@pytest.mark.parametrize("draw", DRAWS)
def test_a_generator_of_the_device_gives_the_numbers_of_one_of_the_cpu(draw):
    there = torch.Generator("neuron_sim:1").manual_seed(8)
    here = torch.Generator().manual_seed(8)
    assert there.device == torch.device("neuron_sim:1")
    assert torch.equal(draw("neuron_sim:1", generator=there).cpu(), draw("cpu", generator=here))


def test_devices_draw_from_their_own_generators():
    torch.manual_seed(1)
    first = torch.rand(4, device="neuron_sim:0")
    torch.rand(100, device="neuron_sim:0")
    assert torch.equal(torch.rand(4, device="neuron_sim:1").cpu(), first.cpu())


def test_states_are_saved_and_restored():
    torch.manual_seed(2)
    state, states = device_module.get_rng_state(1), device_module.get_rng_state_all()
    first = torch.rand(4, device="neuron_sim:1").cpu()
    device_module.set_rng_state(state, 1)
    assert torch.equal(torch.rand(4, device="neuron_sim:1").cpu(), first)
    device_module.set_rng_state_all(states)
    assert torch.equal(torch.rand(4, device="neuron_sim:1").cpu(), first)


def test_fork_rng_restores_the_device():
    torch.manual_seed(3)
    with torch.random.fork_rng(devices=[0, 1], device_type="neuron_sim"):
        inside = torch.rand(4, device="neuron_sim:1").cpu()
    assert torch.equal(torch.rand(4, device="neuron_sim:1").cpu(), inside)


def test_seeds_are_reported():
    device_module.manual_seed(17)
    assert device_module.initial_seed() == 17
    device_module.manual_seed_all(18)
    assert device_module.default_generator(1).initial_seed() == 18
    device_module.seed()
    device_module.seed_all()
    assert device_module.default_generator(1).initial_seed() == device_module.initial_seed()


def test_generators_are_cloned_with_their_state():
    generator = torch.Generator("neuron_sim").manual_seed(4)
    clone = generator.clone_state()
    assert torch.equal(
        torch.rand(3, device="neuron_sim", generator=generator).cpu(),
        torch.rand(3, device="neuron_sim", generator=clone).cpu(),
    )


def test_dropout_follows_the_seed():
    ones = torch.ones(200, device="neuron_sim")
    torch.manual_seed(6)
    first = torch.nn.functional.dropout(ones, 0.5)
    torch.manual_seed(6)
    assert torch.equal(torch.nn.functional.dropout(ones, 0.5).cpu(), first.cpu())
