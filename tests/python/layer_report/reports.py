"""What the tests of reports share: models, and properties that all reports have."""

import gc
import json

import neuron_sim
import torch
from device_type import DEVICE_TYPE
from torch import nn

DEVICE = f"{DEVICE_TYPE}:1"


class Block(nn.Module):
    """Two products with an operator of its own between them."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(64, 96, bias=False)
        self.narrow = nn.Linear(96, 64, bias=False)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        return x + self.dropout(self.narrow(torch.tanh(self.wide(x))))


def stack():
    torch.manual_seed(0)
    return nn.Sequential(Block(), Block(), nn.Linear(64, 8)).eval().to(DEVICE)


def values(*shape, device=DEVICE):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0)).to(device)


def compiled(model):
    return torch.compile(model, backend=DEVICE_TYPE)


def reported(model, inputs, **options):
    """A report, whose times sum exactly at each level of the tree."""
    gc.collect()  # tensors of other tests that die during the report would change its peaks
    report = neuron_sim.report(model, inputs, **options)
    for _, layer in report.root.walk():
        if layer.children:
            for time in ("forward_ps", "backward_ps", "hbm_bytes", "multiply_accumulates"):
                parts = [getattr(child.use, time) for child in layer.children]
                assert sum(parts) == getattr(layer.use, time), (layer.path, time)
    return report


def by_name(report):
    """Layers by path; remainders by path and name."""
    return {
        layer.path if layer.kind else f"{layer.path}{layer.name}": layer
        for _, layer in report.root.walk()
    }


def latencies(launches):
    """In picoseconds."""
    return sum(round(1e6 * each.latency_us) for each in launches)


def as_dicts(report):
    """The layers of the JSON, flat."""
    found, waiting = [], [json.loads(report.to_json())["layers"]]
    while waiting:
        found.append(waiting.pop(0))
        waiting += found[-1]["children"]
    return found
