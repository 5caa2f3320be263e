"""Tensor parallelism: the two linear layers of a transformer's MLP, split over NeuronCores.

The first layer's weight is split by columns and the second one's by rows, so that one allreduce
per forward pass joins the parts (torch.distributed.tensor). Outputs and gradients are compared
with the whole MLP on the CPU.

    python models/tensor_parallel.py [--processes 2] [--width 256]
"""

from __future__ import annotations

import argparse
import copy

import torch
from processes import launch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)

TOLERANCE = 1e-4


class Mlp(nn.Module):
    """width -> 4 width -> width with GELU between."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """[N, width] from [N, width]."""
        return self.down(nn.functional.gelu(self.up(x)))


def difference(found: Tensor, expected: Tensor) -> float:
    """Largest difference, relative to the largest expected number."""
    return float((found.cpu() - expected).abs().max() / expected.abs().max())


def run(rank: int, world: int, width: int) -> None:
    """The program of each process. ValueError when outputs or gradients differ from the CPU's."""
    torch.manual_seed(0)
    whole = Mlp(width)
    x = torch.randn(32, width)
    # init_device_mesh takes device names of letters only.
    mesh = DeviceMesh("neuron_sim", list(range(world)))
    split = parallelize_module(
        copy.deepcopy(whole).to("neuron_sim"),
        mesh,
        {"up": ColwiseParallel(), "down": RowwiseParallel()},
    )
    device = torch.neuron_sim
    with device.record_collectives() as collectives:
        output = split(x.to("neuron_sim"))
        output.square().mean().backward()
    expected = whole(x)
    expected.square().mean().backward()
    differences = {"output": difference(output.detach(), expected.detach())}
    for name, weight in split.named_parameters():
        gradient, reference = weight.grad, whole.get_parameter(name).grad
        assert isinstance(gradient, DTensor) and reference is not None
        differences[name] = difference(gradient.full_tensor(), reference)
    worst = max(differences.values())
    if rank == 0:
        shard = split.up.weight
        assert isinstance(shard, DTensor)
        print(f"rank 0 holds {tuple(shard.to_local().shape)} of up's {tuple(shard.shape)}")
        for name, number in differences.items():
            print(f"{name}: {number:.1e} from the whole MLP")
        for collective in collectives:
            print(f"{collective.call}: {collective.latency_us:.2f} us ({collective.algorithm})")
    if worst > TOLERANCE:
        raise ValueError(f"results differ by {worst}, more than {TOLERANCE}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--width", type=int, default=256)
    options = parser.parse_args()
    launch(run, options.processes, options.width)
