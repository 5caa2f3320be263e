"""torch.compile(backend="neuron_sim"): parameters and buffers are prepared before the runs."""

import pytest
import torch
from compile_support import (
    assert_same,
    compiled,
    fresh_compiler,  # noqa: F401
    on_device,
    only_graph,
)
from device_type import DEVICE_TYPE
from torch import nn


def launched_names(run):
    with torch.neuron_sim.record_launches() as launches:
        run()
    return [launch.name for launch in launches]


def network(dtype=torch.bfloat16):
    torch.manual_seed(0)
    layers = nn.Linear(96, 160), nn.ReLU(), nn.Linear(160, 64, bias=False)
    return nn.Sequential(*layers).to(DEVICE_TYPE, dtype).eval()


def both(model, x, **arguments):
    """The results without torch.compile and with it."""
    with torch.no_grad():
        return model(x), compiled(model, **arguments)(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_weights_are_stored_once_with_their_contracted_dimension_first(dtype):
    x = on_device(70, 96, dtype=dtype)
    expected, found = both(network(dtype), x)
    assert_same(found, expected)
    assert only_graph().arranged_bytes == (96 * 160 + 160 * 64) * x.element_size()


def test_weights_of_convolutions_are_stored_with_their_channels_first():
    torch.manual_seed(0)
    layers = nn.Conv2d(5, 150, 3), nn.ReLU(), nn.Conv2d(150, 24, 1), nn.Conv2d(24, 24, 3, groups=4)
    model = nn.Sequential(*layers).to(DEVICE_TYPE, torch.bfloat16).eval()
    expected, found = both(model, on_device(2, 5, 9, 9, dtype=torch.bfloat16))
    assert_same(found, expected)
    # Groups share the array, with zeros between them.
    assert only_graph().arranged_bytes == (5 * 150 * 9 + 150 * 24 + 24 * 24 * 9) * 2


def test_arithmetic_on_buffers_alone_is_not_part_of_the_runs():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).to(DEVICE_TYPE).eval()
    model[1].running_var.uniform_(0.5, 2)
    expected, found = both(model, on_device(2, 3, 9, 9))
    assert_same(found, expected)
    assert only_graph().constant_kernels > 0


CHANGES = {
    "in place": lambda weight: weight.mul_(2),
    "through data": lambda weight: weight.data.mul_(2),
    "one element": lambda weight: weight.data.view(-1)[-1:].add_(1),
    "another tensor": lambda weight: setattr(weight, "data", weight.data * 3),
    "from the host": lambda weight: weight.data.copy_(torch.ones(weight.shape)),
    "as bytes": lambda weight: weight.untyped_storage().copy_(
        torch.ones(weight.shape, dtype=weight.dtype).untyped_storage()
    ),
    "by an operator on the CPU": lambda weight: weight.data.renorm_(2, 0, 0.25),
    "by a compiled graph": lambda weight: compiled(lambda w: w.mul_(2))(weight.data),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_run_sees_changes_of_parameters(change):
    model, x = network(), on_device(70, 96, dtype=torch.bfloat16)
    function = compiled(model)
    with torch.no_grad():
        before = function(x)
        for layer in (0, 2, 0):
            change(model[layer].weight)
            assert_same(function(x), model(x))
        assert not torch.equal(before.cpu(), function(x).cpu())


def test_a_run_sees_changes_of_buffers_and_of_what_was_computed_from_them():
    model = nn.Sequential(nn.Linear(8, 6), nn.BatchNorm1d(6)).to(DEVICE_TYPE).eval()
    function, x = compiled(model), on_device(4, 8)
    with torch.no_grad():
        function(x)
        model[1].running_var.fill_(7)
        assert_same(function(x), model(x))
    assert len(torch.neuron_sim.compiled_graphs()) == 1


def test_a_graph_that_writes_a_buffer_computes_with_its_value_of_that_run():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.ones(40, 30))

        def forward(self, x):
            before = x @ self.count.t()
            self.count.add_(1)
            return before + x @ (self.count * 2).t()

    model, reference = Counter().to(DEVICE_TYPE), Counter().to(DEVICE_TYPE)
    function, x = compiled(model), on_device(50, 30)
    with torch.no_grad():
        for _ in range(3):
            assert_same(function(x), reference(x))
    assert_same(model.count, reference.count)


def test_a_result_of_parameters_alone_is_a_tensor_of_each_run():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(8))

        def forward(self, x):
            scale = self.weight * 3
            return x * scale, scale

    model = Scaled().to(DEVICE_TYPE)
    function, x = compiled(model), on_device(5, 8)
    with torch.no_grad():
        first = function(x)[1]
        first.zero_()
        assert_same(function(x)[1], model(x)[1])


def test_preparing_takes_no_simulated_time_and_is_no_launch():
    model, x = network(), on_device(70, 96, dtype=torch.bfloat16)
    function = compiled(model)
    with torch.no_grad():
        assert launched_names(lambda: function(x)) == ["graph"]
        model[0].weight.mul_(2)
        assert launched_names(lambda: function(x)) == ["graph"]


def test_graphs_of_training_leave_parameters_where_they_are():
    model, x = network(torch.float32), on_device(70, 96)
    compiled(model)(x).sum().backward()
    graphs = torch.neuron_sim.compiled_graphs()
    assert [graph.kind for graph in graphs] == ["forward", "backward"]
    assert all(graph.arranged_bytes == graph.constant_kernels == 0 for graph in graphs)


def test_weights_that_are_arguments_are_no_constants():
    function = compiled(lambda x, weight: x @ weight.t())
    function(on_device(20, 30), on_device(40, 30))
    assert only_graph().arranged_bytes == 0


def test_constants_of_a_graph_compiled_without_bytes_have_values_outside():
    class Positioned(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = network(torch.float32)
            self.norm = nn.BatchNorm1d(64).to(DEVICE_TYPE)

        def forward(self, x):
            # Depends on nothing: computed before the runs, on the host and on the device.
            row = torch.arange(x.shape[0], device=x.device)
            return self.norm(self.layers(x)) + (row * 3).float()[:, None]

    model, x = Positioned().eval(), on_device(70, 96)
    model.norm.running_var.uniform_(0.5, 2)
    function = compiled(model)
    with torch.no_grad():
        for _ in range(2):
            with torch.neuron_sim.timing_only():
                function(x)
            assert_same(function(x), model(x))
            model.layers[0].weight.mul_(2)
