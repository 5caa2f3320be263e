"""torch.compile and torch.export on device tensors."""

import os
import subprocess
import sys
from types import SimpleNamespace

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from device_type import DEVICE_TYPE, OWN_NAME
from neuron_sim.torch_compile import default_backend
from torch import nn
from torch._dynamo.device_interface import DeviceGuard, get_interface_for_device
from torch.export.passes import move_to_device_pass


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_backends_that_generate_no_host_code_work(backend):
    weight = torch.ones(3, device=f"{DEVICE_TYPE}:1", requires_grad=True)
    function = torch.compile(lambda x: (x * weight).sin().sum(), backend=backend, fullgraph=True)
    data = torch.arange(3.0, device=f"{DEVICE_TYPE}:1")
    function(data).backward()
    torch.testing.assert_close(weight.grad.cpu(), data.cpu() * data.cpu().cos())


GRAPHS = {
    "pointwise": lambda x: x * 2 + 1, "a sum": lambda x: x.sum(),
    "a sum of rows": lambda x: x.sum(1), "softmax": lambda x: x.softmax(-1),
    "layer_norm": lambda x: nn.functional.layer_norm(x, (16,)), "a product": lambda x: x @ x.T,
    "an index": lambda x: x[torch.arange(3, device=x.device)],
    "random numbers": lambda x: x + torch.rand_like(x),
    "dropout": lambda x: nn.functional.dropout(x, 0.5), "bfloat16": lambda x: x.bfloat16().mean(),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_without_a_backend_a_graph_on_the_device_is_compiled_by_ours(name):
    x = torch.linspace(-1, 1, 7 * 16).reshape(7, 16)
    compiled, expected = compiled_by_default(name, x), GRAPHS[name](x)
    if name in ("random numbers", "dropout"):  # drawn in another order
        assert compiled.shape == expected.shape
    else:
        torch.testing.assert_close(compiled, expected, rtol=1e-2, atol=1e-5)


@pytest.mark.parametrize("options", [{"mode": "max-autotune"}, {"dynamic": True}])
def test_modes_and_symbolic_sizes_do_not_matter_without_a_backend(options):
    x = torch.linspace(-1, 1, 7 * 16).reshape(7, 16)
    torch.testing.assert_close(compiled_by_default("a sum of rows", x, **options), x.sum(1))


def compiled_by_default(name: str, x: torch.Tensor, **options) -> torch.Tensor:
    """The result of the second device on the host, after a check that one graph was compiled."""
    torch._dynamo.reset()
    torch.neuron_sim.reset_compiled_graphs()
    result = torch.compile(GRAPHS[name], **options)(x.to(f"{DEVICE_TYPE}:1"))
    assert result.device == torch.device(f"{DEVICE_TYPE}:1")
    assert len(torch.neuron_sim.compiled_graphs()) == 1
    return result.cpu()


def test_without_a_backend_a_model_is_trained_as_on_the_cpu():
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU())
    x = torch.randn(3, 4)
    model(x).square().sum().backward()
    expected = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    model.to(DEVICE_TYPE)
    torch.compile(model)(x.to(DEVICE_TYPE)).square().sum().backward()
    for parameter, gradient in zip(model.parameters(), expected, strict=True):
        torch.testing.assert_close(parameter.grad.cpu(), gradient, rtol=1e-3, atol=1e-4)


def test_without_a_backend_a_graph_without_inputs_that_makes_device_tensors_is_ours():
    torch._dynamo.reset()
    made = torch.compile(lambda: torch.ones(3, device=DEVICE_TYPE) + 1)()
    assert made.tolist() == [2.0, 2.0, 2.0] and made.device.type == DEVICE_TYPE


def test_graphs_on_the_cpu_stay_with_inductor(monkeypatch):
    """Its code generation needs a compiler and minutes, so only the entry is followed."""
    from torch._inductor import compile_fx

    seen = []
    module = SimpleNamespace(compile_fx=lambda graph, inputs, **options: seen.append(options))
    default_backend._follow(module)
    graph = torch.fx.symbolic_trace(nn.ReLU())
    module.compile_fx(graph, [torch.ones(2)], config_patches={"a": 1})
    assert seen == [{"config_patches": {"a": 1}}]
    assert compile_fx.compile_fx.__module__ == "neuron_sim.torch_compile.default_backend"


