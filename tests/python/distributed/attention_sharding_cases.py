"""What two processes run for test_attention_sharding.py: attention of DTensors, per placement.

python attention_sharding_cases.py FOLDER RANK
"""

from __future__ import annotations

import sys

import torch
from device_type import DEVICE_TYPE
from distributed_cases import WORLD, main
from torch import Tensor
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh
from torch.nn.functional import scaled_dot_product_attention

MASKS = {"none": None, "causal": None, "per head": (1, 4, 16, 16), "flat": (16, 16)}
PLACEMENTS = {"whole": Replicate(), "batch": Shard(0), "heads": Shard(1)}


def inputs(mask: str, key_heads: int = 4) -> list[Tensor]:
    """Query, key, value, the gradient of the output and, where there is one, the mask."""
    generator = torch.Generator().manual_seed(0)
    shapes = [(2, 4, 16, 8), *[(2, key_heads, 16, 8)] * 2, (2, 4, 16, 8)]
    shapes += [shape for shape in [MASKS[mask]] if shape]
    return [torch.randn(shape, generator=generator) for shape in shapes]


def attention(mask: str, tensors: list[Tensor]) -> list[Tensor]:
    """The output and the gradients of query, key, value and mask."""
    query, key, value, gradient, *bias = tensors
    leaves = [tensor.detach().requires_grad_() for tensor in (query, key, value, *bias)]
    output = scaled_dot_product_attention(
        *leaves, is_causal=mask == "causal", enable_gqa=query.shape[1] != key.shape[1]
    )
    output.backward(gradient)
    return [output.detach(), *(leaf.grad for leaf in leaves)]


def sharded(mask: str, place: str, key_heads: int = 4) -> list[Tensor]:
    """Whole results of attention whose inputs (all but the mask) are placed so; then whether the
    output is."""
    mesh = init_device_mesh(DEVICE_TYPE, (WORLD,))
    placement = PLACEMENTS[place]
    placed = [
        distribute_tensor(tensor.to(DEVICE_TYPE), mesh, [placement if number < 4 else Replicate()])
        for number, tensor in enumerate(inputs(mask, key_heads))
    ]
    results = attention(mask, placed)
    kept = torch.tensor(results[0].placements == (placement,))
    return [*(result.full_tensor().cpu() for result in results), kept]


CASES = {
    f"{mask} {place}": lambda mask=mask, place=place: sharded(mask, place)
    for mask in MASKS
    for place in PLACEMENTS
}
CASES["grouped batch"] = lambda: sharded("none", "batch", key_heads=2)

if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), CASES)
