"""torch.compile(backend="neuron_sim"): what graphs compute, and what becomes of them."""

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
from neuron_sim.torch_compile.compiled_graphs import record_graph_runs
from torch.nn import functional as F


@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
def test_a_chain_of_pointwise_operators_is_one_kernel_of_one_program(device):
    def chain(x, y):
        return torch.relu(x * 2 + y).tanh() * x

    x, y = on_device(70, 33, device=device), on_device(33, device=device, seed=1)
    with torch.neuron_sim.strict(), torch.neuron_sim.record_launches() as launches:
        found = compiled(chain)(x, y)
    assert [(launch.name, launch.device) for launch in launches] == [("graph", x.device.index)]
    graph = only_graph()
    assert (graph.kernels, graph.kernels_after_fusion, graph.programs) == (5, 1, 1)
    assert graph.program_bodies_us == launches[0].body_us < graph.kernel_bodies_us
    assert_same(found, chain(x, y))


def test_the_second_call_runs_the_program_of_the_first():
    function = compiled(lambda x: (x + 1).sum(0))
    first, second = on_device(5, 7), on_device(5, 7, seed=1)
    function(first)
    with torch.neuron_sim.record_launches() as launches:
        found = function(second)
    assert len(launches) == 1 == len(torch.neuron_sim.compiled_graphs())
    assert_same(found, (second + 1).sum(0))


def test_inputs_may_be_views_at_other_places_of_their_memory():
    function = compiled(lambda x: x.sin() * 3)
    memory = on_device(6, 4)
    for row in range(6):
        assert_same(function(memory[row]), memory[row].sin() * 3)
    assert len(torch.neuron_sim.compiled_graphs()) == 1


def test_inputs_that_share_memory_in_another_way_are_captured_again():
    def update(x, y):
        x.add_(1)
        return x * y

    function = compiled(update)
    for make in (lambda m: (m[0], m[1]), lambda m: (m[1], m[2])):
        found, expected = on_device(3, 8), on_device(3, 8)
        assert_same(function(*make(found)), update(*make(expected)))
        assert_same(found, expected)
    apart = on_device(8), on_device(8, seed=1)
    copies = [tensor.clone() for tensor in apart]
    assert_same(function(*apart), update(*copies))
    assert_same(apart[0], copies[0])


@pytest.mark.parametrize(
    "shape", [(), (1,), (0,), (3, 0, 2), (1, 1), (127,), (129, 3), (2, 3, 5, 7)]
)
def test_shapes_of_any_kind(shape):
    def function(x):
        return (x * x + 1).sqrt(), x.sum()

    x = on_device(*shape)
    for found, expected in zip(compiled(function)(x), function(x), strict=True):
        assert found.shape == expected.shape and found.stride() == expected.stride()
        assert_same(found, expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_floating_dtypes_are_at_least_as_exact_as_without_compilation(dtype):
    def function(x):
        return F.gelu(x, approximate="tanh") * x + x

    x = on_device(64, 48).to(dtype)
    exact = function(x.cpu().double())
    error = (compiled(function)(x).cpu().double() - exact).abs().max()
    assert error <= (function(x).cpu().double() - exact).abs().max()


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool])
def test_integers_wrap_as_without_compilation(dtype):
    def function(x, y):
        return (x * y + y).to(torch.float32) * 0.5, x == y

    x, y = (torch.arange(-60, 60).mul(7 + i).to(dtype).to(DEVICE_TYPE) for i in range(2))
    for found, expected in zip(compiled(function)(x, y), function(x, y), strict=True):
        assert found.dtype == expected.dtype
        assert_same(found, expected)


def test_nan_and_infinity_pass_through_a_chain():
    x = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1e38]).to(DEVICE_TYPE)
    function = lambda x: torch.maximum(x * 2, x) / x  # noqa: E731
    assert_same(compiled(function)(x), function(x))


def test_operands_of_any_strides_and_results_that_are_views():
    def function(x):
        y = (x.transpose(0, 1) + 1)[:, ::2]
        return y, y.t(), x.t()

    x = on_device(9, 14)[:, 1:13:3]
    for found, expected in zip(compiled(function)(x), function(x), strict=True):
        assert found.stride() == expected.stride()
        assert_same(found, expected)


def test_a_value_that_another_kernel_reads_as_well_is_computed_once():
    def function(x):
        y = x.exp()
        return (y @ y).relu() + y

    x = on_device(40, 40) * 0.1
    assert_same(compiled(function)(x), function(x))
    # exp is one kernel; the product reads its result as both operands and as the addend.
    assert only_graph().kernels == 4 and only_graph().kernels_after_fusion == 2


def test_a_graph_on_two_devices_runs_operator_by_operator_and_says_why():
    def function(x, y):
        return x + 1, y * 2

    x, y = on_device(3), on_device(3, device=f"{DEVICE_TYPE}:1")
    with pytest.warns(UserWarning, match=f"its inputs are on {DEVICE_TYPE}:0, {DEVICE_TYPE}:1"):
        found = compiled(function)(x, y)
    for result, expected in zip(found, function(x, y), strict=True):
        assert_same(result, expected)
    (graph,) = torch.neuron_sim.compiled_graphs()
    assert graph.not_compiled == f"its inputs are on {DEVICE_TYPE}:0, {DEVICE_TYPE}:1"


