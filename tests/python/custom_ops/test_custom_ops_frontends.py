"""opcheck, TorchScript, torch.export, torch.compile and meta tensors with the custom ops."""

import copy
import io
import warnings

import pytest
import torch
from custom_ops_oracle import OPS, values
from device_type import DEVICE_TYPE

PLACES = [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1", "cpu"]
# PyTorch implements this check for CPU, CUDA and XPU only.
DEVICE_CHECKS = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")


def samples(place, gradients):
    """One call of each op: name, arguments, keyword arguments."""

    def tensor(*shape, seed=1):
        made = (values(shape, torch.float32, seed).abs() + 0.1).to(place)
        return made.requires_grad_(gradients)

    weights, biases = [tensor(3, 6), tensor(6, 5)], [tensor(6), tensor(5)]
    return {
        "vector_add": ((tensor(3, 4), tensor(3, 4)),
            {"variant": "direct", "free_dim": 16, "base_addresses": [64, 0, 128]}),
        "matmul": ((tensor(4, 3), tensor(4, 5)), {"variant": "tiled", "transpose_x": True}),
        "transpose": ((tensor(3, 4),), {"engine": "vector"}),
        "bias_add_activation": ((tensor(2, 3, 4), tensor(4), "gelu"), {}),
        "conv2d_maxpool": ((tensor(2, 3, 8, 8), tensor(4, 3, 3, 3), tensor(4), 2),
            {"padding": [1, 1], "activation": "tanh"}),
        "ffnn_forward": ((tensor(4, 3), weights, biases), {}),
        "ffnn_predict": ((tensor(4, 3), weights, biases), {"hidden_activation": "tanh"}),
    }  # fmt: skip


NAMES = list(samples("cpu", False))


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NAMES)
def test_opcheck_finds_nothing(name, place, gradients):
    arguments, options = samples(place, gradients)[name]
    checks = {} if place == "cpu" else {"test_utils": DEVICE_CHECKS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.library.opcheck(getattr(OPS, name).default, arguments, options, **checks)


@pytest.mark.parametrize("name", NAMES)
def test_meta_tensors_give_shape_and_dtype(name):
    arguments, options = samples("cpu", False)[name]
    expected = getattr(OPS, name)(*arguments, **options)
    arguments, options = samples("meta", False)[name]
    actual = getattr(OPS, name)(*arguments, **options)
    assert actual.is_meta
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    assert actual.stride() == expected.stride()


class Classifier(torch.nn.Module):
    """All ops but vector_add's variants in one module that TorchScript can compile."""

    def __init__(self):
        super().__init__()
        self.kernel = torch.nn.Parameter(values([3, 2, 3, 3], torch.float32, 1))
        self.offset = torch.nn.Parameter(torch.ones(3))
        self.weight = torch.nn.Parameter(values([27, 4], torch.float32, 2))
        self.bias = torch.nn.Parameter(torch.ones(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.ops.neuron_sim.conv2d_maxpool(
            x, self.kernel, self.offset, 2, activation="relu"
        ).flatten(1)
        product = torch.ops.neuron_sim.matmul(x, self.weight)
        twice = torch.ops.neuron_sim.vector_add(product, product)
        back = torch.ops.neuron_sim.transpose(torch.ops.neuron_sim.transpose(twice))
        out = torch.ops.neuron_sim.bias_add_activation(back, self.bias, "tanh")
        return torch.ops.neuron_sim.ffnn_forward(out, [self.weight[:4]], [self.bias])


def images(batch=2):
    return values([batch, 2, 8, 8], torch.float32, 5)


@pytest.fixture(name="expected")
def expected_outputs():
    return Classifier()(images()).detach()


def assert_same(module, expected, place):
    out = module(images().to(place))
    assert out.device == torch.device(place)
    torch.testing.assert_close(out.detach().cpu(), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("ignore")
def test_scripted_modules_run_after_saving_loading_and_moving(place, expected):
    scripted = torch.jit.script(Classifier())
    assert_same(copy.deepcopy(scripted).to(place), expected, place)
    file = io.BytesIO()
    torch.jit.save(scripted, file)
    file.seek(0)
    loaded = torch.jit.load(file, map_location=place)
    assert_same(loaded, expected, place)
    assert_same(torch.jit.freeze(loaded.eval()), expected, place)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.filterwarnings("ignore")
def test_traced_modules_run(place, expected):
    module = Classifier().to(place)
    traced = torch.jit.trace(module, images().to(place))
    assert_same(traced, expected, place)
    graph = str(traced.graph)
    assert "neuron_sim::conv2d_maxpool" in graph and "neuron_sim::matmul" in graph


@pytest.mark.parametrize("place", PLACES)
def test_exported_programs_keep_the_ops_and_a_dynamic_batch(place, expected):
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(
        Classifier().to(place), (images().to(place),), dynamic_shapes=({0: batch},)
    )
    calls = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert any("neuron_sim.matmul" in call for call in calls)
    assert_same(program.module(), expected, place)
    assert program.module()(images(5).to(place)).shape == (5, 4)


@pytest.mark.parametrize("place", PLACES)
def test_compiled_functions_have_one_graph_and_gradients(place):
    def function(a, b):
        return OPS.matmul(OPS.vector_add(a, a), b).relu()

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True, dynamic=True)
    for rows in (3, 5):
        a = values([rows, 4], torch.float32, rows).to(place).requires_grad_()
        b = values([4, 6], torch.float32, 2).to(place)
        compiled(a, b).sum().backward()
        again = a.detach().requires_grad_()
        function(again, b).sum().backward()
        torch.testing.assert_close(a.grad, again.grad)


def test_deepcopied_modules_are_independent(expected):
    module = Classifier().to(DEVICE_TYPE)
    duplicate = copy.deepcopy(module)
    with torch.no_grad():
        module.weight.zero_()
    assert_same(duplicate, expected, f"{DEVICE_TYPE}:0")


def test_ops_run_under_the_current_device_but_on_their_inputs_device():
    x = torch.ones(4, device=f"{DEVICE_TYPE}:1")
    with torch.neuron_sim.device(0):
        out = OPS.vector_add(x, x)
        assert torch.neuron_sim.current_device() == 0
    assert out.device == torch.device(f"{DEVICE_TYPE}:1")


def test_vmap_loops_over_the_op():
    a = values([3, 2, 4], torch.float32, 1).to(DEVICE_TYPE)
    b = values([4, 5], torch.float32, 2).to(DEVICE_TYPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = torch.vmap(OPS.matmul, in_dims=(0, None))(a, b)
    torch.testing.assert_close(out.cpu(), a.cpu() @ b.cpu())
