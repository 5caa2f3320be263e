"""What torch.compile does where the device follows the vendor, in a process of its own."""

import os
import subprocess
import sys

SCRIPT = """
import os, warnings
import neuron_sim.torch_device
import torch
from torch import nn

def refused(message, function, *arguments):
    torch._dynamo.reset()
    try:
        function(*arguments)
    except RuntimeError as error:
        assert message in str(error), error
    else:
        raise AssertionError(f"not refused: {message}")

def same(found, expected, device="neuron"):
    assert found.device.type == device, found.device
    torch.testing.assert_close(found.detach().cpu(), expected)

def fresh(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="neuron", fullgraph=True, **options)

x = torch.arange(12.0).reshape(3, 4)

# Inputs on the host are copied, results are on the device.
run = fresh(lambda x: (x * 2 + 1).relu())
for _ in range(2):
    same(run(x), x * 2 + 1)
graph, = torch.neuron.compiled_graphs()
assert graph.programs == 1 and graph.not_compiled == ""
same(fresh(lambda x: x + torch.arange(4.0) + torch.zeros(4))(x), x + torch.arange(4.0))
same(fresh(lambda x, y: x + y)(x.to("neuron"), torch.tensor(2.0)), x + 2)
same(fresh(lambda x, y: (x + y).cpu() + 1)(x.to("neuron"), torch.tensor(2.0)), x + 3, "cpu")
table = torch.ones(3, 4)
same(fresh(lambda x: x + table)(x), x + 1)

# Gradients are where their tensors are.
leaf = x.clone().requires_grad_()
fresh(lambda x: (x ** 2).sum())(leaf).backward()
same(leaf.grad, 2 * x, "cpu")
model = nn.Linear(4, 2)
result = fresh(model)(x)
result.sum().backward()
assert result.device.type == "neuron" and model.weight.grad.device.type == "cpu"
torch.testing.assert_close(model.weight.grad, x.sum(0).expand(2, 4))

# What a graph writes reaches the caller's tensor.
written = x.clone()
def write(x):
    x.add_(10)
    return x * 2
same(fresh(write)(written), 2 * (x + 10))
same(written, x + 10, "cpu")

# Results go back where the inputs were.
same(fresh(lambda x: x + 1, options={"retain_device": True})(x), x + 1, "cpu")
same(fresh(lambda x: x + 1, options={"retain_device": True})(x.to("neuron")), x + 1)
refused("no one device", fresh(lambda x, y: x + y, options={"retain_device": True}),
        x.to("neuron"), torch.tensor(2.0))
os.environ["TORCH_NEURONX_RETAIN_DEVICE_MODE"] = "1"
same(fresh(lambda x: x + 1)(x), x + 1, "cpu")
same(fresh(lambda x: x + 1, options={"retain_device": False})(x), x + 1)
del os.environ["TORCH_NEURONX_RETAIN_DEVICE_MODE"]

os.environ["TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY"] = "1"
refused("Input tensor at index 0 is on cpu device", fresh(lambda x: x + 1), x)
same(fresh(lambda x: x + 1)(x.to("neuron")), x + 1)
del os.environ["TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY"]

# Shapes are static: the option is refused, calls of other shapes are compiled.
refused("dynamic=True): dynamic shapes are not supported", fresh(lambda x: x + 1, dynamic=True), x)
run = fresh(lambda x: (x + 1).sum(0))
for rows in (1, 2, 3, 4):
    same(run(torch.ones(rows, 3)), torch.full((3,), 2.0 * rows))

os.environ["NEURON_CC_FLAGS"] = "--model-type=transformer --auto-cast=matmult"
a = torch.randn(64, 64)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    cast = fresh(torch.mm)(a, a)
assert any("--model-type=transformer" in str(each.message) for each in caught)
torch.testing.assert_close(cast.cpu(), a.bfloat16().float() @ a.bfloat16().float())
del os.environ["NEURON_CC_FLAGS"]

assert {"neuron", "neuron_sim"} <= set(torch.compiler.list_backends())
same(torch.compile(lambda x: x + 1)(x.to("neuron")), x + 1)
print("done")
"""


def test_a_process_that_follows_the_vendor():
    environment = {**os.environ, "NEURON_SIM_DEVICE": "neuron"}
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True
    )
    assert run.stdout == "done\n", run.stderr
