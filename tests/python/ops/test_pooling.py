"""Max, average and adaptive pooling on the device, values, indices and gradients."""

import pytest
import torch
import torch.nn.functional as functional
from dense_oracle import all_floats, assert_same, check, on_device, random

MAXIMA = {
    "2x2": ((2, 5, 8, 9), {"kernel_size": 2}),
    "overlapping": ((2, 3, 11, 13), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "dilated": ((1, 4, 12, 9), {"kernel_size": (3, 2), "stride": 1, "dilation": (2, 3)}),
    "ceil": ((2, 3, 8, 10), {"kernel_size": 3, "stride": 2, "padding": (1, 0), "ceil_mode": True}),
    "gaps": ((2, 3, 9, 9), {"kernel_size": 2, "stride": 4}),
    "many planes": ((3, 130, 4, 4), {"kernel_size": 2}),
    "no batch": ((3, 6, 6), {"kernel_size": 3}),
    "one pixel": ((1, 1, 1, 1), {"kernel_size": 1}),
}  # fmt: skip

AVERAGES = {
    "2x2": ((2, 5, 8, 9), {"kernel_size": 2}),
    "padded": ((2, 3, 11, 13), {"kernel_size": 3, "stride": 2, "padding": 1}),
    "padding not counted": ((2, 3, 8, 10), {"kernel_size": 3, "stride": 2, "padding": 1,
            "ceil_mode": True, "count_include_pad": False}),
    "divisor": ((2, 3, 8, 10), {"kernel_size": (3, 2), "stride": 1, "divisor_override": 5}),
    "many planes": ((3, 130, 4, 4), {"kernel_size": 2}),
    "no batch": ((3, 6, 6), {"kernel_size": 3}),
}  # fmt: skip


@all_floats
@pytest.mark.parametrize("name", MAXIMA)
def test_max_pooling_and_its_gradient_are_those_of_the_cpu(name, dtype):
    sizes, options = MAXIMA[name]
    check(lambda x: functional.max_pool2d(x, **options), random(*sizes), dtype=dtype)


@pytest.mark.parametrize("name", MAXIMA)
def test_max_pooling_finds_the_first_maximum(name):
    sizes, options = MAXIMA[name]
    x = random(*sizes).mul(2).round()  # many ties
    options = {**options, "return_indices": True}
    expected, places = functional.max_pool2d(x, **options)
    with torch.neuron_sim.strict():
        actual, indices = functional.max_pool2d(on_device(x), **options)
    assert torch.equal(actual.cpu(), expected)
    assert indices.dtype == torch.int64 and torch.equal(indices.cpu(), places)


def test_the_last_nan_and_the_first_of_equal_infinities_win():
    x = random(2, 3, 7, 8)
    x[0, 0, 2, 2:4] = float("nan")
    x[0, 1, :, :] = -float("inf")
    x[1, 2, 3, 3] = float("inf")
    expected, places = functional.max_pool2d(x, 3, 2, 1, return_indices=True)
    with torch.neuron_sim.strict():
        actual, indices = functional.max_pool2d(on_device(x), 3, 2, 1, return_indices=True)
    assert_same(actual, expected, torch.float32)
    assert torch.equal(indices.cpu(), places)


def test_planes_beyond_sbuf_are_pooled_in_bands():
    check(lambda x: functional.max_pool2d(x, 3, 2, 1), random(1, 2, 301, 259))
    check(lambda x: functional.avg_pool2d(x, 3, 2, 1), random(1, 2, 301, 259))


@all_floats
@pytest.mark.parametrize("name", AVERAGES)
def test_average_pooling_and_its_gradient_are_those_of_float64(name, dtype):
    sizes, options = AVERAGES[name]
    check(lambda x: functional.avg_pool2d(x, **options), random(*sizes), dtype=dtype)


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (7, 7), (12, 9)])
def test_adaptive_pooling_divides_any_plane(size):
    x = random(2, 5, 9, 10)
    check(lambda x: functional.adaptive_avg_pool2d(x, size), x)
    check(lambda x: functional.adaptive_max_pool2d(x, size), x)
    expected, places = functional.adaptive_max_pool2d(x, size, return_indices=True)
    with torch.neuron_sim.strict():
        _, indices = functional.adaptive_max_pool2d(on_device(x), size, return_indices=True)
    assert torch.equal(indices.cpu(), places)


def test_rows_are_pooled_as_planes_of_height_one():
    x = random(2, 5, 37)
    check(lambda x: functional.max_pool1d(x, 3, 2, 1), x)
    check(lambda x: functional.avg_pool1d(x, 4, 3), x)
    check(lambda x: functional.adaptive_avg_pool1d(x, 5), x)
    check(lambda x: functional.adaptive_max_pool1d(x, 5), x)


def test_channels_last_planes_are_pooled_where_they_lie():
    x = random(2, 5, 8, 9).contiguous(memory_format=torch.channels_last)
    check(lambda x: functional.max_pool2d(x, 2), x)
    check(lambda x: functional.avg_pool2d(x, 2), x)
