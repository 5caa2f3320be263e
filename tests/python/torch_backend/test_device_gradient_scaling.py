"""torch.amp.GradScaler on the device: skipped steps, the scale, unscaling, clipping, its state."""

import copy

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch import nn

DEVICE = f"{DEVICE_TYPE}:1"
KINDS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.5, momentum=0.9),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.1),
    "SGD, one by one": lambda p: torch.optim.SGD(p, 0.5, foreach=False),
    "AdamW, one by one": lambda p: torch.optim.AdamW(p, 0.1, foreach=False),
}


@pytest.fixture(autouse=True)
def strict_and_seeded():
    torch.manual_seed(0)
    with device_module.strict():
        yield


def network():
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2)).to(DEVICE)


def scaler(**options):
    return torch.amp.GradScaler(DEVICE_TYPE, **options)


def parameters_of(model):
    return [p.detach().cpu().clone() for p in model.parameters()]


def backward(model, scaling, poison=None):
    """A scaled backward pass; `poison` then takes the place of one number of one gradient."""
    for p in model.parameters():
        p.grad = None
    data = torch.randn(4, 3, generator=torch.Generator().manual_seed(2)).to(DEVICE)
    scaling.scale(model(data).square().sum()).backward()
    if poison is not None:
        model[2].weight.grad[1, 2] = poison


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("poison", [float("inf"), float("-inf"), float("nan")])
def test_a_step_with_a_gradient_that_is_not_finite_is_skipped(kind, poison):
    model, scaling = network(), scaler(init_scale=16.0)
    optimizer = KINDS[kind](model.parameters())
    before = parameters_of(model)
    backward(model, scaling, poison)
    assert scaling.step(optimizer) is None
    scaling.update()
    assert all(torch.equal(a, b) for a, b in zip(before, parameters_of(model), strict=True))
    assert scaling.get_scale() == 8.0
    assert not optimizer.state or all("exp_avg" not in s for s in optimizer.state.values())
    backward(model, scaling)
    scaling.step(optimizer)
    scaling.update()
    assert all(not torch.equal(a, b) for a, b in zip(before, parameters_of(model), strict=True))
    assert scaling.get_scale() == 8.0


@pytest.mark.parametrize("kind", KINDS)
def test_scaled_steps_are_those_without_a_scale(kind):
    model = network()
    plain = copy.deepcopy(model).cpu()
    scaling = scaler(init_scale=2.0**10)
    optimizers = [KINDS[kind](m.parameters()) for m in (model, plain)]
    for _ in range(3):
        backward(model, scaling)
        scaling.step(optimizers[0])
        scaling.update()
        optimizers[1].zero_grad()
        data = torch.randn(4, 3, generator=torch.Generator().manual_seed(2))
        plain(data).square().sum().backward()
        optimizers[1].step()
    for ours, theirs in zip(model.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours.detach().cpu(), theirs.detach(), rtol=1e-4, atol=1e-5)


def test_the_scale_grows_after_its_interval_and_starts_to_count_again_after_an_overflow():
    model = network()
    scaling = scaler(init_scale=4.0, growth_factor=3.0, backoff_factor=0.25, growth_interval=2)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    scales = []
    for poison in (None, None, None, float("inf"), None, None, float("nan"), float("nan")):
        backward(model, scaling, poison)
        scaling.step(optimizer)
        scaling.update()
        scales.append(scaling.get_scale())
    assert scales == [4.0, 12.0, 12.0, 3.0, 3.0, 9.0, 2.25, 0.5625]


def test_a_scale_that_would_not_be_finite_does_not_grow():
    model = network()
    scaling = scaler(init_scale=2.0**120, growth_factor=2.0**20, growth_interval=1)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    scaling.scale(torch.ones(1).to(DEVICE))
    scaling.step(optimizer)
    scaling.update()
    assert scaling.get_scale() == 2.0**120


@pytest.mark.parametrize("foreach", [False, True])
def test_unscaled_gradients_are_clipped_by_their_true_norm(foreach):
    model, scaling = network(), scaler(init_scale=2.0**12)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    reference = copy.deepcopy(model)
    backward(model, scaling)
    backward(reference, scaler(init_scale=1.0))
    exact = [p.grad.cpu().double() for p in reference.parameters()]
    norm = torch.stack([g.norm() for g in exact]).norm()
    scaling.unscale_(optimizer)
    found = nn.utils.clip_grad_norm_(model.parameters(), 0.25, foreach=foreach)
    assert found.is_neuron_sim and found.item() == pytest.approx(norm.item(), rel=1e-5)
    for ours, theirs in zip(model.parameters(), exact, strict=True):
        torch.testing.assert_close(
            ours.grad.cpu().double(), theirs * (0.25 / (norm + 1e-6)), rtol=1e-4, atol=1e-7
        )
    clipped = [p.grad.cpu() for p in model.parameters()]
    before = parameters_of(model)
    scaling.step(optimizer)  # does not unscale again
    for old, gradient, new in zip(before, clipped, model.parameters(), strict=True):
        torch.testing.assert_close(new.detach().cpu(), old - 0.1 * gradient)