def test_a_graph_on_the_cpu_is_left_alone():
    x = torch.randn(4)
    torch.testing.assert_close(compiled(lambda x: x.sin() + 1)(x), x.sin() + 1)
    assert torch.neuron_sim.compiled_graphs() == []


def test_an_index_out_of_range_is_an_index_error_in_every_run():
    table = on_device(10, 4)
    run = compiled(lambda tokens: F.embedding(tokens, table) + 1)
    with pytest.raises(IndexError):
        run(torch.tensor([3, 10]).to(DEVICE_TYPE))
    good = torch.tensor([3, 9]).to(DEVICE_TYPE)
    assert_same(run(good), F.embedding(good, table) + 1)
    with pytest.raises(IndexError):
        run(torch.tensor([3, -1]).to(DEVICE_TYPE))


@pytest.mark.parametrize(("options", "message"), [
    ({"fast": True}, "no option 'fast'; there are 'fuse' and 'passes'"),
    ({"passes": {"sch": 1}}, "setting 'sch' of the compiler's passes is unknown"),
])  # fmt: skip
def test_unknown_options_are_named(options, message):
    with pytest.raises(Exception, match=message):
        compiled(lambda x: x + 1, options=options)(on_device(3))


def test_options_switch_joining_and_passes_off():
    x = on_device(128, 64)
    bodies = []
    for options in ({"fuse": False, "passes": dict.fromkeys(PASSES, 0)}, {"fuse": False}, {}):
        torch._dynamo.reset()
        torch.neuron_sim.reset_compiled_graphs()
        run = compiled(lambda x: (x * 2 + 1).tanh().softmax(1) - x, options=options)
        assert_same(run(x), (x * 2 + 1).tanh().softmax(1) - x)
        bodies.append(only_graph().program_bodies_us)
    assert bodies[0] > bodies[1] > bodies[2]


PASSES = ("rename_buffers", "forward_stores", "eliminate_copies", "schedule", "hoist_loads")


def test_changing_sizes_are_compiled_for_each_size():
    run = compiled(lambda x: (x + 1).softmax(-1).sum(0), dynamic=True)
    for rows in (3, 5, 8, 5):
        x = on_device(rows, 10)
        assert_same(run(x), (x + 1).softmax(-1).sum(0))
    assert len(torch.neuron_sim.compiled_graphs()) == 3


def test_simulated_time_is_the_same_for_any_number_of_host_threads():
    bodies = set()
    threads = torch.neuron_sim.host_threads()
    try:
        for count in (1, 3):
            torch.neuron_sim.set_host_threads(count)
            torch._dynamo.reset()
            torch.neuron_sim.reset_compiled_graphs()
            compiled(lambda x: (x @ x).softmax(1).relu() + x)(on_device(96, 96))
            bodies.add(only_graph().program_bodies_us)
    finally:
        torch.neuron_sim.set_host_threads(threads)
    assert len(bodies) == 1


@pytest.mark.parametrize("function", [torch.relu, F.gelu])
def test_the_function_of_a_linear_layer_is_applied_as_its_sums_leave_psum(function):
    x, weight, bias = on_device(2, 35, 30), on_device(40, 30, seed=1), on_device(40, seed=2)

    def layer(x):
        return function(F.linear(x, weight, bias))

    found = compiled(layer)(x)
    assert (only_graph().kernels, only_graph().kernels_after_fusion) == (1, 1)
    assert_same(found, layer(x))


@pytest.mark.parametrize(
    "power", [lambda sums: sums.pow(3), torch.rsqrt, lambda sums: torch.pow(2, sums)]
)
def test_functions_of_gpsimd_which_cannot_access_psum_stay_apart_from_a_product(power):
    def function(x, y):
        return power((x @ y).abs() + 1), power(x @ y)

    x, y = on_device(70, 30) * 0.1, on_device(30, 50, seed=1)
    for found, expected in zip(compiled(function)(x, y), function(x, y), strict=True):
        assert_same(found, expected)


def test_sums_that_something_else_reads_are_stored_besides_their_function():
    x, weight, bias = on_device(35, 30), on_device(40, 30, seed=1), on_device(40, seed=2)

    def layer(x):
        sums = F.linear(x, weight, bias)
        return sums, torch.relu(sums), F.gelu(F.linear(x, weight, bias), approximate="tanh")

    for found, expected in zip(compiled(layer)(x), layer(x), strict=True):
        assert_same(found, expected)


def test_strides_of_dimensions_of_size_one_are_no_reason_to_copy():
    q, k, v = (on_device(1, 20, 3, 16, seed=seed).transpose(1, 2) for seed in range(3))

    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(1, 20, 48)

    assert_same(compiled(attention)(q, k, v), attention(q, k, v))
    assert only_graph().kernels == 1


def test_runs_of_graphs_are_recorded_but_not_the_one_that_compiles():
    call, x = compiled(lambda x: x.exp() + 1), on_device(4, 4)
    with record_graph_runs() as compiling:
        call(x)
    with record_graph_runs() as outer:
        call(x)
        with record_graph_runs() as inner:
            call(x)
    call(x)
    graph = only_graph()
    assert (compiling, outer, inner) == ([], [graph, graph], [graph])
