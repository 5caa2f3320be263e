"""Data-parallel training: one process per NeuronCore, gradients averaged while backward runs.

Every process computes its share of a batch of digits; DistributedDataParallel averages the
gradients over the backend `neuron_sim`. Rank 0 compares its gradients of the first step with those
of the whole batch in one process on the CPU, and shows what the collectives cost.

    python models/ddp.py [--processes 2] [--steps 5]
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as distributed
from digits import Digits, DigitsCnn, load_data
from processes import launch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

BATCH = 128
TOLERANCE = 1e-4


def batch_of(data: Digits, step: int) -> tuple[Tensor, Tensor]:
    """The images and labels of a step."""
    first = step * BATCH % (len(data.train_labels) - BATCH)
    return data.train_images[first : first + BATCH], data.train_labels[first : first + BATCH]


def reference_gradients(model: nn.Module, data: Digits) -> list[Tensor]:
    """Gradients of the first batch in one process, on the CPU."""
    images, labels = batch_of(data, 0)
    return list(torch.autograd.grad(cross_entropy(model(images), labels), list(model.parameters())))


def largest_difference(model: nn.Module, expected: list[Tensor]) -> float:
    """The largest difference of the gradients to `expected`, relative to each tensor's largest."""
    found = [weight.grad for weight in model.parameters()]
    return max(
        float((gradient.cpu() - reference).abs().max() / reference.abs().max())
        for gradient, reference in zip(found, expected, strict=True)
        if gradient is not None
    )


def train(rank: int, world: int, steps: int) -> None:
    """The program of each process. ValueError when the gradients are not those of one process."""
    data = load_data()
    torch.manual_seed(3)
    host = DigitsCnn()
    expected = reference_gradients(host, data) if rank == 0 else []
    model = DistributedDataParallel(host.to("neuron_sim"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    device = torch.neuron_sim
    for step in range(steps):
        images, labels = (tensor.chunk(world)[rank] for tensor in batch_of(data, step))
        with device.record_collectives() as collectives:
            loss = cross_entropy(model(images.to("neuron_sim")), labels.to("neuron_sim"))
            optimizer.zero_grad()
            loss.backward()
        if step == 0 and rank == 0:
            difference = largest_difference(host, expected)
            print(f"gradients: {difference:.1e} from those of one process")
            if difference > TOLERANCE:
                raise ValueError(f"gradients differ by {difference}, more than {TOLERANCE}")
        optimizer.step()
        mean = loss.detach().clone()
        distributed.all_reduce(mean, distributed.ReduceOp.AVG)
        if rank == 0:
            cost = sum(collective.latency_us for collective in collectives)
            clock = device.simulated_time() * 1e3
            print(f"step {step}: loss {float(mean):.4f}, clock {clock:.2f} ms, collectives:")
            for collective in collectives:
                print(
                    f"  {collective.call}: {collective.latency_us:.2f} us ({collective.algorithm}),"
                    f" waited {collective.waited_us:.2f} us for other ranks"
                )
            print(f"  {cost:.2f} us in all")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    launch(train, options.processes, options.steps)
