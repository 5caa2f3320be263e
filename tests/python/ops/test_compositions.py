"""Sorting, padding and further operators that are made of others."""

import math

import pytest
import torch
from against_cpu import DEVICE, check
from torch.nn import functional


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("shape", [(1,), (7,), (5, 40), (3, 4, 9), (2, 500)])
def test_sorting_is_stable_along_every_dimension(shape, descending):
    x = torch.randint(0, 9, shape).float()
    if x.numel() > 1:
        x.view(-1)[1] = math.nan
    for dimension in range(len(shape)):
        ours = torch.sort(x.to(DEVICE), dim=dimension, descending=descending, stable=True)
        theirs = torch.sort(x, dim=dimension, descending=descending, stable=True)
        torch.testing.assert_close(ours.values.cpu(), theirs.values, equal_nan=True)
        assert torch.equal(ours.indices.cpu(), theirs.indices)


def test_sorted_values_have_gradients():
    check(lambda t: torch.sort(t, dim=0).values, torch.randn(9, 5))
    check(lambda t: torch.topk(t, 3, dim=1, largest=False).values, torch.randn(4, 9))


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(("shape", "k"), [((128_000,), 50), ((3, 2, 5000), 64), ((8400,), 300)])
def test_the_first_elements_of_long_rows_are_those_of_stable_sorting(shape, k, largest):
    x = torch.randint(0, 999, shape).float()
    x[..., 7], x[..., 9] = math.nan, math.inf
    values, indices = torch.sort(x, descending=largest, stable=True)
    ours = x.to(DEVICE).topk(k, largest=largest)
    torch.testing.assert_close(ours.values.cpu(), values[..., :k], equal_nan=True)
    assert torch.equal(ours.indices.cpu(), indices[..., :k])


@pytest.mark.parametrize("shape", [(7,), (5, 40), (2, 3, 9), (3, 2500)])
def test_medians_and_the_elements_before_and_after_them(shape):
    x = torch.randperm(math.prod(shape)).view(shape).float()  # unlike each other
    for dimension in range(len(shape)):
        for k in (1, 2, shape[dimension]):
            check(lambda t, k=k, d=dimension: t.kthvalue(k, d).values, x)
            ours = x.to(DEVICE).kthvalue(k, dimension, keepdim=True)
            assert torch.equal(ours.indices.cpu(), x.kthvalue(k, dimension, keepdim=True).indices)
        check(lambda t, d=dimension: t.median(d).values, x)
    check(torch.median, x)
    whole = x[..., :6].clamp(max=100).to(torch.int16)
    assert torch.equal(whole.to(DEVICE).median(0).values.cpu(), whole.median(0).values)


def test_the_median_of_a_row_with_nan_is_its_first_nan():
    x = torch.randn(3, 9)
    x[1, 4] = x[1, 7] = math.nan
    ours, theirs = x.to(DEVICE).median(1), x.median(1)
    torch.testing.assert_close(ours.values.cpu(), theirs.values, equal_nan=True)
    assert torch.equal(ours.indices.cpu(), theirs.indices)
    assert x.to(DEVICE).median().isnan()


@pytest.mark.parametrize("descending", [False, True])
def test_int32_is_sorted_exactly(descending):
    x = torch.randint(-(2**31), 2**31, (3, 300), dtype=torch.int32)
    x[:, 100:200] = x[:, :100] + 1  # neighbours that fp32 does not tell apart
    ours = x.to(DEVICE).sort(dim=1, descending=descending, stable=True)
    theirs = x.sort(dim=1, descending=descending, stable=True)
    assert torch.equal(ours.values.cpu(), theirs.values)
    assert torch.equal(ours.indices.cpu(), theirs.indices)
    assert torch.equal(x.to(DEVICE).topk(3).values.cpu(), x.topk(3).values)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.int8])
@pytest.mark.parametrize("size", [(1,), (9, 40), (3000,)])
def test_the_different_elements_their_places_and_numbers(size, dtype):
    x = torch.randint(-9, 9, size).to(dtype)
    for function in (torch.unique, torch.unique_consecutive):
        ours = function(x.to(DEVICE), return_inverse=True, return_counts=True)
        theirs = function(x, return_inverse=True, return_counts=True)
        for one, other in zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype
            assert torch.equal(one.cpu(), other)


