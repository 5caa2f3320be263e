"""Unfold and fold, of images and of a dimension."""

import pytest
import torch
from against_cpu import check
from device_type import DEVICE_TYPE
from torch.nn import functional

WINDOWS = [
    {"kernel_size": 3},
    {"kernel_size": (2, 3), "stride": (2, 1), "padding": (1, 0)},
    {"kernel_size": 2, "dilation": (3, 2), "padding": 2, "stride": 2},
]


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_windows_as_columns_and_back(windows):
    x = torch.randn(2, 3, 9, 7)
    columns = check(lambda t: functional.unfold(t, **windows), x).detach().cpu()
    check(lambda t: functional.fold(t, (9, 7), **windows), columns)
    check(lambda t: functional.unfold(t.transpose(2, 3), **windows), x.transpose(2, 3))
    check(lambda t: functional.fold(t, (9, 7), **windows), columns[0])


def test_columns_of_a_wrong_size_are_an_error():
    with pytest.raises(RuntimeError, match="multiple of 4"):
        functional.fold(torch.ones(1, 5, 4, device=DEVICE_TYPE), (3, 3), 2)
    with pytest.raises(RuntimeError, match="too small"):
        functional.unfold(torch.ones(1, 5, 2, 2, device=DEVICE_TYPE), 3)


def test_windows_of_a_dimension_have_gradients():
    check(lambda t: t.unfold(1, 3, 2), torch.randn(2, 9, 4))
    check(lambda t: t.unfold(-1, 4, 1), torch.randn(2, 7))