@pytest.mark.parametrize("order", [
    "import torch._dynamo, neuron_sim.torch_device",
    "import neuron_sim.torch_device, torch._dynamo",
    "import neuron_sim, torch, torch._dynamo.device_interface",
    "import importlib.util, torch; importlib.util.find_spec('torch._dynamo.device_interface')",
])  # fmt: skip
def test_dynamo_knows_the_device_in_every_import_order(order):
    program = (
        f"{order}\n"
        "from torch._dynamo.device_interface import get_interface_for_device as interface_for\n"
        "import sys, torch\n"
        "found = interface_for('neuron_sim')\n"
        "assert interface_for(torch.device('neuron_sim', 1)) is found is interface_for("
        "'neuron_sim:1')\n"
        "from neuron_sim.after_import import _finder\n"
        "assert 'torch._dynamo.device_interface' not in _finder.actions\n"
        "print(found.device_count())"
    )
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **OWN_NAME},
    )
    assert result.stdout.strip() == str(torch.neuron_sim.device_count()), result.stderr


def test_importing_torch_does_not_import_dynamo():
    program = "import torch, neuron_sim.torch_device, sys; print('torch._dynamo' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={**os.environ, **OWN_NAME},
    )
    assert result.stdout.strip() == "False", result.stderr


def test_dynamos_interface_is_that_of_the_device():
    interface = get_interface_for_device(DEVICE_TYPE)
    assert interface.is_available() and interface.device_count() == torch.neuron_sim.device_count()
    with interface.device(f"{DEVICE_TYPE}:1"):
        assert interface.current_device() == interface.Worker.current_device() == 1
        assert interface.exchange_device(0) == 1 and interface.maybe_exchange_device(-1) == -1
        interface.set_device(1)
        with DeviceGuard(interface, 0):
            assert interface.current_device() == 0
        assert interface.current_device() == 1
    assert interface.current_device() == 0
    properties = interface.get_device_properties(f"{DEVICE_TYPE}:1")
    assert properties == torch.neuron_sim.get_device_properties(1)
    stream = interface.Stream(device=f"{DEVICE_TYPE}:0")
    with interface.stream(stream):
        assert interface.current_stream() == stream
        assert interface.get_raw_stream(0) == stream.stream_id
    before = interface.current_stream()
    interface._set_stream_by_id(stream.stream_id, 0, stream.device_type)
    assert interface.current_stream() == stream
    interface.set_stream(before)
    event = interface.Event(enable_timing=True)
    assert isinstance(event, torch.Event)
    interface.synchronize()
    assert interface.memory_allocated() == torch.neuron_sim.memory_allocated()
    assert interface.is_dtype_supported(torch.bfloat16) and not interface.is_triton_capable()
    for asked in (interface.get_compute_capability, interface.raise_if_triton_unavailable):
        with pytest.raises((NotImplementedError, RuntimeError), match="host cannot address"):
            asked()


def test_compiled_functions_follow_streams():
    torch._dynamo.reset()
    side = torch.neuron_sim.Stream(f"{DEVICE_TYPE}:0")

    def function(x):
        with torch.neuron_sim.stream(side):
            return x * 2 + torch.ones(3, device=DEVICE_TYPE)

    run = torch.compile(function, backend="eager")
    for _ in range(2):
        assert run(torch.ones(3, device=DEVICE_TYPE)).tolist() == [3, 3, 3]
        assert torch.neuron_sim.current_stream() == torch.neuron_sim.default_stream()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", DEVICE_TYPE])
def test_compiled_functions_follow_the_device(backend):
    torch._dynamo.reset()
    with torch.neuron_sim.device(1):
        made = torch.compile(lambda: torch.ones(2, device=DEVICE_TYPE) * 3, backend=backend)
        assert made().device == torch.device(f"{DEVICE_TYPE}:1")


def test_exported_programs_move_to_the_device():
    network = nn.Sequential(nn.Linear(3, 4), nn.ReLU()).eval()
    data = torch.randn(2, 3)
    exported = torch.export.export(network, (data,))
    moved = move_to_device_pass(exported, f"{DEVICE_TYPE}:1")
    found = moved.module()(data.to(f"{DEVICE_TYPE}:1"))
    torch.testing.assert_close(found.cpu(), network(data))


def test_programs_are_exported_on_the_device():
    network = nn.Linear(3, 4).to(DEVICE_TYPE)
    data = torch.randn(2, 3, device=DEVICE_TYPE)
    exported = torch.export.export(network, (data,))
    torch.testing.assert_close(exported.module()(data).cpu(), network(data).cpu())