@pytest.mark.parametrize("dimension", [0, 1, -1])
def test_the_different_rows_along_a_dimension(dimension):
    x = torch.randint(0, 3, (30, 30, 2)).float()
    for function in (torch.unique, torch.unique_consecutive):
        options = {"return_inverse": True, "return_counts": True, "dim": dimension}
        ours, theirs = function(x.to(DEVICE), **options), function(x, **options)
        for one, other in zip(ours, theirs, strict=True):
            assert torch.equal(one.cpu(), other)


def test_nan_and_zeros_of_both_signs_are_as_different_as_on_the_cpu():
    x = torch.tensor([math.nan, 0.0, -0.0, math.inf, math.nan, -math.inf, 0.0])
    ours, counts = x.to(DEVICE).unique(return_counts=True)
    expected, numbers = x.unique(return_counts=True)
    torch.testing.assert_close(ours.cpu(), expected, equal_nan=True)
    assert torch.equal(counts.cpu(), numbers)


@pytest.mark.parametrize("shape", [(1,), (7,), (5, 40), (2, 3, 9), (3, 2500)])
def test_the_most_frequent_elements_of_rows_are_the_smallest_of_them(shape):
    x = torch.randint(0, 5, shape).float()
    for dimension in range(len(shape)):
        check(lambda t, d=dimension: t.mode(d).values, x, gradients=False)
        ours = x.to(DEVICE).mode(dimension, keepdim=True)
        assert torch.equal(x.gather(dimension, ours.indices.cpu()), ours.values.cpu())
        whole = x.to(torch.int32)
        assert torch.equal(whole.to(DEVICE).mode(dimension).values.cpu(), whole.mode(dimension)[0])


@pytest.mark.parametrize("function", [torch.cummax, torch.cummin])
@pytest.mark.parametrize("shape", [(1,), (5, 40), (3, 2, 9), (2, 5000)])
def test_running_extrema_and_their_last_places(function, shape):
    x = torch.randint(0, 9, shape).float()
    for dimension in range(len(shape)):
        check(lambda t, d=dimension: function(t, d).values, x)
        if x.numel() > 9:
            x.view(-1)[4] = x.view(-1)[6] = math.nan
        ours, theirs = function(x.to(DEVICE), dimension), function(x, dimension)
        torch.testing.assert_close(ours.values.cpu(), theirs.values, equal_nan=True)
        assert torch.equal(ours.indices.cpu(), theirs.indices)
        x = x.nan_to_num(3.0)
    whole = x.to(torch.int16)
    assert torch.equal(function(whole.to(DEVICE), 0).values.cpu(), function(whole, 0).values)


def test_running_sums_of_exponentials_stay_in_range():
    x = torch.randn(4, 3000)
    check(lambda t: t.logcumsumexp(0), x)
    check(lambda t: t.logcumsumexp(1), x[:, :200])
    check(lambda t: t.logcumsumexp(1), x * 300, gradients=False)
    inf = math.inf
    x = torch.tensor([[-inf, 1, -inf, inf, 2, -inf], [-inf, -inf, 3, math.nan, 1, inf]])
    check(lambda t: t.logcumsumexp(1), x, gradients=False)


def test_more_elements_than_a_row_has_are_refused():
    with pytest.raises(RuntimeError, match="out of range"):
        torch.topk(torch.randn(3, 4).to(DEVICE), 5)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_edges_are_mirrored_and_repeated(mode):
    check(lambda t: functional.pad(t, (1, 2), mode), torch.randn(2, 3, 6))
    check(lambda t: functional.pad(t, (1, 2, 0, 3), mode), torch.randn(2, 3, 6, 5))
    check(lambda t: functional.pad(t, (1, 2, 0, 3, 1, 0), mode), torch.randn(2, 3, 4, 6, 5))
    # Large ones row by row: an edge of 4 by copies, one of 5 by a selection.
    check(lambda t: functional.pad(t, (4, 0, 5, 1), mode), torch.randn(8, 4, 40, 30))
    check(lambda t: functional.pad(t, (4, 0, 5, 1), mode), torch.randn(8, 4, 30, 40).mT)


def test_a_mirror_as_long_as_the_row_is_refused():
    with pytest.raises(RuntimeError, match="Padding size should be less"):
        functional.pad(torch.randn(1, 2, 3).to(DEVICE), (3, 0), "reflect")


