"""Running extrema, medians, places in sorted sequences."""

import pytest
import torch
from against_cpu import check


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


def test_windows_of_a_dimension_have_gradients():
    check(lambda t: t.unfold(1, 3, 2), torch.randn(2, 9, 4))
    check(lambda t: t.unfold(-1, 4, 1), torch.randn(2, 7))
