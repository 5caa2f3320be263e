"""Convolutions of one to three dimensions, transposed ones, their gradients, unfold and fold."""

import pytest
import torch
import torch.nn.functional as functional
from against_cpu import check as check_on_cpu
from dense_oracle import all_floats, check, on_device, random
from device_type import DEVICE_TYPE

CASES = {
    "bias": (functional.conv2d, {}, [(2, 3, 17, 19), (8, 3, 3, 3), (8,)]),
    "no bias": (functional.conv2d, {"stride": 2, "padding": 1}, [(2, 5, 17, 19), (8, 5, 3, 3)]),
    "depthwise": (functional.conv2d, {"padding": 1, "groups": 24},
        [(2, 24, 9, 9), (24, 1, 3, 3), (24,)]),
    "groups": (functional.conv2d,
        {"padding": (2, 1), "dilation": (2, 1), "stride": (1, 2), "groups": 4},
        [(2, 12, 9, 9), (20, 3, 3, 3), (20,)]),
    "wide": (functional.conv2d, {"padding": 1}, [(1, 200, 6, 6), (150, 200, 3, 3)]),
    "pointwise": (functional.conv2d, {"stride": 2}, [(2, 200, 6, 6), (30, 200, 1, 1)]),
    "one pixel": (functional.conv2d, {}, [(1, 1, 1, 1), (1, 1, 1, 1), (1,)]),
    "dilation beyond the image, more than SBUF holds": (functional.conv2d,
        {"padding": 36, "dilation": 36}, [(1, 960, 5, 7), (8, 960, 3, 3), (8,)]),
    "dilation within the image, more than SBUF holds": (functional.conv2d,
        {"padding": (36, 30), "dilation": 36, "stride": (2, 3), "groups": 2},
        [(1, 960, 38, 41), (8, 480, 3, 3)]),
    "1d": (functional.conv1d, {"padding": 2, "stride": 2}, [(2, 6, 31), (9, 6, 5), (9,)]),
    "3d": (functional.conv3d, {"stride": 2, "padding": 1}, [(2, 3, 5, 6, 7), (4, 3, 3, 3, 3)]),
    "transposed": (functional.conv_transpose2d, {"stride": 2, "padding": 1, "output_padding": 1},
        [(2, 6, 7, 5), (6, 9, 3, 3), (9,)]),
    "transposed, pixels without taps": (functional.conv_transpose2d, {"stride": 3},
        [(2, 6, 7, 5), (6, 9, 2, 2), (9,)]),
    "transposed, groups": (functional.conv_transpose2d, {"stride": 2, "groups": 3, "dilation": 2},
        [(2, 6, 7, 5), (6, 3, 3, 3)]),
    "transposed, output padding beyond the stride": (functional.conv_transpose2d,
        {"stride": (1, 2), "dilation": 4, "output_padding": (2, 3)},
        [(2, 3, 5, 4), (3, 4, 2, 3), (4,)]),
    "transposed 1d": (functional.conv_transpose1d, {"stride": 2}, [(2, 6, 7), (6, 3, 4)]),
    "transposed 3d": (functional.conv_transpose3d, {"stride": 2, "padding": 1},
        [(1, 4, 3, 4, 3), (4, 3, 3, 3, 3)]),
}  # fmt: skip


@all_floats
@pytest.mark.parametrize("name", CASES)
def test_a_convolution_and_its_gradients_are_those_of_float64(name, dtype):
    function, options, sizes = CASES[name]
    operands = [random(*size, seed=i) for i, size in enumerate(sizes)]
    check(lambda *x: function(*x, **options), *operands, dtype=dtype, factor=4)


def test_an_empty_batch_gives_an_empty_result_and_gradients_of_zero():
    with torch.neuron_sim.strict():
        weight = on_device(random(4, 3, 3, 3)).requires_grad_()
        result = functional.conv2d(torch.empty(0, 3, 8, 8, device=DEVICE_TYPE), weight)
        assert result.shape == (0, 4, 6, 6)
        result.backward(torch.empty(0, 4, 6, 6, device=DEVICE_TYPE))
    assert not weight.grad.cpu().any()


def test_integers_are_refused_with_the_reason():
    x = torch.ones(1, 1, 3, 3, dtype=torch.int32, device=DEVICE_TYPE)
    with torch.neuron_sim.strict(), pytest.raises(NotImplementedError, match="float32, float16"):
        functional.conv2d(x, x)


def test_a_dilation_beyond_64_bits_is_refused():
    x, w = on_device(random(1, 2, 5, 5)), on_device(random(1, 2, 3, 1))
    for dilation in (2**62, 2**63 - 1):
        with pytest.raises(RuntimeError, match="is out of range"):
            functional.conv2d(x, w, dilation=dilation)


def test_an_empty_batch_with_a_huge_padding_has_the_shape_of_the_cpu():
    x, w = torch.zeros(0, 2, 1, 5), torch.zeros(1, 2, 3, 1)
    expected = functional.conv2d(x, w, stride=3, padding=2**40).shape
    found = functional.conv2d(x.to(DEVICE_TYPE), w.to(DEVICE_TYPE), stride=3, padding=2**40)
    assert found.shape == expected


WINDOWS = [
    {"kernel_size": 3},
    {"kernel_size": (2, 3), "stride": (2, 1), "padding": (1, 0)},
    {"kernel_size": 2, "dilation": (3, 2), "padding": 2, "stride": 2},
]


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_windows_as_columns_and_back(windows):
    x = torch.randn(2, 3, 9, 7)
    columns = check_on_cpu(lambda t: functional.unfold(t, **windows), x).detach().cpu()
    check_on_cpu(lambda t: functional.fold(t, (9, 7), **windows), columns)
    check_on_cpu(lambda t: functional.unfold(t.transpose(2, 3), **windows), x.transpose(2, 3))
    check_on_cpu(lambda t: functional.fold(t, (9, 7), **windows), columns[0])


def test_columns_of_a_wrong_size_are_an_error():
    with pytest.raises(RuntimeError, match="multiple of 4"):
        functional.fold(torch.ones(1, 5, 4, device=DEVICE_TYPE), (3, 3), 2)
    with pytest.raises(RuntimeError, match="too small"):
        functional.unfold(torch.ones(1, 5, 2, 2, device=DEVICE_TYPE), 3)


def test_windows_of_a_dimension_have_gradients():
    check_on_cpu(lambda t: t.unfold(1, 3, 2), torch.randn(2, 9, 4))
    check_on_cpu(lambda t: t.unfold(-1, 4, 1), torch.randn(2, 7))
