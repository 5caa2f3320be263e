"""The copies of a request over the host link: inputs to the device, results back.

A client that waits for its result waits for both. The link's bandwidth (documented) and the
latency of a copy (assumed) are those of the architecture, dma.host_bytes_per_nanosecond and
dma.host_latency, as for copies of tensors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree


def milliseconds(inputs: Iterable[Tensor], results: Any, facts: dict[str, Any]) -> float:
    """Time of copying all `inputs`, then the tensors in `results` of any structure, one by one;
    `facts`: every value of the architecture."""
    tensors = [*inputs, *(leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, Tensor))]
    bandwidth = facts["dma.host_bytes_per_nanosecond"]["value"]
    nanoseconds = sum(
        facts["dma.host_latency"]["value"] + tensor.numel() * tensor.element_size() / bandwidth
        for tensor in tensors
    )
    return nanoseconds / 1e6
