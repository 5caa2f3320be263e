"""rms_norm against torch.nn.functional.rms_norm in float64."""

import pytest
import torch
from custom_ops_oracle import OPS, values
from device_type import DEVICE_TYPE
from torch.nn import functional

PLACES = [f"{DEVICE_TYPE}:1", "cpu"]


def check(x, weight, **options):
    """The result for x and weight, wherever they are."""
    found = OPS.rms_norm(x, weight, **options)
    assert found.is_contiguous() and found.dtype == x.dtype
    exact = functional.rms_norm(
        x.cpu().double(), weight.shape, weight.cpu().double(), options.get("eps", 1e-6)
    )
    torch.testing.assert_close(found.cpu().double(), exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 1), (2, 3, 33), (300, 70), (2, 60000)])
def test_rows_of_any_length_are_normalised(place, shape):
    x = values(shape, torch.float32, 1).to(place)
    check(x, values(shape[-1:], torch.float32, 2).to(place))


@pytest.mark.parametrize("place", PLACES)
def test_strided_and_repeated_operands_are_read_in_place(place):
    x, weight = values((9, 12), torch.float32, 1).to(place), values((18,), torch.float32, 2)
    check(x.t(), weight.to(place)[::2])
    check(x[:, ::3], weight.to(place)[:4])
    check(x[:1].expand(5, 12), weight.to(place)[:1].expand(12))


@pytest.mark.parametrize("place", PLACES)
def test_eps_is_added_to_the_mean_of_the_squares(place):
    zeros, ones = torch.zeros(2, 4, device=place), torch.ones(4, device=place)
    assert OPS.rms_norm(zeros, ones).eq(0).all()
    check(ones.expand(2, 4), ones, eps=3.0)
    assert OPS.rms_norm(ones, ones, eps=3.0).tolist() == [0.5] * 4


@pytest.mark.parametrize("place", [*PLACES, "meta"])
@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0,)])
def test_an_empty_tensor_stays_empty(place, shape):
    x = torch.zeros(shape, device=place)
    assert OPS.rms_norm(x, torch.ones(shape[-1], device=place)).shape == shape


@pytest.mark.parametrize("place", PLACES)
def test_only_wanted_gradients_are_computed(place):
    x, weight = (values(shape, torch.float32, 1).to(place) for shape in ((3, 5), (5,)))
    OPS.rms_norm(x.requires_grad_(), weight).sum().backward()
    assert x.grad is not None and weight.grad is None
    OPS.rms_norm(x.detach(), weight.requires_grad_()).sum().backward()
    assert weight.grad.shape == (5,)
