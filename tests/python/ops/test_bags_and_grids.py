"""Bags of embeddings, samples of grids, running extrema, places in sorted sequences."""

import pytest
import torch
from against_cpu import DEVICE, check
from torch.nn import functional

INDICES = torch.tensor([3, 1, 1, 7, 0, 3, 3, 8, 2])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("padding", [None, 3])
def test_bags(mode, padding):
    for offsets in ([0, 2, 2, 6], [0, 9, 9], [0]):

        def bag(weight, indices, o=offsets, **more):
            there = torch.tensor(o, device=weight.device)
            return functional.embedding_bag(
                indices, weight, there, mode=mode, padding_idx=padding, **more
            )

        check(bag, torch.randn(9, 5), INDICES)
        if offsets[-1] == 9:
            check(lambda w, i, f=bag: f(w, i, include_last_offset=True), torch.randn(9, 5), INDICES)
    check(
        lambda w, i: functional.embedding_bag(i, w, mode=mode),
        torch.randn(9, 3),
        INDICES.view(3, 3),
    )


def test_bags_of_weighted_samples():
    check(
        lambda w, s, i: functional.embedding_bag(i, w, mode="sum", per_sample_weights=s),
        torch.randn(9, 4), torch.randn(3, 3), INDICES.view(3, 3),
    )  # fmt: skip


@pytest.mark.parametrize("aligned", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest"])
def test_samples_of_a_grid(mode, padding, aligned):
    def sampled(x, grid):
        return functional.grid_sample(x, grid, mode, padding, aligned)

    check(sampled, torch.randn(2, 3, 5, 7), torch.rand(2, 4, 6, 2) * 3 - 1.5, tolerance=2e-5)
    check(sampled, torch.randn(1, 2, 4, 3, 5), torch.rand(1, 2, 3, 4, 3) * 3 - 1.5, tolerance=2e-5)
    check(lambda x, g: sampled(x.transpose(2, 3), g), torch.randn(1, 1, 4, 9),
          torch.rand(1, 1, 5, 2) * 2 - 1, tolerance=2e-5)  # fmt: skip


def test_cubic_samples_are_refused():
    with pytest.raises(NotImplementedError, match="cubic samples of a grid"):
        x, grid = torch.ones(1, 1, 4, 4, device=DEVICE), torch.zeros(1, 2, 2, 2, device=DEVICE)
        functional.grid_sample(x, grid, "bicubic", align_corners=False)


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_running_extrema(name):
    x = torch.randint(0, 5, (3, 9, 4)).float()
    for dimension in (0, 1, 2):
        check(lambda t, d=dimension: getattr(t, name)(d)[0], x)
        check(lambda t, d=dimension: getattr(t, name)(d)[1], x, gradients=False)
    x[1, 3] = float("nan")
    check(lambda t: getattr(t, name)(1)[0], x, gradients=False)


def test_running_logarithms_of_sums():
    check(lambda t: t.logcumsumexp(1), torch.randn(3, 13, 2) * 30)
    check(lambda t: t.logcumsumexp(-1), torch.tensor([[float("-inf"), 1.0, 900.0, -900.0]]))


def test_medians():
    x = torch.randn(4, 7, 6)
    check(lambda t: t.median(1)[0], x)
    check(lambda t: t.median(2, keepdim=True)[0], x)
    check(lambda t: t.median(), x)
    x[1, 2, 3] = float("nan")
    check(lambda t: t.median(1)[0], x, gradients=False)
    check(lambda t: t[1, :, 3].median(0)[1], x, gradients=False)


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int16])
def test_places_in_sorted_sequences(dtype, right):
    edges = torch.tensor([-3, -1, -1, 0, 4, 4, 9]).to(dtype)
    x = torch.randint(-5, 12, (5, 8)).to(dtype)
    check(lambda e, t: torch.bucketize(t, e, right=right), edges, x, gradients=False)
    check(lambda e, t: torch.searchsorted(e, t, right=right, out_int32=True), edges, x,
          gradients=False)  # fmt: skip
    check(lambda e, t: torch.searchsorted(e.expand(5, 7).contiguous(), t, right=right), edges, x,
          gradients=False)  # fmt: skip
    order = torch.randperm(7)
    sorter = order.argsort()
    check(lambda e, t, s: torch.searchsorted(e, t, right=right, sorter=s), edges[order], x, sorter,
          gradients=False)  # fmt: skip


def test_nan_is_after_every_edge():
    x = torch.tensor([float("nan"), float("inf"), float("-inf")])
    check(lambda t: torch.bucketize(t, torch.arange(3.0).to(t)), x, gradients=False)


def test_windows_of_a_dimension_have_gradients():
    check(lambda t: t.unfold(1, 3, 2), torch.randn(2, 9, 4))
    check(lambda t: t.unfold(-1, 4, 1), torch.randn(2, 7))
