"""Unfold and fold; pooling and interpolation of volumes."""

import pytest
import torch
from against_cpu import check
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
        functional.fold(torch.ones(1, 5, 4, device="neuron_sim"), (3, 3), 2)
    with pytest.raises(RuntimeError, match="too small"):
        functional.unfold(torch.ones(1, 5, 2, 2, device="neuron_sim"), 3)


def test_channels_are_shuffled():
    check(lambda t: functional.channel_shuffle(t, 3), torch.randn(2, 6, 3, 5))


POOLS = [
    {"kernel_size": 2},
    {"kernel_size": 3, "stride": 2, "padding": 1},
    {"kernel_size": (1, 3, 2), "stride": (2, 1, 3), "padding": (0, 1, 1), "ceil_mode": True},
]


@pytest.mark.parametrize("pool", POOLS, ids=str)
def test_pooled_volumes(pool):
    x = torch.randn(2, 3, 5, 6, 7)
    check(lambda t: functional.max_pool3d(t, **pool), x)
    for counted in (True, False):
        check(lambda t, c=counted: functional.avg_pool3d(t, count_include_pad=c, **pool), x)
    check(lambda t: functional.avg_pool3d(t, divisor_override=5, **pool), x[0])
    check(lambda t: functional.max_pool3d(t, **pool), x.transpose(2, 4))


def test_places_of_maxima_are_those_of_the_volume():
    x = torch.randint(0, 4, (1, 2, 4, 5, 6)).float()  # the first of equal ones
    check(lambda t: functional.max_pool3d(t, 2, return_indices=True)[1], x, gradients=False)
    check(lambda t: functional.max_pool3d(t, 2, 1, 1, 2, return_indices=True)[1], x,
          gradients=False)  # fmt: skip
    check(lambda t: functional.adaptive_max_pool3d(t, (3, 2, 4), return_indices=True)[1], x,
          gradients=False)  # fmt: skip


def test_nan_wins_in_volumes():
    x = torch.randn(1, 1, 4, 4, 4)
    x[0, 0, 1, 2, 3] = float("nan")
    check(lambda t: functional.max_pool3d(t, 2), x, gradients=False)
    check(lambda t: functional.avg_pool3d(t, 2), x, gradients=False)


@pytest.mark.parametrize("size", [1, (2, 3, 4), (5, 1, 7), (7, 9, 8)])
def test_adaptive_pools_of_volumes(size):
    x = torch.randn(2, 3, 5, 6, 7)
    check(lambda t: functional.adaptive_avg_pool3d(t, size), x)
    check(lambda t: functional.adaptive_max_pool3d(t, size), x)
    check(lambda t: functional.adaptive_avg_pool3d(t, size), x[0])


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "trilinear"])
def test_resized_volumes(mode):
    x = torch.randn(2, 3, 4, 5, 3)
    for size in ((8, 10, 6), (3, 7, 5), (4, 5, 3), (1, 1, 1)):
        check(lambda t, s=size: functional.interpolate(t, size=s, mode=mode), x)
    check(lambda t: functional.interpolate(t, scale_factor=(2, 1.5, 0.7), mode=mode), x)
    if mode == "trilinear":
        check(lambda t: functional.interpolate(t, (7, 9, 2), mode=mode, align_corners=True), x)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_volumes_of_reduced_precision_are_rounded_once(dtype):
    x = torch.randn(1, 2, 4, 6, 4).to(dtype)
    for function in (
        lambda t: functional.avg_pool3d(t, 2),
        lambda t: functional.interpolate(t, (5, 7, 9), mode="trilinear"),
        lambda t: functional.adaptive_avg_pool3d(t, 3),
    ):
        found = function(x.to("neuron_sim"))
        assert found.dtype == dtype
        exact = function(x.double())
        step = torch.finfo(dtype).eps
        assert ((found.cpu().double() - exact).abs() <= step * exact.abs() + 1e-6).all()
