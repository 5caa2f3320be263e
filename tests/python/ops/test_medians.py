"""Medians, and windows of a dimension."""

import torch
from against_cpu import check


def test_medians():
    x = torch.randn(4, 7, 6)
    check(lambda t: t.median(1)[0], x)
    check(lambda t: t.median(2, keepdim=True)[0], x)
    check(lambda t: t.median(), x)
    x[1, 2, 3] = float("nan")
    check(lambda t: t.median(1)[0], x, gradients=False)
    check(lambda t: t[1, :, 3].median(0)[1], x, gradients=False)


def test_windows_of_a_dimension_have_gradients():
    check(lambda t: t.unfold(1, 3, 2), torch.randn(2, 9, 4))
    check(lambda t: t.unfold(-1, 4, 1), torch.randn(2, 7))
