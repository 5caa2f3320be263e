"""The row of linear layers of few rows, which read their weights at the speed of memory."""

from __future__ import annotations

import torch

from speed.figures import Figure, ratio
from speed.products import DTYPES
from speed.sizes import Sizes
from speed.timing import alternate

ROWS = (1, 4, 16)


@torch.no_grad()
def linear(sizes: Sizes) -> list[Figure]:
    """torch.nn.functional.linear in each dtype, on the device and on the host."""
    generator = torch.Generator().manual_seed(0)
    outputs, inputs = sizes.linear
    weight = torch.randn(outputs, inputs, generator=generator)
    x = torch.randn(max(ROWS), inputs, generator=generator)
    figures = []
    for dtype_name, dtype in DTYPES.items():
        host_weight, host_x = weight.to(dtype), x.to(dtype)
        device_weight, device_x = host_weight.to("neuron_sim"), host_x.to("neuron_sim")
        for rows in ROWS:
            works = [
                lambda w=w, x=x[:rows]: torch.nn.functional.linear(x, w)
                for w, x in ((device_weight, device_x), (host_weight, host_x))
            ]
            ours, torchs = alternate(works, sizes.repetitions, calls=3)
            figures.append(ratio(f"{dtype_name}, {rows}", ours * 1e3, torchs * 1e3, "ms"))
    return figures
