"""nki_op: kernels as operators of torch.library."""

import subprocess
import sys

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import pytest
import torch
from device_type import DEVICE_TYPE
from isa_harness import in_hbm
from neuron_sim.nki.torch import nki_op, wrap_nki
from torch import nn
from torch.library import opcheck

DEVICES = ["cpu", f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"]
ON_EACH = pytest.mark.parametrize("device", DEVICES)


@nki.jit
def scale_kernel(x, factor=2.0):
    return in_hbm(nl, nl.load(x) * factor)


@old.jit
def square_kernel(x):
    tile = old_nl.load(x)
    return in_hbm(old_nl, tile * tile)


@old.jit
def square_backward(grad, x):
    return in_hbm(old_nl, old_nl.load(grad) * old_nl.load(x) * 2)


@nki.jit
def add_into_kernel(x, y):
    nl.store(y, nl.load(x) + nl.load(y))
    return y


scale = nki_op("nki_test::scale", scale_kernel)
square = nki_op("nki_test::square", square_kernel, backward=square_backward)


@nki_op("nki_test::add_into", mutates_args={"y"})
def add_into(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return wrap_nki(add_into_kernel)(x, y)


@nki_op("nki_test::both", mutates_args={})
def both(x: torch.Tensor, bias: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    doubled = scale_kernel(x)
    return (doubled if bias is None else doubled + bias), square_kernel(x)


def on(device, *shape, seed=0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)).to(device)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((4, 8), 0.5))

    def forward(self, x):
        return square(x * self.weight).sum()


@ON_EACH
def test_operators_are_what_pytorch_expects_of_them(device):
    x = on(device, 4, 8)
    opcheck(scale, (x,))
    opcheck(scale, (x, 3.0))
    opcheck(square, (x,))
    opcheck(add_into, (x, on(device, 4, 8, seed=1)))
    opcheck(both, (x,))
    opcheck(both, (x, x + 1))


def test_the_gradient_of_an_operator_is_what_pytorch_expects_of_it():
    opcheck(square, (on("cpu", 4, 8).requires_grad_(),))


@ON_EACH
def test_arguments_that_are_no_tensors_choose_the_program(device):
    x = on(device, 3, 5)
    assert torch.equal(scale(x).cpu(), x.cpu() * 2)
    assert torch.equal(scale(x, 3.0).cpu(), x.cpu() * 3)
    assert torch.equal(torch.ops.nki_test.scale(x, factor=0.5).cpu(), x.cpu() * 0.5)


@ON_EACH
@pytest.mark.parametrize("backend", [None, "eager", "aot_eager"])
def test_a_model_trains_through_a_kernel_and_its_backward_kernel(device, backend):
    model = Model().to(device)
    function = model if backend is None else torch.compile(model, backend=backend, fullgraph=True)
    x = on(device, 4, 8)
    with torch.neuron_sim.record_launches() as launches:
        function(x).backward()
    expected = 2 * x.cpu().double() ** 2 * 0.5
    torch.testing.assert_close(model.weight.grad.cpu().double(), expected)
    names = [launch.name for launch in launches if launch.name.startswith("square")]
    assert names == ([] if device == "cpu" else ["square_kernel", "square_backward"])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_shapes_that_change_between_calls_make_their_own_programs(backend):
    compiled = torch.compile(
        lambda x, factor: scale(x, factor) + 1, backend=backend, fullgraph=True
    )
    for rows, factor in ((3, 2.0), (4, 2.0), (5, 3.0), (6, 4.0)):
        x = on(DEVICE_TYPE, rows, 5)
        assert torch.equal(compiled(x, factor).cpu(), (x.cpu() * factor) + 1)


def test_a_model_is_exported_with_its_kernels():
    x = on(f"{DEVICE_TYPE}:1", 4, 8)
    model = Model().to(f"{DEVICE_TYPE}:1")
    exported = torch.export.export(model, (x,))
    assert "nki_test.square" in str(exported.graph)
    torch.testing.assert_close(exported.module()(x).cpu(), model(x).cpu())


@ON_EACH
def test_a_result_that_is_an_argument_becomes_a_copy(device):
    x, y = on(device, 4, 8), on(device, 4, 8, seed=1)
    expected = x.cpu() + y.cpu()
    found = add_into(x, y)
    assert torch.equal(y.cpu(), expected) and torch.equal(found.cpu(), expected)
    found.zero_()
    assert torch.equal(y.cpu(), expected)


@ON_EACH
def test_writing_to_an_argument_that_was_not_declared_changes_nothing(device):
    hidden = nki_op(f"nki_test::hidden_{DEVICES.index(device)}", add_into_kernel)
    x, y = on(device, 4, 8), on(device, 4, 8, seed=1)
    kept = y.cpu().clone()
    with pytest.raises(RuntimeError, match="writes to `y`, which is its argument 'y'; add it to"):
        hidden(x, y)
    assert torch.equal(y.cpu(), kept)


def test_a_kernel_called_directly_is_a_node_of_the_graph():
    x = on(DEVICE_TYPE, 4, 8)
    function = lambda x: scale_kernel(x + 1) - 1  # noqa: E731
    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x).cpu(), ((x + 1) * 2 - 1).cpu())


def test_a_kernel_called_directly_in_a_captured_graph_is_refused():
    class Direct(nn.Module):
        def forward(self, x):
            return scale_kernel(x)

    with pytest.raises(RuntimeError, match="make it an operator with neuron_sim.nki.torch.nki_op"):
        torch.export.export(Direct(), (on(DEVICE_TYPE, 4, 8),), strict=False)


def test_scripts_find_the_names_of_the_vendor(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "import nki, nki.language as nl\n"
        "from torch_neuronx import nki_op, wrap_nki\n"
        "from torch_neuronx.nki_hop import wrap_nki as same\n"
        "assert same is wrap_nki\n"
        "@nki.jit\n"
        "def kernel(x):\n"
        "    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)\n"
        "    nl.store(out, nl.load(x) * 2)\n"
        "    return out\n"
        "@nki_op('script::double', mutates_args={})\n"
        "def double(x: torch.Tensor) -> torch.Tensor:\n"
        "    return wrap_nki(kernel)(x)\n"
        "x = torch.ones(2, 3, device='neuron_sim')\n"
        "assert double(x).sum().item() == 12\n"
    )
    subprocess.run(
        [sys.executable, "-m", "neuron_sim", "run", "--device", "neuron_sim", str(script)],
        check=True,
    )


def test_what_no_operator_can_be_made_of_is_refused():
    with pytest.raises(ValueError, match="mutates_args: 'z' is no parameter; there are x, y"):
        nki_op("nki_test::unknown", add_into_kernel, mutates_args={"z"})
    with pytest.raises(ValueError, match="mutates_args is a set of names or 'unknown', not 'y'"):
        nki_op("nki_test::unknown", add_into_kernel, mutates_args="y")
    with pytest.raises(TypeError, match="wrap_nki takes a kernel of nki.jit, not 'on'"):
        wrap_nki(on)