def test_unscaling_twice_is_an_error():
    model, scaling = network(), scaler()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    backward(model, scaling)
    scaling.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaling.unscale_(optimizer)


def test_one_of_two_optimizers_may_skip_its_step():
    models = [network(), network()]
    scaling = scaler(init_scale=4.0)
    optimizers = [torch.optim.SGD(m.parameters(), 0.1) for m in models]
    before = [parameters_of(m) for m in models]
    for model, poison in zip(models, (None, float("inf")), strict=True):
        backward(model, scaling, poison)
    for optimizer in optimizers:
        scaling.step(optimizer)
    scaling.update()
    after = [parameters_of(m) for m in models]
    assert not torch.equal(before[0][0], after[0][0]) and torch.equal(before[1][0], after[1][0])
    assert scaling.get_scale() == 2.0


def test_gradients_of_two_devices_are_unscaled_by_one_scaler():
    first, second = nn.Linear(2, 1).to(f"{DEVICE_TYPE}:0"), nn.Linear(1, 1).to(f"{DEVICE_TYPE}:1")
    scaling = scaler(init_scale=8.0)
    optimizer = torch.optim.SGD([*first.parameters(), *second.parameters()], 0.1)
    scaling.scale(
        second(first(torch.ones(1, 2).to(f"{DEVICE_TYPE}:0")).to(f"{DEVICE_TYPE}:1"))
    ).backward()
    weight = second.weight.detach().cpu()
    scaling.unscale_(optimizer)
    torch.testing.assert_close(first.weight.grad.cpu(), weight.expand(1, 2))
    assert second.bias.grad.tolist() == [1.0]
    second.bias.grad.fill_(float("inf"))
    before = parameters_of(first)
    scaling.step(optimizer)
    scaling.update()
    # Unscaled before it overflowed: nothing was found.
    assert not torch.equal(before[0], parameters_of(first)[0])


def test_its_state_is_saved_and_loaded():
    model = network()
    scaling = scaler(init_scale=2.0, growth_interval=3)
    optimizer = torch.optim.SGD(model.parameters(), 1e-3)
    for _ in range(2):
        backward(model, scaling)
        scaling.step(optimizer)
        scaling.update()
    twin = scaler(init_scale=77.0)
    twin.load_state_dict(scaling.state_dict())
    backward(model, twin)
    twin.step(optimizer)
    twin.update()
    assert twin.get_scale() == 4.0


def test_a_disabled_scaler_scales_nothing():
    model, scaling = network(), scaler(enabled=False)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loss = model(torch.ones(1, 3).to(DEVICE)).sum()
    assert scaling.scale(loss) is loss
    loss.backward()
    before = parameters_of(model)
    scaling.step(optimizer)
    scaling.update()
    assert not torch.equal(before[0], parameters_of(model)[0])


def test_an_overflow_of_float16_is_found_and_training_goes_on():
    torch.manual_seed(3)
    model = network()
    scaling = scaler(init_scale=2.0**20)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    data, target = torch.randn(16, 3).to(DEVICE), torch.randn(16, 2).to(DEVICE)
    losses, scales = [], [scaling.get_scale()]
    for _ in range(16):
        optimizer.zero_grad()
        with torch.autocast(DEVICE_TYPE, dtype=torch.float16):
            loss = nn.functional.mse_loss(model(data), target)
        scaling.scale(loss).backward()
        scaling.step(optimizer)
        scaling.update()
        losses.append(loss.item())
        scales.append(scaling.get_scale())
    assert scales[1] == 2.0**19  # the first step overflowed
    assert scales[-1] == scales[-2] < 2.0**20
    assert losses[1] == losses[0] and losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("before", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("place", [None, 0, 1, 3])
def test_the_operator_on_views_of_any_dtype_is_that_of_the_cpu(dtype, place, before):
    """`place`: which of the gradients has an infinite number; the third has no numbers at all."""
    wide = torch.randn(5, 6).to(dtype)

    def gradients(device):
        base = wide.clone().to(device)
        made = [base[:, ::2], base.clone().t()[1:3, :2], base[:0], base[0, 0].clone()]
        if place is not None:
            made[place][(-1,) * made[place].dim()] = float("inf")
        return made

    results = []
    for device in ("cpu", DEVICE):
        passed, found = gradients(device), torch.full((), before).to(device)
        scale = torch.tensor(0.375).to(device)
        torch._amp_foreach_non_finite_check_and_unscale_(passed, found, scale)
        results.append((passed, found.item()))
    (expected, seen), (found_there, seen_there) = results
    assert seen_there == seen == max(before, float(place is not None))
    for ours, theirs in zip(found_there, expected, strict=True):
        assert torch.equal(ours.cpu(), theirs)
