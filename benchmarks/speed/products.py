"""Rows of one large operator: the convolution of CS149's assignment, a matrix product."""

from __future__ import annotations

import torch
from torch import Tensor

from speed.figures import Figure, ratio
from speed.host import peak
from speed.sizes import Sizes
from speed.timing import Work, alternate

DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def torchs_dtype(name: str) -> torch.dtype:
    """What torch multiplies beside the device's dtype: fp32 where it has no fast kernels of it, as
    of fp16 on hosts without arithmetic of fp16 (a convolution takes minutes there)."""
    has_bf16 = torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.bfloat16 if name == "bf16" and has_bf16 else torch.float32


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
    """The device in each dtype against torch."""
    host = convolution_tensors(sizes)
    operations = 2 * host[0].numel() * host[1].numel() // host[1].size(0)
    works = [device_convolution(host, dtype) for dtype in DTYPES.values()]
    for name in DTYPES:
        tensors = [tensor.to(torchs_dtype(name)) for tensor in host]
        works.append(lambda tensors=tensors: torch.nn.functional.conv2d(*tensors))
    return _beside_torch(alternate(works, sizes.repetitions), operations)


def _beside_torch(times: list[float], operations: int, suffix: str = "") -> list[Figure]:
    """Figures of the device's times, one per dtype, and torch's after them."""
    ours, torchs = times[: len(DTYPES)], times[len(DTYPES) :]
    return [
        ratio(f"{name}{suffix}", spent, other, "s", _rate(operations / spent * 1e-9))
        for name, spent, other in zip(DTYPES, ours, torchs, strict=True)
    ]


def _rate(rate: float) -> str:
    """GFLOP/s, and their share of the host's peak in fp32."""
    limit = peak()
    share = "" if limit is None else f", {rate / limit:.0%} of fp32's peak"
    return f"{rate:.0f} GFLOP/s{share}"


def matmul_works(sizes: Sizes, name: str = "fp32", halved: int = 0) -> tuple[Work, Work]:
    """torch.mm of square matrices on the device and on the host."""
    generator = torch.Generator().manual_seed(0)
    size = sizes.matmul >> halved
    host = [torch.randn(size, size, generator=generator) for _ in range(2)]
    device = [matrix.to(DTYPES[name]).to("neuron_sim") for matrix in host]
    host = [matrix.to(torchs_dtype(name)) for matrix in host]
    return lambda: torch.mm(*device), lambda: torch.mm(*host)


HALVED = (3, 2, 1, 0)
"""How often the sides of `matmul` are halved: 512 to 4,096."""


def matmul(sizes: Sizes) -> list[Figure]:
    """The device against torch in each dtype; bf16 also against fp32 on the device."""
    figures = []
    for halved in HALVED:
        pairs = [matmul_works(sizes, name, halved) for name in DTYPES]
        works = [pair[side] for side in (0, 1) for pair in pairs]
        size = Sizes.matmul >> halved
        times = alternate(works, sizes.long_repetitions)
        figures += _beside_torch(times, 2 * (sizes.matmul >> halved) ** 3, f", {size}")
        fp32, bf16 = (times[list(DTYPES).index(name)] for name in ("fp32", "bf16"))
        figures.append(ratio(f"bf16 by fp32, {size}", bf16, fp32, "s"))
    return figures
