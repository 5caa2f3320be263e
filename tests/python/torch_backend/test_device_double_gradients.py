"""Gradients in float64, which the chip does not compute, of operators that the CPU has no fused
kernel for."""

import pytest
import torch
from device_type import DEVICE_TYPE
from torch.nn import functional


def gradients(device, shape, row, has_weight):
    torch.manual_seed(0)
    x, weight = (torch.randn(sizes, dtype=torch.float64, device="cpu") for sizes in (shape, row))
    leaves = [x.to(device).requires_grad_()]
    leaves += [weight.to(device).requires_grad_()] if has_weight else []
    result = functional.rms_norm(leaves[0], row, *leaves[1:])
    return torch.autograd.grad((result + result.square()).sum(), leaves)


@pytest.mark.filterwarnings("ignore:neuron_sim. operator")
@pytest.mark.parametrize("has_weight", [True, False])
@pytest.mark.parametrize(("shape", "row"), [((3, 5), (5,)), ((7,), (7,)), ((2, 3, 4), (3, 4))])
def test_those_of_rms_norm_are_those_of_the_cpu(shape, row, has_weight):
    ours, theirs = (gradients(where, shape, row, has_weight) for where in (DEVICE_TYPE, "cpu"))
    for mine, expected in zip(ours, theirs, strict=True):
        assert mine.dtype == torch.float64
        torch.testing.assert_close(mine.cpu(), expected, rtol=1e-12, atol=1e-12)
