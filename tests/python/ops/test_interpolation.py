"""Interpolation on the device: nearest, linear and cubic, of planes and of rows."""

import pytest
import torch.nn.functional as functional
from dense_oracle import all_floats, check, random

SIZES = [(14, 18), (5, 4), (7, 9), (1, 1), (11, 40)]


@all_floats
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_doubled_planes_are_those_of_float64(mode, dtype):
    check(lambda x: functional.interpolate(x, scale_factor=2, mode=mode), random(2, 3, 7, 9),
          dtype=dtype)  # fmt: skip


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_planes_of_any_size_are_those_of_float64(mode, size):
    check(lambda x: functional.interpolate(x, size=size, mode=mode), random(2, 3, 7, 9), factor=2)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
def test_corners_are_aligned_on_request(mode, size):
    def function(x):
        return functional.interpolate(x, size=size, mode=mode, align_corners=True)

    check(function, random(2, 3, 7, 9), factor=2)


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "linear"])
def test_rows_are_interpolated(mode):
    check(lambda x: functional.interpolate(x, size=23, mode=mode), random(2, 3, 9), factor=2)
    check(lambda x: functional.interpolate(x, scale_factor=0.5, mode=mode), random(2, 3, 9))
