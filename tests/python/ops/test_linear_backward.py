"""linear_backward by its name, as custom autograd functions call it."""

import pytest
import torch
from against_cpu import DEVICE


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (2, 0, 4), (0, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_the_gradients_are_those_of_linear(shape, dtype):
    x, weight, bias = (torch.randn(s, dtype=dtype) for s in (shape, (5, 4), (5,)))
    gradient = torch.randn(*shape[:-1], 5, dtype=dtype)
    leaves = [t.double().requires_grad_() for t in (x, weight, bias)]
    torch.nn.functional.linear(*leaves).backward(gradient.double())
    there = [t.to(DEVICE) for t in (x, gradient, weight)]
    found = torch.ops.aten.linear_backward(*there, [True, True, True])
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    for ours, leaf in zip(found, leaves, strict=True):
        assert ours.dtype == dtype and ours.device == torch.device(DEVICE)
        torch.testing.assert_close(ours.cpu().double(), leaf.grad, rtol=tolerance, atol=tolerance)
    strided = torch.ops.aten.linear_backward(
        *(t.to(DEVICE) for t in (x, gradient)), weight.t().contiguous().to(DEVICE).t(), [True] * 3
    )
    assert all(torch.equal(a, b) for a, b in zip(strided, found, strict=True))


def test_only_the_gradients_that_are_asked_for_are_made():
    x, gradient, weight = (torch.ones(s, device=DEVICE) for s in ((2, 3), (2, 4), (4, 3)))
    for wanted in ([True, False, False], [False, True, False], [False, False, True]):
        with torch.neuron_sim.record_launches() as launches:
            found = torch.ops.aten.linear_backward(x, gradient, weight, wanted)
        assert [t is not None for t in found] == wanted and len(launches) == 1


def test_operands_that_do_not_fit_are_named():
    x = torch.ones(2, 3, device=DEVICE)
    with pytest.raises(RuntimeError, match="the input has 2 dimensions, the gradient 1"):
        torch.ops.aten.linear_backward(x, x[0], torch.ones(4, 3, device=DEVICE), [True] * 3)
    with pytest.raises(RuntimeError, match="invalid for input of size|cannot be multiplied"):
        torch.ops.aten.linear_backward(x, x, torch.ones(4, 3, device=DEVICE), [True] * 3)
