"""Rows of one large operator: the convolution of CS149's assignment, a matrix product."""

from __future__ import annotations

import torch
from torch import Tensor

from speed.figures import Figure, ratio
from speed.sizes import Sizes
from speed.timing import Work, alternate

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def convolution_tensors(sizes: Sizes) -> list[Tensor]:
    """Input [1, C, S, S], weight [C, C, 3, 3] and bias [C], fp32."""
    generator = torch.Generator().manual_seed(0)
    channels = sizes.channels
    shapes = ((1, channels, sizes.image, sizes.image), (channels, channels, 3, 3), (channels,))
    return [torch.randn(shape, generator=generator) for shape in shapes]


def device_convolution(host: list[Tensor], dtype: torch.dtype) -> Work:
    """The custom op without pooling on copies of these tensors."""
    device = [tensor.to(dtype).to("neuron_sim") for tensor in host]
    return lambda: torch.ops.neuron_sim.conv2d_maxpool(*device, 1)


def convolution(sizes: Sizes) -> list[Figure]:
    """The device in each dtype against torch in fp32."""
    host = convolution_tensors(sizes)
    works = [device_convolution(host, dtype) for dtype in DTYPES.values()]
    works.append(lambda: torch.nn.functional.conv2d(*host))
    *ours, torchs = alternate(works, sizes.repetitions)
    return [ratio(name, spent, torchs, "s") for name, spent in zip(DTYPES, ours, strict=True)]


def matmul_works(sizes: Sizes) -> tuple[Work, Work]:
    """torch.mm on the device and on the host, square matrices in fp32."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(sizes.matmul, sizes.matmul, generator=generator) for _ in range(2))
    device_a, device_b = a.to("neuron_sim"), b.to("neuron_sim")
    return lambda: torch.mm(device_a, device_b), lambda: torch.mm(a, b)


def matmul(sizes: Sizes) -> list[Figure]:
    """The device against torch."""
    ours, torchs = alternate(matmul_works(sizes), sizes.long_repetitions)
    return [ratio("fp32", ours, torchs, "s")]
