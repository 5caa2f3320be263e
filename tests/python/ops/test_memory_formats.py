"""Results have the strides that the CPU gives them."""

import pytest
import torch
from against_cpu import DEVICE
from device_type import DEVICE_TYPE
from torch.nn import functional

LAST = torch.channels_last
INPUTS = {
    "contiguous": lambda: torch.randn(2, 4, 6, 6),
    "channels_last": lambda: torch.randn(2, 4, 6, 6).contiguous(memory_format=LAST),
    "permuted": lambda: torch.randn(6, 6, 4, 2).permute(3, 2, 1, 0),
    "sliced": lambda: torch.randn(2, 4, 6, 12).contiguous(memory_format=LAST)[..., ::2],
    "one_channel": lambda: (
        torch.randn(2, 1, 6, 6).contiguous(memory_format=LAST).expand(2, 4, 6, 6)
    ),
    "one_pixel": lambda: torch.randn(2, 4, 1, 1).contiguous(memory_format=LAST),
}
FUNCTIONS = {
    "conv2d": lambda x, w: functional.conv2d(x, w[:, :, :1, :1]),
    "conv2d_3": lambda x, w: functional.conv2d(x, w, padding=1),
    "depthwise": lambda x, w: functional.conv2d(x, w[:4, :1], padding=1, groups=4),
    "conv_transpose2d": lambda x, w: functional.conv_transpose2d(x, w.transpose(0, 1)),
    "group_norm": lambda x, w: functional.group_norm(x, 2),
    "batch_norm": lambda x, w: functional.batch_norm(x, x.new_zeros(4), x.new_ones(4)),
    "flip": lambda x, w: x.flip(1),
    "flip_rows": lambda x, w: x.flip(0, -1),
    "pixel_shuffle": lambda x, w: functional.pixel_shuffle(x, 2),
}


def weight(last):
    w = torch.randn(8, 4, 3, 3)
    return w.contiguous(memory_format=LAST) if last else w


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("layout", INPUTS)
def test_results_have_the_strides_of_the_cpu(name, layout):
    for last in (False, True):
        x, w = INPUTS[layout](), weight(last)
        expected = FUNCTIONS[name](x, w)
        found = FUNCTIONS[name](x.to(DEVICE), w.to(DEVICE))
        assert found.stride() == expected.stride()
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_pixels_are_unshuffled_and_volumes_normalised_in_their_format():
    x = INPUTS["channels_last"]()
    volume = torch.randn(2, 4, 3, 5, 5).contiguous(memory_format=torch.channels_last_3d)
    kernel = torch.randn(8, 4, 3, 3, 3)
    for function, *inputs in (
        (lambda t: functional.pixel_unshuffle(t, 2), x),
        (lambda t: functional.group_norm(t, 2), volume),
        (functional.conv3d, volume, kernel),
        (functional.conv1d, torch.randn(2, 6, 4).transpose(1, 2), torch.randn(8, 4, 3)),
    ):
        expected = function(*inputs)
        found = function(*(t.to(DEVICE) for t in inputs))
        assert found.stride() == expected.stride()
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("last", [(False, True), (True, False), (True, True), (False, False)])
def test_gradients_of_convolutions_have_the_strides_of_the_cpu(last):
    gradients = []
    for device in ("cpu", DEVICE):
        torch.manual_seed(1)
        x = INPUTS["channels_last" if last[0] else "contiguous"]()
        w, g = weight(last[1]), torch.randn(2, 8, 4, 4)
        gradients.append(
            torch.ops.aten.convolution_backward(
                g.to(device), x.to(device), w.to(device), [8], [1, 1], [0, 0], [1, 1], False,
                [0, 0], 1, [True, True, True]))  # fmt: skip
    for expected, found in zip(*gradients, strict=True):
        assert found.stride() == expected.stride()
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-4)


def test_a_compiled_channels_last_network_computes_what_the_eager_one_does():
    torch._dynamo.reset()

    def network(x, w):
        y = functional.conv2d(x, w, padding=1).relu()
        y = functional.pixel_shuffle(functional.group_norm(y, 2), 2).flip(2)
        return y.flatten(1) * 2

    x, w = INPUTS["channels_last"](), weight(True)
    found = torch.compile(network, backend=DEVICE_TYPE)(x.to(DEVICE), w.to(DEVICE))
    torch.testing.assert_close(found.cpu(), network(x, w), rtol=1e-4, atol=1e-4)
