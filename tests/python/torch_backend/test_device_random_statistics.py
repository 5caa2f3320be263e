"""Random numbers that the device draws itself, their statistics, and generators everywhere."""

import copy
import math
import pickle

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

DEVICES = pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(11)


def kept_share(mask, probability):
    """How far the share of ones is from 1 - probability, in standard deviations."""
    deviation = math.sqrt(probability * (1 - probability) / mask.numel())
    return abs(mask.double().mean().item() - (1 - probability)) / deviation


# Dropout: drawn by the chip


@DTYPES
@pytest.mark.parametrize("probability", [0.1, 0.5, 0.93])
@pytest.mark.parametrize("shape", [(40000,), (257, 129), (3, 5, 7, 11, 13)])
def test_dropout_keeps_the_share_that_it_should_and_scales_it(shape, probability, dtype):
    x = (torch.rand(shape) + 1).to(dtype)
    with device_module.strict():
        found = functional.dropout(x.to(f"{DEVICE_TYPE}:1"), probability).cpu()
    kept = found != 0
    assert kept_share(kept, probability) < 4
    expected = (x.double() / (1 - probability)) * kept
    torch.testing.assert_close(found.double(), expected, rtol=torch.finfo(dtype).eps, atol=0)


def test_dropout_of_strided_tensors_is_independent_of_their_place():
    x = torch.ones(64, 200).to(DEVICE_TYPE).t()
    kept = (functional.dropout(x, 0.5) != 0).cpu()
    for one in (kept, kept[:, ::2], kept[::2], kept[:100], kept[100:]):
        assert kept_share(one, 0.5) < 4


def correlation(a, b):
    """Of two masks, in standard deviations of that of independent ones."""
    a, b = (m.double().flatten() - m.double().mean() for m in (a, b))
    return abs((a * b).mean() / (a.std() * b.std())).item() * math.sqrt(a.numel())


def test_masks_are_independent_of_neighbours_and_of_earlier_calls():
    x = torch.ones(128, 300).to(DEVICE_TYPE)
    first, second = ((functional.dropout(x, 0.5) != 0).cpu() for _ in range(2))
    assert correlation(first, second) < 4
    assert correlation(first[:, 1:], first[:, :-1]) < 4
    assert correlation(first[1:], first[:-1]) < 4
    assert correlation(first[64:], first[:64]) < 4
    counts = first.sum(1).double()  # of rows, each its partition: binomial
    assert 0.5 < counts.var().item() / (300 * 0.25) < 1.7


@DEVICES
def test_a_seed_decides_dropout_on_every_device(device):
    x = torch.ones(77, 33).to(device)
    found = []
    for _ in range(2):
        torch.manual_seed(3)
        found.append([functional.dropout(x, 0.4).cpu() for _ in range(3)])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert not torch.equal(found[0][0], found[0][1])
    other = torch.ones(77, 33).to(
        f"{DEVICE_TYPE}:0" if device.endswith("1") else f"{DEVICE_TYPE}:1"
    )
    torch.manual_seed(3)
    assert torch.equal(functional.dropout(other, 0.4).cpu(), found[0][0])
    torch.manual_seed(4)
    assert not torch.equal(functional.dropout(x, 0.4).cpu(), found[0][0])


def test_the_gradient_of_dropout_has_its_mask():
    x = torch.randn(50, 60).to(DEVICE_TYPE).requires_grad_()
    with device_module.strict():
        found = functional.dropout(x, 0.3)
        found.backward(torch.ones(50, 60).to(DEVICE_TYPE))
    mask = (found != 0).cpu()
    torch.testing.assert_close(x.grad.cpu(), mask / 0.7)


def test_dropout_without_training_and_at_its_ends_draws_nothing():
    x = torch.randn(9, 9).to(DEVICE_TYPE)
    state = device_module.get_rng_state()
    assert torch.equal(functional.dropout(x, 0.5, training=False).cpu(), x.cpu())
    assert torch.equal(functional.dropout(x, 1.0).cpu(), torch.zeros(9, 9))
    assert functional.dropout(torch.ones(0, 3).to(DEVICE_TYPE)).shape == (0, 3)
    assert torch.equal(device_module.get_rng_state(), state)
    assert torch.equal(functional.dropout(x, 0.0).cpu(), x.cpu())


@pytest.mark.parametrize("kind", ["dropout1d", "dropout2d", "dropout3d", "alpha_dropout"])
def test_the_other_dropouts_follow_the_seed(kind):
    x = torch.randn(4, 6, *[5] * (int(kind[7]) if kind[7].isdigit() else 1)).to(f"{DEVICE_TYPE}:1")
    found = []
    for _ in range(2):
        torch.manual_seed(8)
        with device_module.strict():
            found.append(getattr(functional, kind)(x, 0.5, training=True).cpu())
    assert torch.equal(*found)
    if kind != "alpha_dropout":  # whole channels
        channels = (found[0] != 0).flatten(2)
        assert torch.equal(channels.all(2), channels.any(2)) and not channels.all()


def test_recomputed_activations_have_the_mask_of_the_forward_pass():
    weight = torch.randn(6, 6).to(f"{DEVICE_TYPE}:1").requires_grad_()
    x = torch.randn(5, 6).to(f"{DEVICE_TYPE}:1").requires_grad_()

    def layer(x):
        return functional.dropout((x @ weight).tanh(), 0.5)

    gradients = []
    for run in (layer, lambda x: checkpoint(layer, x, use_reentrant=False),
                lambda x: checkpoint(layer, x, use_reentrant=True)):  # fmt: skip
        torch.manual_seed(9)
        x.grad = weight.grad = None
        run(x).sum().backward()
        gradients.append((x.grad.cpu(), weight.grad.cpu()))
    for other in gradients[1:]:
        assert all(torch.equal(a, b) for a, b in zip(gradients[0], other, strict=True))


