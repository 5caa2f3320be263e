"""Sums of long rows are as accurate as torch's, though Vector adds one element after the other."""

import pytest
import torch
from against_cpu import DEVICE
from torch.nn import functional

TOLERANCE = 1.4e-6
"""Of the sum of magnitudes: what rows of 2048 may lose (ops/blocks/block_sums.h)."""

SIZES = [1, 2, 63, 64, 65, 127, 500, 613, 768, 1024, 2047, 2048, 2049, 3874, 4096, 7919, 16385]

ROWS = {
    "equal": lambda rows, n: torch.full((rows, n), 0.1) * (1 + torch.arange(rows)[:, None] / 7),
    "alternating": lambda rows, n: (torch.rand(rows, n) + 1000) * (-1) ** torch.arange(n),
    "sorted": lambda rows, n: torch.rand(rows, n).sort(dim=1).values,
    "huge and small": lambda rows, n: torch.rand(rows, n) * 10.0 ** (torch.arange(n) % 3 * 4),
    "random": lambda rows, n: torch.randn(rows, n),
}  # fmt: skip


def excess(actual, x, dim):
    """The largest error against float64, in units of what is allowed."""
    exact, magnitude = x.double().sum(dim), x.double().abs().sum(dim)
    return ((actual.cpu().double() - exact).abs() / (TOLERANCE * magnitude)).max().item()


@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("rows", [3, 130])
def test_sums_of_rows_of_any_length(kind, rows):
    torch.manual_seed(1)
    for size in SIZES:
        x = ROWS[kind](rows, size)
        assert excess(x.to(DEVICE).sum(1), x, 1) <= 1, size
        assert excess(x.to(DEVICE).mean(1) * size, x, 1) <= 1.1, size  # the mean rounds too
        if size < 8192:  # beyond, tiles of 128 are added to each other one by one
            assert excess(x.T.contiguous().to(DEVICE).sum(0), x, 1) <= 1, size


def test_sums_of_several_dimensions():
    for shape in ((70, 3, 65), (4, 9, 11, 13), (2, 130, 130)):
        x = torch.full(shape, 0.3)
        dimensions = tuple(range(1, len(shape)))
        assert excess(x.to(DEVICE).sum(dimensions), x, dimensions) <= 1
        assert excess(x.to(DEVICE).sum(), x, tuple(range(len(shape)))) <= 1


@pytest.mark.parametrize("columns", [65, 128, 768, 1000, 4096])
def test_norms_of_rows_far_from_zero(columns):
    offset = 100.1
    x = offset + torch.randn(40, columns)
    exact = functional.layer_norm(x.double(), (columns,))
    error = (functional.layer_norm(x.to(DEVICE), (columns,)).cpu() - exact).abs().max()
    assert error <= 5 * offset * TOLERANCE  # of the mean and, more, of the deviation


@pytest.mark.parametrize("columns", [65, 613, 2048, 5000])
def test_gradients_of_softmax_of_equal_logits(columns):
    x = torch.full((5, columns), 0.7, requires_grad=True)
    weight = torch.rand(5, columns)
    exact = torch.autograd.grad((x.double().softmax(1) * weight).sum(), x)[0]
    there = x.detach().to(DEVICE).requires_grad_()
    (there.softmax(1) * weight.to(DEVICE)).sum().backward()
    assert (there.grad.cpu() - exact).abs().max() <= 5 * TOLERANCE / columns
