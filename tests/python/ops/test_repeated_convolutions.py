"""Convolutions with weights that stay as they are: later calls compute with a copy of them."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as functional
from device_type import DEVICE_TYPE
from torch import Tensor

# Of an image [N, C, H, W], a weight of at least 64 KiB, and options.
CASES = {
    "3 x 3": ((1, 130, 9, 7), (131, 130, 3, 3), {"padding": 1}),
    "3 x 3, short rows": ((2, 64, 5, 3), (70, 64, 3, 3), {"padding": 1, "stride": 2}),
    "few channels": ((1, 3, 37, 35), (150, 3, 7, 7), {"padding": 3, "stride": 2}),
    "1 x 1": ((1, 257, 6, 5), (65, 257, 1, 1), {"stride": 2}),
    "asymmetric": ((2, 33, 11, 13), (129, 33, 5, 2), {"padding": (2, 0), "dilation": (1, 2)}),
    "weights larger than a third of SBUF": ((1, 512, 4, 4), (640, 512, 3, 3), {"padding": 1}),
    "one image row": ((3, 96, 1, 50), (257, 96, 1, 3), {}),
}


def bits(tensor: Tensor) -> Tensor:
    return tensor.cpu().reshape(-1).view(torch.uint8)


def on_device(sizes: tuple[int, ...], seed: int, dtype: torch.dtype = torch.float32) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sizes, generator=generator).to(dtype).to(DEVICE_TYPE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("case", CASES)
def test_calls_with_equal_weights_have_equal_bytes_and_times(case: str, dtype: torch.dtype) -> None:
    image, weight, options = CASES[case]
    weights = on_device(weight, 1, dtype)
    bytes_of, times = [], []
    for call in range(4):
        images = on_device(image, call, dtype)
        expected = bits(functional.conv2d(images, weights.clone(), **options))
        with torch.neuron_sim.record_launches() as launches:
            result = functional.conv2d(images, weights, **options)
        assert torch.equal(bits(result), expected)
        bytes_of.append(expected)
        times.append([launch.latency_us for launch in launches])
    assert not torch.equal(bytes_of[0], bytes_of[1])
    assert all(time == times[0] for time in times)


def from_the_host(weight: Tensor) -> None:
    weight.copy_(torch.ones(weight.shape))


def through_data(weight: Tensor) -> None:
    weight.data[-1, -1, -1, -1] = 7  # counts no version of `weight`


def of_other_storage(weight: Tensor) -> None:
    weight.data = weight.clone() * 2


@pytest.mark.parametrize("write", [from_the_host, through_data, of_other_storage])
@torch.no_grad()
def test_a_write_to_the_weights_counts_for_the_next_call(write: Callable[[Tensor], None]) -> None:
    image, weight = on_device((1, 64, 5, 5), 1), on_device((64, 64, 3, 3), 2)
    for _ in range(3):
        before = functional.conv2d(image, weight)
    write(weight)
    for _ in range(3):
        after = functional.conv2d(image, weight)
        assert torch.equal(bits(after), bits(functional.conv2d(image, weight.clone())))
    assert not torch.equal(bits(after), bits(before))


@torch.no_grad()
def test_calls_with_other_weights_in_turn_keep_them_apart() -> None:
    image = on_device((1, 64, 5, 5), 1)
    weights = [on_device((64, 64, 3, 3), seed) for seed in (2, 3)]
    first = [bits(functional.conv2d(image, weight)) for weight in weights]
    for _ in range(3):
        for weight, expected in zip(weights, first, strict=True):
            assert torch.equal(bits(functional.conv2d(image, weight)), expected)


def test_training_follows_its_weights() -> None:
    image = on_device((1, 64, 5, 5), 1)
    weight = on_device((64, 64, 3, 3), 2).requires_grad_()
    optimizer = torch.optim.SGD([weight], lr=0.01)
    for _ in range(4):
        optimizer.zero_grad()
        loss = functional.conv2d(image, weight).square().mean()
        expected = functional.conv2d(image, weight.detach().clone()).square().mean()
        assert torch.equal(bits(loss.detach()), bits(expected))
        loss.backward()
        optimizer.step()


def test_copies_of_weights_take_no_memory_of_the_device() -> None:
    image, weight = on_device((1, 64, 5, 5), 1), on_device((64, 64, 3, 3), 2)
    functional.conv2d(image, weight)
    allocated = torch.neuron_sim.memory_allocated()
    for _ in range(3):
        functional.conv2d(image, weight)
    assert torch.neuron_sim.memory_allocated() == allocated
