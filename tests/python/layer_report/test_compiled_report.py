"""Reports on models of torch.compile: parts of one program."""

import model_with_kernel
import pytest
import torch
from device_type import DEVICE_TYPE
from neuron_sim.layer_report.tree import OUTSIDE
from neuron_sim.layer_report.uses import OVERHEAD, scaled
from reports import DEVICE, by_name, compiled, latencies, reported, stack, values
from torch import nn


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def test_a_program_is_shared_out_among_modules():
    model, x = compiled(stack()), values(32, 64)
    report = reported(model, x)
    with torch.no_grad(), torch.neuron_sim.record_launches() as launches:
        model(x)
    (launch,) = launches
    assert report.root.use.time_ps == latencies(launches)
    layers = by_name(report)
    overhead = layers[OVERHEAD].use
    assert overhead.time_ps == round(1e6 * launch.latency_us) - round(1e6 * launch.body_us)
    assert {"0.wide", "0.narrow", "1.wide", "1.narrow", "2"} <= set(layers)
    assert layers["1.wide"].use.multiply_accumulates == 32 * 64 * 96
    counters = launch.counters()
    moved = counters["hbm_read_bytes"] + counters["hbm_write_bytes"]
    assert report.root.use.hbm_bytes == moved
    assert report.root.use.multiply_accumulates == counters["multiply_accumulates"]
    assert report.compiled and report.root.calls is None and report.model == "Sequential"


def test_a_program_is_one_launch_of_each_module_in_it():
    layers = by_name(reported(compiled(stack()), values(32, 64)))
    assert {len(layer.use.launches) for layer in layers.values()} == {1}


def test_a_model_that_was_compiled_before_is_reported_alike():
    model, x = compiled(stack()), values(32, 64)
    assert str(reported(model, x)) == str(reported(model, x))


def test_forward_and_backward_are_two_programs():
    report = reported(compiled(stack()), values(32, 64), backward=True)
    assert len(report.root.use.launches) == 2
    wide = by_name(report)["1.wide"].use
    assert wide.forward_ps > 0 and wide.backward_ps > 0
    assert wide.multiply_accumulates == 3 * 32 * 64 * 96


def test_a_compiled_part_stands_where_it_is_in_the_model():
    model = nn.Sequential(nn.ReLU(), compiled(stack()), nn.Tanh())
    layers = by_name(reported(model, values(32, 64)))
    assert layers["1.0.wide"].use.multiply_accumulates == 32 * 64 * 96
    assert layers["1"].kind == "Sequential" and layers["0"].use.time_ps > 0
    assert OVERHEAD in layers


def test_a_model_that_is_compiled_in_place_has_the_same_report():
    model, x = stack()[0], values(32, 64)
    expected = reported(compiled(model), x)
    model.compile(backend=DEVICE_TYPE)
    report = reported(model, x)
    assert report.compiled and report.root.calls is None
    assert str(report) == str(expected)


def test_a_graph_break_makes_two_programs_of_one_report():
    class Broken(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = stack(), nn.Linear(8, 8)

        def forward(self, x):
            x = self.first(x)
            torch._dynamo.graph_break()
            return self.second(x)

    report = reported(compiled(Broken().eval().to(DEVICE)), values(32, 64))
    layers = by_name(report)
    assert len(report.root.use.launches) == 2
    assert layers["first.0.wide"].use.launches == {0} and layers["second"].use.launches == {1}
    assert layers[OVERHEAD].use.launches == {0, 1}


def test_a_model_of_one_module_has_a_row_for_its_instructions():
    report = reported(compiled(nn.Linear(64, 8).to(DEVICE)), values(4, 64))
    assert [child.name for child in report.root.children] == [OUTSIDE, OVERHEAD]


def test_a_kernel_of_nki_is_the_part_of_the_program_that_its_module_has():
    x = values(model_with_kernel.ROWS, 64)
    model = compiled(model_with_kernel.build()[0].to(DEVICE))
    layers = by_name(reported(model, x))
    with torch.no_grad(), torch.neuron_sim.record_launches() as launches:
        model(x)
        model_with_kernel.activation(values(model_with_kernel.ROWS, model_with_kernel.WIDTH))
    graph, alone = launches
    # What it reads stays in SBUF.
    assert 0 < layers["1"].use.time_ps < round(1e6 * alone.body_us) / 2
    assert layers["1"].use.hbm_bytes == model_with_kernel.ROWS * model_with_kernel.WIDTH * 4
    overhead = round(1e6 * graph.latency_us) - round(1e6 * graph.body_us)
    assert layers[OVERHEAD].use.time_ps == overhead


@pytest.mark.parametrize(
    ("parts", "whole", "expected"),
    [([], 0, []), ([3, 4], 7, [3, 4]), ([3, 4], 14, [6, 8]), ([1, 1, 1], 4, [2, 1, 1]),
     ([0, 0], 5, [5, 0]), ([5, 6], 10, [4, 6]), ([2, 9], 0, [0, 0])],
)  # fmt: skip
def test_parts_are_scaled_to_the_whole(parts, whole, expected):
    assert scaled(parts, whole) == expected
