"""torch.compile(backend="neuron_sim"): what a graph may contain besides kernels."""

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
from torch.nn import functional as F


def test_index_arithmetic_on_inputs_runs_before_the_one_program():
    table = nn.Embedding(50, 24).to(DEVICE_TYPE)

    def function(tokens, x):
        return table(tokens * 2 + 1).sum(1) * x.exp()

    run = compiled(function)
    for seed in range(3):
        tokens = torch.randint(0, 20, (6, 5), generator=torch.Generator().manual_seed(seed))
        x = on_device(6, 24, seed=seed)
        with torch.no_grad():
            assert_same(run(tokens.to(DEVICE_TYPE), x), function(tokens.to(DEVICE_TYPE), x))
    graph = only_graph()
    assert graph.programs == 1
    assert graph.host_operators == [
        "aten::mul.out",
        "aten::add.out",
        "neuron_sim_host::check_bounds",
    ]


def test_constants_of_the_host_are_computed_once():
    def function(x):
        return x + torch.arange(12, device=DEVICE_TYPE).to(torch.float32)

    x = on_device(3, 12)
    assert_same(compiled(function)(x), function(x))
    assert only_graph().host_operators == []


def test_an_index_that_depends_on_a_kernel_splits_the_program():
    def function(x):
        return x[x.sum(1).argmax(0).remainder(3)] * 2

    x = on_device(5, 9)
    for _ in range(2):
        run = compiled(function)
        assert_same(run(x), function(x))
        assert_same(run(-x), function(-x))


def test_double_precision_in_the_middle_falls_back_and_is_counted():
    def function(x):
        return (x.double() * 3).float() + 1

    x = on_device(11)
    run = compiled(function)
    run(x)
    torch.neuron_sim.reset_fallback_counts()
    assert_same(run(-x), function(-x.cpu()))
    assert sum(fallback.count for fallback in torch.neuron_sim.fallbacks()) > 0
    with torch.neuron_sim.strict(), pytest.raises(NotImplementedError):
        run(x)


def test_running_statistics_of_batch_norm_are_updated():
    def network():
        torch.manual_seed(0)
        return nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU()).to(DEVICE_TYPE)

    plain, other = network(), network()
    run = compiled(other)
    for seed in range(3):
        x = on_device(2, 3, 8, 8, seed=seed)
        assert_same(run(x), plain(x))
    for name, buffer in plain.named_buffers():
        assert_same(dict(other.named_buffers())[name], buffer)


def test_dropout_draws_new_numbers_in_each_run_and_obeys_the_seed():
    function = compiled(lambda x: F.dropout(x, 0.5) * 2)
    x = torch.ones(1000, device=DEVICE_TYPE)
    runs = []
    for _ in range(2):
        torch.manual_seed(3)
        runs.append([function(x).cpu() for _ in range(3)])
    for first, second in zip(*runs, strict=True):
        assert_same(first, second)
    assert not torch.equal(runs[0][0], runs[0][1])
    assert 0.4 < (runs[0][2] == 0).float().mean() < 0.6


def test_random_tensors_are_drawn_anew_in_each_run():
    function = compiled(lambda x: x + torch.rand(64, device=DEVICE_TYPE))
    x = torch.zeros(64, device=DEVICE_TYPE)
    assert not torch.equal(function(x).cpu(), function(x).cpu())


def test_custom_operators_are_joined_with_the_graph():
    def function(a, b):
        return torch.ops.neuron_sim.matmul(a * 2, b).relu() + 1

    a, b = on_device(128, 128), on_device(128, 128, seed=1)
    assert_same(compiled(function)(a, b), function(a, b))
    assert only_graph().programs == 1


def test_item_breaks_the_graph_in_front_of_the_value():
    def function(x):
        return x * 2 if x.sum().item() > 0 else x - 1

    run = compiled(function)
    for x in (on_device(5).abs(), -on_device(5).abs()):
        assert_same(run(x), function(x))


def test_a_kernel_of_nki_that_writes_half_of_its_result_is_part_of_the_graph():
    import neuron_sim.nki as nki
    import neuron_sim.nki.language as nl
    from neuron_sim.nki.torch import nki_op

    @nki.jit
    def half_of_rows(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out[0:32, :], nl.load(x[0:32, :]) * 3.0)
        return out

    triple = nki_op("compile_graphs_test::half_of_rows", half_of_rows)

    def function(x):
        return triple(x + 1).relu() - 1

    x = on_device(64, 48)
    run = compiled(function)
    for tensor in (x, -x):
        assert_same(run(tensor), function(tensor))
    assert only_graph().programs == 1
