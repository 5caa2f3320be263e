"""Reductions, running sums, softmax and norms."""

import itertools
import math

import pytest
import torch
from against_cpu import DEVICE, check
from device_type import DEVICE_TYPE
from torch.nn import functional

SHAPES = [(7,), (3, 5), (1000, 3), (3, 1000), (130, 257), (5, 6, 7), (2, 3, 4, 5), (1, 70000),
          (300, 5000), (64, 8, 14, 14)]  # fmt: skip


def subsets(rank):
    for count in range(1, rank + 1):
        yield from itertools.combinations(range(rank), count)


@pytest.mark.parametrize("shape", SHAPES)
def test_sums_means_and_maxima_over_any_dimensions(shape):
    x = torch.randn(shape)
    for dimensions in subsets(len(shape)):
        check(lambda t, d=dimensions: t.sum(d), x, tolerance=3e-4, gradients=False)
        check(lambda t, d=dimensions: t.mean(d, keepdim=True), x, gradients=False)
        check(lambda t, d=dimensions: t.amax(d), x, gradients=False)


@pytest.mark.parametrize("function", [
    torch.sum, torch.mean, torch.amax, torch.amin, torch.std, torch.var, torch.logsumexp,
    torch.prod, torch.linalg.vector_norm,
])  # fmt: skip
def test_reductions_have_gradients(function):
    x = torch.rand(6, 9) + 0.5
    check(lambda t: function(t, dim=1), x, tolerance=2e-5)


def test_transposed_and_strided_operands_are_reduced_in_place():
    x = torch.randn(60, 50, 4)
    check(lambda t: t.transpose(0, 1).sum(1), x, tolerance=1e-4)
    check(lambda t: t[:, ::3].amax((0, 2)), x)
    check(lambda t: t.permute(2, 0, 1).mean((1, 2)), x)


@pytest.mark.parametrize("order", [0, 1, 2, 3.5, math.inf, -math.inf])
def test_norms_of_any_order(order):
    check(lambda t: torch.linalg.vector_norm(t, order, dim=-1), torch.randn(9, 300),
          gradients=False, tolerance=2e-5)  # fmt: skip


def test_any_and_all_of_flags_and_numbers():
    x = torch.randint(0, 2, (40, 3))
    for t in (x.bool(), x.float(), x.to(torch.uint8)):
        check(lambda v: v.any(1), t, gradients=False)
        check(lambda v: v.all(0), t, gradients=False)
        check(torch.any, t, gradients=False)


def test_nan_wins_maxima_and_minima():
    x = torch.randn(5, 300)
    x[2, 7] = math.nan
    check(lambda t: t.amax(1), x, gradients=False)
    check(lambda t: t.amin(0), x, gradients=False)
    check(torch.max, x, gradients=False)


@pytest.mark.parametrize("shape", [(5,), (300, 33), (4, 70, 3)])
def test_the_first_extremum_is_found(shape):
    x = torch.randint(0, 20, shape).float()
    for dimension in range(len(shape)):
        for function in (torch.max, torch.min):
            value, index = function(x.to(DEVICE), dimension)
            expected = function(x, dimension)
            assert torch.equal(value.cpu(), expected.values)
            picked = x.gather(dimension, index.cpu().unsqueeze(dimension))
            assert torch.equal(picked.squeeze(dimension), expected.values)
        check(lambda t, d=dimension: t.argmax(d), x, gradients=False)
    check(torch.argmin, x, gradients=False)


@pytest.mark.parametrize("function", [torch.cumsum, torch.cumprod])
def test_running_sums_and_products(function):
    for shape in [(9,), (130, 40), (3, 5000), (4, 5, 6)]:
        x = torch.rand(shape) + 0.5 if function is torch.cumsum else torch.rand(shape) * 0.1 + 0.95
        for dimension in range(len(shape)):
            check(lambda t, d=dimension: function(t, d), x, tolerance=2e-4, gradients=False)


def test_no_elements_give_the_neutral_element():
    check(lambda t: t.sum(0), torch.empty(0, 3))
    check(lambda t: t.mean(0), torch.empty(0, 3))
    check(lambda t: t.prod(0), torch.empty(0, 3))
    check(lambda t: t.all(0), torch.empty(0, 3), gradients=False)


@pytest.mark.parametrize("function", [functional.softmax, functional.log_softmax])
@pytest.mark.parametrize(
    ("shape", "dimension"),
    [((5,), 0), ((3, 7), 0), ((300, 65), -1), ((2, 3, 4, 5), 1), ((2, 12, 50, 50), -1),
     ((4, 50257), -1), ((1000, 10), 1), ((1, 2, 1, 3, 1, 2, 2), 3)],
)  # fmt: skip
def test_softmax_along_any_dimension(function, shape, dimension):
    check(lambda t: function(t, dimension), torch.randn(shape) * 3, tolerance=2e-5)


