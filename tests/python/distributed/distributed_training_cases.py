"""Trains a small network in a process group, for test_distributed_training.py.

python distributed_training_cases.py FOLDER RANK WORLD KIND
"""

from __future__ import annotations

import datetime
import sys
from pathlib import Path

import neuron_sim.torch_device as device
import torch
import torch.distributed as dist
from device_type import DEVICE_TYPE
from torch import nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

STEPS = 3


class Network(nn.Module):
    """Two layers. TorchDynamo compiles no frame of nn.Sequential below DDP."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Linear(16, 32)
        self.down = nn.Linear(32, 4)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return self.down(self.up(inputs).relu())


def network() -> Network:
    torch.manual_seed(0)
    return Network()


def data(rank: int) -> torch.Tensor:
    """What a rank trains on; the same on every rank where the batch is not split."""
    return torch.randn(8, 16, generator=torch.Generator().manual_seed(rank))


def train(model: nn.Module, inputs: torch.Tensor) -> list[float]:
    """The losses of a few steps."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    losses = []
    for _ in range(STEPS):
        loss = model(inputs).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses


def distributed(kind: str, world: int) -> nn.Module:
    """The network over all ranks."""
    model = network().to(DEVICE_TYPE)
    mesh = DeviceMesh(DEVICE_TYPE, list(range(world)))
    if kind.startswith("ddp"):
        wrapped: nn.Module = DistributedDataParallel(model)
    elif kind.startswith("fsdp"):
        for layer in (model.up, model.down):
            fully_shard(layer, mesh=mesh)
        wrapped = fully_shard(model, mesh=mesh)
    else:
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        wrapped = parallelize_module(model, mesh, plan)
    return torch.compile(wrapped, backend=DEVICE_TYPE) if kind.endswith("compiled") else wrapped


def main(folder: str, rank: int, world: int, kind: str) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        DEVICE_TYPE, init_method=f"file://{folder}/rendezvous", rank=rank, world_size=world,
        timeout=datetime.timedelta(seconds=120),
    )  # fmt: skip
    inputs = data(0 if kind.startswith("tensor") else rank).to(DEVICE_TYPE)
    losses = train(distributed(kind, world), inputs)
    reasons = [graph.not_compiled for graph in device.compiled_graphs()]
    torch.save((losses, reasons), Path(folder) / f"losses{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