@DTYPES
@pytest.mark.parametrize("probability", [0.0, 0.07, 0.5, 1.0])
def test_flips_of_one_probability_are_drawn_by_the_device(probability, dtype):
    base = torch.full((60, 400), 7.0, dtype=dtype).to(f"{DEVICE_TYPE}:1")
    view = base[:, ::2].t()
    with device_module.strict():
        assert view.bernoulli_(probability) is view
    found = view.cpu()
    assert set(found.unique().tolist()) <= {0.0, 1.0}
    if 0 < probability < 1:
        assert kept_share(1 - found, probability) < 4
        assert correlation(found[1:], found[:-1]) < 4
    else:
        assert (found == probability).all()
    assert (base[:, 1::2] == 7).all().item()


def test_flips_follow_the_generator_that_is_given():
    x = torch.empty(500).to(f"{DEVICE_TYPE}:1")
    found = []
    for _ in range(2):
        generator = torch.Generator(f"{DEVICE_TYPE}:1").manual_seed(4)
        found.append(x.bernoulli_(0.5, generator=generator).cpu())
    assert torch.equal(*found)
    assert not torch.equal(x.bernoulli_(0.5, generator=generator).cpu(), found[0])
    with pytest.raises(RuntimeError, match=r"p to be in \[0, 1\], but got p=1.5"):
        x.bernoulli_(1.5)
    assert torch.empty(0).to(DEVICE_TYPE).bernoulli_(0.5).shape == (0,)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.zeros(1).to(DEVICE_TYPE).expand(3).bernoulli_(0.5)


def test_random_numbers_of_a_batch_are_the_same_or_different_as_asked():
    x = torch.ones(5, 200).to(f"{DEVICE_TYPE}:1")

    def dropped(randomness):
        call = torch.vmap(lambda row: functional.dropout(row, 0.5), randomness=randomness)
        return (call(x) != 0).cpu()

    same, different = dropped("same"), dropped("different")
    assert all(torch.equal(row, same[0]) for row in same)
    assert not any(torch.equal(row, different[0]) for row in different[1:])
    assert 0.35 < same.double().mean() < 0.65 and 0.4 < different.double().mean() < 0.6
    with pytest.raises(RuntimeError, match="randomness"):
        dropped("error")


def test_initialisations_draw_the_numbers_of_the_cpu():
    for name in ("kaiming_uniform_", "xavier_normal_", "trunc_normal_", "orthogonal_"):
        torch.manual_seed(5)
        here = getattr(torch.nn.init, name)(torch.empty(6, 4))
        torch.manual_seed(5)
        there = getattr(torch.nn.init, name)(torch.empty(6, 4, device=f"{DEVICE_TYPE}:1"))
        torch.testing.assert_close(there.cpu(), here, rtol=1e-5, atol=1e-6)


# Generators


def test_a_generator_of_another_device_is_refused():
    generator = torch.Generator(f"{DEVICE_TYPE}:1")
    with pytest.raises(RuntimeError, match="(?i)generator"):
        torch.rand(3, generator=generator)


@DEVICES
def test_generators_are_copied_and_pickled_with_their_state(device):
    generator = torch.Generator(device).manual_seed(21)
    torch.rand(5, device=device, generator=generator)
    twins = [
        pickle.loads(pickle.dumps(generator)),
        torch.Generator(device),
        copy.deepcopy(generator),
    ]
    twins[1].set_state(generator.get_state())
    expected = torch.rand(9, device=device, generator=generator).cpu()
    for twin in twins:
        assert twin.device == torch.device(device)
        assert torch.equal(torch.rand(9, device=device, generator=twin).cpu(), expected)


def test_states_of_wrong_sizes_and_places_are_refused():
    state = device_module.get_rng_state(1)
    assert state.device.type == "cpu" and state.dtype == torch.uint8
    with pytest.raises((RuntimeError, TypeError)):
        device_module.set_rng_state(state[:-1], 1)
    with pytest.raises((RuntimeError, TypeError)):
        device_module.set_rng_state(state.float(), 1)


def test_a_mersenne_twister_has_no_offset():
    generator = torch.Generator(DEVICE_TYPE)
    assert generator.get_offset() == 0
    with pytest.raises(NotImplementedError, match="has no offset"):
        generator.set_offset(8)


@pytest.mark.filterwarnings("ignore:NEURON_SIM reports")
def test_fork_rng_without_a_list_restores_all_devices_and_keeps_what_happened_outside():
    torch.manual_seed(30)
    with torch.random.fork_rng(device_type=DEVICE_TYPE):
        torch.manual_seed(31)
        inside = [torch.rand(3, device=f"{DEVICE_TYPE}:{i}").cpu() for i in range(2)]
        masked = functional.dropout(torch.ones(99).to(f"{DEVICE_TYPE}:1")).cpu()
    torch.manual_seed(30)
    expected = [torch.rand(3, device=f"{DEVICE_TYPE}:{i}").cpu() for i in range(2)]
    torch.manual_seed(30)
    with torch.random.fork_rng(device_type=DEVICE_TYPE):
        torch.manual_seed(31)
        assert torch.equal(torch.rand(3, device=f"{DEVICE_TYPE}:0").cpu(), inside[0])
        assert torch.equal(torch.rand(3, device=f"{DEVICE_TYPE}:1").cpu(), inside[1])
        again = functional.dropout(torch.ones(99).to(f"{DEVICE_TYPE}:1")).cpu()
        assert torch.equal(again, masked)
    for index in range(2):
        drawn = torch.rand(3, device=f"{DEVICE_TYPE}:{index}").cpu()
        assert torch.equal(drawn, expected[index])
