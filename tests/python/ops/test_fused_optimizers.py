"""Optimizers with `fused=True` in strict mode against the CPU's steps in float64."""

from collections.abc import Iterator

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from device_type import DEVICE_TYPE

CASES = [
    ("Adam", {}), ("Adam", {"weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", {"weight_decay": 0.1}), ("AdamW", {"maximize": True, "amsgrad": True}), ("SGD", {}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.8, "dampening": 0.3, "maximize": True}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.2}),
]  # fmt: skip


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    with torch.neuron_sim.strict():
        yield


def trained(name, options, device, dtype, steps=4):
    generator = torch.Generator().manual_seed(0)
    shapes = [(7, 5), (5,), (), (3, 2, 9)]
    parameters = [torch.randn(shape, generator=generator).to(device, dtype) for shape in shapes]
    parameters[0] = parameters[0].t()  # other strides than row by row
    for parameter in parameters:
        parameter.requires_grad_()
    fused = device != "cpu"
    optimizer = getattr(torch.optim, name)(parameters, lr=0.05, fused=fused, **options)
    for _ in range(steps):
        optimizer.zero_grad()
        sum((p * p * p).sum() for p in parameters).backward()
        optimizer.step()
    return [parameter.detach().cpu() for parameter in parameters]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_fused_steps_are_those_of_the_cpu(name, options):
    found = trained(name, options, DEVICE_TYPE, torch.float32)
    for ours, theirs in zip(found, trained(name, options, "cpu", torch.float64), strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=2e-5, atol=2e-5)


def test_a_step_is_one_kernel_per_parameter_that_is_compiled_once():
    parameter = torch.ones(40, 30, device=DEVICE_TYPE, requires_grad=True)
    optimizer = torch.optim.AdamW([parameter], fused=True)
    parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    misses = torch.neuron_sim.kernel_cache_info().misses
    with torch.neuron_sim.record_launches() as launches:
        optimizer.step()
    assert [launch.name for launch in launches].count("optimizer") == 1
    assert torch.neuron_sim.kernel_cache_info().misses == misses


def test_a_gradient_that_is_not_finite_changes_nothing():
    parameter = torch.ones(5, device=DEVICE_TYPE, requires_grad=True)
    optimizer = torch.optim.SGD([parameter], lr=0.1, fused=True)
    scaler = torch.amp.GradScaler(DEVICE_TYPE, init_scale=8.0)
    for factor, expected in ((2.0, 0.8), (float("inf"), 0.8), (1.0, 0.7)):
        optimizer.zero_grad()
        scaler.scale((parameter * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.testing.assert_close(parameter.detach().cpu(), torch.full((5,), expected))


def descend(parameters, gradients, momenta):
    torch._fused_sgd_(parameters, gradients, momenta, weight_decay=0, momentum=0.5, lr=0.1,
                      dampening=0, nesterov=False, maximize=False, is_first_step=False)  # fmt: skip


@pytest.mark.parametrize(("count", "first"), [(8, 4), (8, 1), (8, 7), (9, 5), (300, 17)])
def test_a_gradient_may_overlap_the_parameter_and_its_momentum(count, first):
    memory = torch.arange(2.0 * count)
    gradient = memory[first : first + count]
    momentum = memory[count:] * 0.5 + gradient
    expected = torch.cat([memory[:count] - momentum * 0.1, momentum])
    there = memory.to(f"{DEVICE_TYPE}:1")
    with torch.neuron_sim.record_launches() as launches:
        descend([there[:count]], [there[first : first + count]], [there[count:]])
    torch.testing.assert_close(there.cpu(), expected)
    (launch,) = (launch for launch in launches if launch.name == "optimizer")
    assert launch.arguments.split(" -> ")[1].count("tensor") == 1  # all three lie in one argument


def test_a_step_that_the_device_refuses_is_applied_once():
    parameters = [torch.ones(4, device=DEVICE_TYPE) for _ in range(2)]
    gradients = [torch.ones(4, device=DEVICE_TYPE) for _ in range(2)]
    momenta = [torch.ones(4, device=DEVICE_TYPE), torch.ones(4).double().to(DEVICE_TYPE)]
    torch.neuron_sim.set_fallback_policy("allow")
    try:
        descend(parameters, gradients, momenta)
    except RuntimeError:
        pass  # the CPU has no such step either
    finally:
        torch.neuron_sim.set_fallback_policy("error")
    assert momenta[0].tolist() in ([1.0] * 4, [1.5] * 4)


def test_strict_mode_refuses_a_step_before_it_changes_anything():
    parameters = [torch.ones(4, device=DEVICE_TYPE) for _ in range(2)]
    gradients = [torch.ones(4, device=DEVICE_TYPE) for _ in range(2)]
    momenta = [torch.ones(4, device=DEVICE_TYPE), torch.ones(4).double().to(DEVICE_TYPE)]
    with pytest.raises(NotImplementedError, match="_fused_sgd_.*Double"):
        descend(parameters, gradients, momenta)
    assert parameters[0].tolist() == momenta[0].tolist() == [1.0] * 4