def test_softmax_of_infinities_is_that_of_torch():
    x = torch.randn(4, 6)
    x[0] = -math.inf
    x[1, 2] = math.nan
    x[2, 3] = math.inf
    x[3, 1] = -math.inf
    check(lambda t: functional.softmax(t, -1), x, gradients=False)


@pytest.mark.parametrize(("shape", "dimensions"), [
    ((4, 10), 1), ((2, 3, 64), 1), ((10, 20, 768), 1), ((2, 5, 6, 7), 2), ((3, 5000), 1),
    ((2, 40000), 1),
])  # fmt: skip
def test_layer_norm_with_and_without_weights(shape, dimensions):
    row = shape[-dimensions:]
    x, weight, bias = torch.randn(shape), torch.randn(row), torch.randn(row)
    check(lambda t, w, b: functional.layer_norm(t, row, w, b), x, weight, bias, tolerance=5e-5)
    check(lambda t: functional.layer_norm(t, row), x, tolerance=5e-5)
    check(lambda t, w: functional.rms_norm(t, row, w), x, weight, tolerance=5e-5)


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 5, 5), 3), ((4, 32, 14, 14), 8),
                                               ((2, 4), 2)])  # fmt: skip
def test_group_norm(shape, groups):
    x, weight, bias = torch.randn(shape), torch.randn(shape[1]), torch.randn(shape[1])
    check(lambda t, w, b: functional.group_norm(t, groups, w, b), x, weight, bias, tolerance=5e-5)


@pytest.mark.parametrize("shape", [(8, 5), (4, 3, 7), (3, 16, 9, 9)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_and_its_running_statistics(shape, training):
    x, weight, bias = torch.randn(shape), torch.randn(shape[1]), torch.randn(shape[1])

    def normalise(t, w, b):
        mean = torch.zeros(shape[1], device=t.device, dtype=t.dtype)
        variance = torch.ones(shape[1], device=t.device, dtype=t.dtype)
        y = functional.batch_norm(t, mean, variance, w, b, training=training)
        return torch.cat([y.reshape(-1), mean, variance])

    check(normalise, x, weight, bias, tolerance=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_gradient_of_a_batch_norm_that_updates_its_statistics(dtype):
    x, weight, bias = torch.randn(6, 5, 7), torch.randn(5), torch.randn(5)
    seed = torch.randn(6, 5, 7)

    def gradients(device, kind):
        leaves = [t.to(dtype).to(kind).to(device).requires_grad_() for t in (x, weight, bias)]
        mean, variance = torch.zeros(5, device=device), torch.ones(5, device=device)
        statistics = mean.to(kind), variance.to(kind)
        y = torch.ops.aten._batch_norm_with_update(*leaves, *statistics, 0.1, 1e-5)[0]
        return torch.autograd.grad(y, leaves, seed.to(dtype).to(kind).to(device))

    tolerance = 1e-4 if dtype == torch.float32 else 3e-2
    for ours, exact in zip(gradients(DEVICE, dtype), gradients("cpu", torch.float64), strict=True):
        assert ours.dtype == dtype
        torch.testing.assert_close(ours.cpu().double(), exact, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_product_of_all_elements_may_have_a_wider_dtype(dtype):
    x = (torch.rand(3, 70) + 0.5).to(dtype)
    found = x.to(f"{DEVICE_TYPE}:1").prod(dtype=torch.float32)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.cpu().double(), x.double().prod(), rtol=1e-5, atol=0)
    with pytest.raises(NotImplementedError, match="rounded to the dtype of the product"):
        x.float().to(f"{DEVICE_TYPE}:1").prod(dtype=dtype)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8, torch.bool]
)
def test_elements_that_are_not_zero_are_counted(dtype):
    x = (torch.randint(3, (5, 300, 7)) - 1).abs().to(dtype)
    for dimensions in ((), (0,), (1, -1), (0, 1, 2)):
        check(lambda t, d=dimensions: torch.count_nonzero(t, d), x, gradients=False)
    check(torch.count_nonzero, x.transpose(0, 1), gradients=False)
    check(torch.count_nonzero, x[:, :0], gradients=False)


def test_nan_and_negative_zero_are_counted_as_torch_does():
    x = torch.tensor([math.nan, -0.0, 0.0, math.inf, -1.0])
    assert torch.count_nonzero(x.to(DEVICE)).item() == 3
    with pytest.raises(IndexError):
        torch.count_nonzero(x.to(DEVICE), 1)
