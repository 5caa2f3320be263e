"""Models and inputs that neuron_sim.report() refuses."""

import neuron_sim
import pytest
import torch
from device_type import DEVICE_TYPE
from reports import DEVICE, stack, values
from torch import nn


def refused(match, model, inputs, error=ValueError, **options):
    with pytest.raises(error, match=match):
        neuron_sim.report(model, inputs, **options)


def test_a_model_on_the_cpu():
    refused("^parameter '0.wide.weight' is on cpu; .* `.to", stack().cpu(), values(4, 64))


def test_inputs_on_the_cpu_are_named():
    refused("^input 0 is on cpu;", stack(), torch.ones(4, 64))
    refused("^input 'x' is on cpu;", stack(), {"x": [torch.ones(4, 64)]})


def test_inputs_on_another_device():
    match = f"^input 0 is on {DEVICE_TYPE}:0, and parameter '0.wide.weight' on {DEVICE};"
    refused(match, stack(), values(4, 64, device=f"{DEVICE_TYPE}:0"))


def test_a_model_on_two_devices():
    model = nn.Sequential(nn.Linear(8, 8).to(f"{DEVICE_TYPE}:0"), nn.Linear(8, 8).to(DEVICE))
    refused(f"^parameter '1.weight' is on {DEVICE}", model, values(4, 8, device=f"{DEVICE_TYPE}:0"))


def test_without_tensors_there_is_no_device():
    refused("has no device", nn.Sequential(), ())


@pytest.mark.parametrize("depth", [0, -1, 1.5, "2", True])
def test_a_depth_that_is_none(depth):
    refused("depth is .*at least 1", stack(), values(4, 64), depth=depth)


def test_a_depth_beyond_the_model_shows_all_of_it():
    report = neuron_sim.report(stack(), values(4, 64), depth=9)
    assert len(report.rows(9)) == len(report.rows()) > len(report.rows(1))


def test_what_is_no_module():
    refused("model is of type function", lambda x: x, values(4, 64), TypeError)
    refused("inputs is of type int", stack(), 3, TypeError)


def test_a_dtype_without_products():
    refused("dtype is torch.int8", stack(), values(4, 64), dtype=torch.int8)


def test_an_output_without_a_gradient():
    model = stack().requires_grad_(False)
    refused("no tensor that requires a gradient", model, values(4, 64), backward=True)
    with torch.no_grad():
        neuron_sim.report(stack(), values(4, 64), backward=True)  # says itself what it needs


def test_errors_of_the_model_are_its_own_and_change_nothing():
    model = stack()
    kept = model[0].wide.weight.grad = values(96, 64)
    refused("shapes|size", model, values(4, 63), RuntimeError, backward=True)
    assert model[0].wide.weight.grad is kept
    reported = neuron_sim.report(model, values(4, 64))  # hooks and recordings are gone
    assert reported.root.calls == 1
