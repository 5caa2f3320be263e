"""Convolutions in compiled graphs: what follows them is applied to their sums."""

import math

import pytest
import torch
from compile_support import (
    assert_same,
    compiled,
    fresh_compiler,  # noqa: F401
    on_device,
    only_graph,
)
from device_type import DEVICE_TYPE
from torch import nn
from torch.nn import functional as F


def network(*layers, device=DEVICE_TYPE):
    """The layers with random statistics, in eval mode."""
    torch.manual_seed(0)
    module = nn.Sequential(*layers)
    for layer in module.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.normal_(0, 0.3)
            layer.running_var.uniform_(0.5, 2)
            nn.init.normal_(layer.weight, 1, 0.2)
            nn.init.normal_(layer.bias, 0, 0.2)
    return module.to(device).eval()


def assert_near(found, expected):
    """Equal but for roundings of fp32 in another order."""
    torch.testing.assert_close(found.cpu(), expected.cpu(), rtol=2e-6, atol=2e-6)


@torch.no_grad()
@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
@pytest.mark.parametrize("filters", [1, 33, 150])
def test_normalisation_and_relu_are_part_of_the_convolution(filters, device):
    layers = nn.Conv2d(5, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU()
    module = network(*layers, device=device)
    images = on_device(2, 5, 9, 7, device=device)
    found = compiled(module)(images)
    assert only_graph().kernels_after_fusion == 1
    assert_near(found, module(images))


@torch.no_grad()
@pytest.mark.parametrize("stride", [1, 2])
def test_a_residual_is_added_to_the_sums(stride):
    first = network(nn.Conv2d(4, 20, 3, stride, 1), nn.BatchNorm2d(20))
    short = network(nn.Conv2d(4, 20, 1, stride, bias=False), nn.BatchNorm2d(20))

    def block(images):
        return torch.relu(first(images) + short(images)) * 2

    images = on_device(3, 4, 11, 13)
    found = compiled(block)(images)
    assert only_graph().kernels_after_fusion == 2
    assert_near(found, block(images))


@torch.no_grad()
@pytest.mark.parametrize("function", [F.silu, F.hardswish, F.relu6, F.gelu, torch.tanh])
def test_other_functions_follow_a_convolution(function):
    module = network(nn.Conv2d(3, 8, 3))
    images = on_device(1, 3, 6, 6)
    found = compiled(lambda x: function(module(x)))(images)
    assert only_graph().kernels_after_fusion == 1
    assert_near(found, function(module(images)))


@torch.no_grad()
def test_sums_that_somebody_else_reads_are_stored():
    module = network(nn.Conv2d(3, 8, 3))

    def both(images):
        sums = module(images)
        return sums, torch.relu(sums)

    images = on_device(1, 3, 6, 6)
    found = compiled(both)(images)
    assert only_graph().kernels_after_fusion == 2
    assert_same(found[0], both(images)[0])
    assert_same(found[1], both(images)[1])


@torch.no_grad()
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_one_channel_of_unusual_statistics_leaves_the_others_alone(value):
    module = network(nn.Conv2d(2, 40, 1), nn.BatchNorm2d(40))
    module[1].bias[37] = value
    images = on_device(1, 2, 3, 3)
    found = compiled(module)(images).cpu()
    expected = module(images).cpu()
    torch.testing.assert_close(found, expected, rtol=2e-6, atol=2e-6, equal_nan=True)
    assert found.isfinite().sum() == 39 * 9


@torch.no_grad()
@pytest.mark.parametrize(
    ("channels", "filters", "groups"),
    [(16, 16, 16), (24, 48, 4), (144, 144, 144), (160, 160, 2), (131, 131, 131), (6, 4, 2)],
)
def test_constant_weights_of_groups_are_spread_before_the_runs(channels, filters, groups):
    module = network(nn.Conv2d(channels, filters, 3, padding=1, groups=groups))
    images = on_device(2, channels, 5, 6)
    assert_near(compiled(module)(images), module(images))


@torch.no_grad()
def test_new_weights_of_groups_are_spread_anew():
    module = network(nn.Conv2d(16, 16, 3, groups=16))
    images = on_device(1, 16, 5, 5)
    function = compiled(module)
    function(images)
    module[0].weight.mul_(3)
    assert_near(function(images), module(images))


@torch.no_grad()
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_pooling_whose_indices_nobody_reads_computes_the_maxima(ceil_mode):
    def pool(images):
        return F.max_pool2d(images, 3, 2, 1, ceil_mode=ceil_mode)

    images = on_device(2, 3, 8, 9)
    images[0, 0, 2, 3], images[1, 2, 4, 4] = math.nan, -math.inf
    with_indices = F.max_pool2d(images, 3, 2, 1, ceil_mode=ceil_mode, return_indices=True)
    found = compiled(pool)(images)
    assert_same(found, with_indices[0])
    assert only_graph().kernel_bodies_us > 0


@torch.no_grad()
def test_pooling_whose_indices_are_returned_keeps_them():
    def pool(images):
        return F.max_pool2d(images, 2, return_indices=True)

    images = on_device(1, 3, 6, 6)
    for found, expected in zip(compiled(pool)(images), pool(images), strict=True):
        assert_same(found, expected)


@torch.no_grad()
@pytest.mark.parametrize(("size", "stride"), [(2, 2), (3, 3), ((2, 3), (2, 4))])
def test_pooling_without_overlap_is_part_of_the_convolution(size, stride):
    module = network(nn.Conv2d(3, 40, 3, padding=1), nn.ReLU(), nn.MaxPool2d(size, stride))
    images = on_device(3, 3, 13, 14)
    images[0, 0, 2, 3], images[1, 2, 4, 4] = math.nan, math.inf
    found = compiled(module)(images)
    assert only_graph().kernels_after_fusion == 1
    assert_same(found, module(images))


@torch.no_grad()
@pytest.mark.parametrize("pooling", [nn.MaxPool2d(3, 2), nn.MaxPool2d(2, padding=1)])
def test_pooling_of_overlapping_or_padded_windows_is_a_kernel_of_its_own(pooling):
    module = network(nn.Conv2d(3, 40, 3, padding=1), nn.ReLU(), pooling)
    images = on_device(3, 3, 13, 14)
    found = compiled(module)(images)
    assert only_graph().kernels_after_fusion == 2
    assert_same(found, module(images))


@torch.no_grad()
def test_an_image_that_is_also_read_before_pooling_is_stored():
    module = network(nn.Conv2d(3, 8, 3), nn.ReLU())

    def levels(images):
        level = module(images)
        return level * 2, F.max_pool2d(level, 2)

    images = on_device(2, 3, 10, 10)
    found = compiled(levels)(images)
    for one, expected in zip(found, levels(images), strict=True):
        assert_same(one, expected)


@torch.no_grad()
@pytest.mark.parametrize("kind", ["bf16", "fp16"])
def test_maxima_are_rounded_for_the_convolution_that_reads_them(kind):
    layers = nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 4, 3)
    module = network(*layers)
    images = on_device(2, 3, 12, 12)
    options = {"auto_cast": "matmult", "auto_cast_type": kind}
    found = compiled(module, options=options)(images)
    assert only_graph().kernels_after_fusion == 3, "the image's cast and two convolutions"
    one_by_one = compiled(module, options={**options, "fuse": False})(images)
    assert_same(found, one_by_one)