def test_halves_gate_each_other():
    check(lambda t: functional.glu(t, 1), torch.randn(3, 8, 5))


def test_sums_and_extremes_of_numbers_that_may_be_nan():
    x = torch.randn(6, 7)
    x[2, 3] = math.nan
    check(lambda t: t.nansum(1), x, gradients=False)
    check(lambda t: torch.stack(torch.aminmax(t, dim=0)), torch.randn(6, 7), gradients=False)


def test_membership_equality_and_flat_indices():
    x = torch.randint(0, 9, (4, 5)).float()
    check(lambda t: torch.isin(t, torch.tensor([1.0, 4.0], device=t.device)), x, gradients=False)
    check(lambda t, i: torch.take(t, i), x, torch.tensor([[0, 19], [-1, 3]]), gradients=False)
    assert torch.equal(x.to(DEVICE), x.to(DEVICE).clone())
    assert not torch.equal(x.to(DEVICE), x.to(DEVICE) + 1)


def test_numbers_are_assigned_through_a_mask():
    def assign(t):
        result = t.clone()
        result[t > 0] = 2.5
        return result

    check(assign, torch.randn(6, 7), gradients=False)


def test_the_angle_of_a_real_number_is_zero_or_pi():
    check(torch.angle, torch.tensor([-1.0, -0.0, 0.0, 2.0, math.nan]), gradients=False)


@pytest.mark.parametrize("target", [torch.int8, torch.int16, torch.uint8])
def test_strided_int32_is_narrowed_modulo_its_range(target):
    x = torch.randint(-70000, 70000, (5, 24), dtype=torch.int32)
    check(lambda t: t.to(target), x)
    check(lambda t: t[:, ::3].to(target), x)
    check(lambda t: t.t().to(target), x)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int32, torch.float32])
def test_infinities_are_looked_for_in_every_dtype(dtype):
    x = torch.tensor([1, -2, 3]).to(dtype)
    for function in (torch.isneginf, torch.isposinf, torch.isnan, torch.isfinite):
        check(function, x, gradients=False)


def test_a_window_of_a_tensor_without_dimensions_has_a_gradient():
    for size in (0, 1):
        check(lambda t, n=size: t.unfold(0, n, 1).sum(), torch.tensor(0.25))


def composed_losses(x, y):
    """The losses of one launch, an operator after the other: they have the same bytes."""
    distance = (x - y).abs()
    smooth = torch.where(distance < 0.5, distance * distance, distance - 0.25)
    hit, miss = x.log().clamp_min(-100), (1 - x).log().clamp_min(-100)
    return {
        "smooth": (functional.smooth_l1_loss(x, y, reduction="none", beta=0.5), smooth),
        "plain": (functional.smooth_l1_loss(x, y, reduction="none", beta=0.0), distance),
        "huber": (functional.huber_loss(x, y, reduction="none", delta=0.5), smooth * 0.5),
        "entropy": (
            functional.binary_cross_entropy(x, y, reduction="none"),
            (y - 1) * miss - y * hit,
        ),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_losses_in_one_launch_have_the_bytes_of_their_operators(dtype):
    x, y = torch.rand(5, 7, 6).to(DEVICE, dtype), torch.rand(5, 7, 6).to(DEVICE, dtype)
    x[0, 0, :2] = torch.tensor([0.0, 1.0])
    for left, right in ((x, y), (x.transpose(0, 2), y.transpose(0, 2)), (x[:0], y[:0])):
        for name, (loss, expected) in composed_losses(left, right).items():
            assert torch.equal(loss.cpu(), expected.cpu()), name


def test_running_statistics_have_the_bytes_of_their_operators():
    x = torch.randn(6, 3, 5).to(DEVICE)
    for dtype in (torch.float32, torch.bfloat16):
        mean, variance = torch.randn(3).to(DEVICE, dtype), torch.rand(3).to(DEVICE, dtype)
        expected = [
            (mean * (1 - 0.3)).add(x.mean((0, 2)), alpha=0.3).to(dtype),
            (variance * (1 - 0.3)).add(x.var((0, 2)), alpha=0.3).to(dtype),
        ]
        functional.batch_norm(x, mean, variance, training=True, momentum=0.3)
        for statistic, value in zip((mean, variance), expected, strict=True):
            torch.testing.assert_close(statistic.cpu(), value.cpu())
