"""NKI kernels in compiled graphs: one program with the operators around them."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
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
from neuron_sim.nki.torch import nki_op, wrap_nki
from torch import nn
from torch.utils import _pytree as pytree


@nki.jit
def squared_relu(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.maximum(nl.load(x), 0.0)
    nl.store(out, tile * tile)
    return out


@old.jit
def old_squared_relu(x):
    out = old_nl.ndarray(x.shape, dtype=x.dtype, buffer=old_nl.shared_hbm)
    tile = old_nl.maximum(old_nl.load(x), 0.0)
    old_nl.store(out, tile * tile)
    return out


@nki.jit
def scaled_sum(x, y, scale=1.0, bias=None):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, (nl.load(x) + nl.load(y)) * scale)
    return out


@nki.jit
def several(x, dtype):
    doubled = nl.ndarray(x.shape, dtype=dtype, buffer=nl.shared_hbm)
    more = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    nl.store(doubled, tile * 2.0)
    nl.store(more, tile + 1.0)
    return [doubled, (more, 3), {"again": doubled}]


@nki.jit
def add_into(x, y):
    nl.store(y, nl.load(x) + nl.load(y))
    return y


@old.jit
def doubled_by_rows(x):
    out = old_nl.ndarray(x.shape, dtype=x.dtype, buffer=old_nl.shared_hbm)
    rows = old_nl.ds(old_nl.program_id(0) * 8, 8)
    columns = slice(0, x.shape[1])
    old_nl.store(out[rows, columns], old_nl.load(x[rows, columns]) * 2.0)
    return out


@old.jit
def product(a, b):
    out = old_nl.ndarray((a.shape[1], b.shape[1]), dtype=a.dtype, buffer=old_nl.shared_hbm)
    sums = old_nl.matmul(old_nl.load(a), old_nl.load(b), transpose_x=True)
    old_nl.store(out, sums)
    return out


@nki.jit
def first_rows(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out[0:4, :], nl.load(x[0:4, :]) * 2.0)
    return out


@nki.jit
def on_two_cores(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    first = nl.program_id(0) * 16
    nl.store(out[first : first + 16, :], nl.load(x[first : first + 16, :]) * 2.0)
    return out


@nki.jit
def refused(x):
    return nl.load(x) @ 3


squared_relu_operator = nki_op("compile_nki_test::squared_relu", squared_relu)


@nki_op("compile_nki_test::add_into", mutates_args={"y"})
def add_into_operator(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return add_into(x, y)


@nki.jit
def square(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) * nl.load(x))
    return out


@nki.jit
def square_backward(grad, x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(grad) * nl.load(x) * 2.0)
    return out


square_operator = nki_op("compile_nki_test::square", square, backward=square_backward)


def copies(arguments):
    return [each.clone() for each in arguments]


def launches_of(function, arguments):
    with torch.neuron_sim.record_launches() as launches:
        result = function(*arguments)
    return result, launches


def check(function, *arguments, **options):
    """The launches of a compiled run, whose results and changes of arguments are those of eager
    execution, as the first run's are."""
    run = compiled(function, fullgraph=True, **options)
    expected, first, later = (copies(arguments) for _ in range(3))
    with torch.no_grad():
        result, eager = launches_of(function, expected)
        outcomes = [(run(*first), first)]
        found, launches = launches_of(run, later)
    outcomes.append((found, later))
    for outcome in outcomes:
        for one, other in zip(
            pytree.tree_leaves((result, expected)), pytree.tree_leaves(outcome), strict=True
        ):
            assert one == other if isinstance(one, int) else assert_same(other, one) is None
    if len(eager) > 1 and len(launches) == 1:
        assert sum(each.latency_us for each in launches) < sum(each.latency_us for each in eager)
    return launches


@pytest.mark.parametrize(
    "kernel",
    [squared_relu, old_squared_relu, wrap_nki(squared_relu), squared_relu_operator],
    ids=["new", "old", "wrapped", "operator"],
)
def test_a_kernel_between_two_linear_layers_is_one_launch(kernel):
    first, last = (nn.Linear(*sizes).to(DEVICE_TYPE) for sizes in ((64, 96), (96, 64)))
    (launch,) = check(lambda x: last(kernel(first(x))), on_device(32, 64))
    graph = only_graph()
    assert (graph.kernels, graph.programs, graph.separate_programs) == (3, 1, [])
    # The values stay in SBUF between the three.
    assert graph.program_bodies_us < 0.6 * graph.kernel_bodies_us
    shares = launch.shares_by_source()
    assert any("squared_relu" in share["source"] for share in shares)


def test_two_calls_of_a_kernel_are_one_launch():
    x, y = on_device(32, 64), on_device(32, 64, seed=1)
    assert len(check(lambda x, y: scaled_sum(scaled_sum(x + 1, y).relu(), x) * 2, x, y)) == 1
    assert only_graph().kernels == 5


def test_arguments_that_are_no_tensors_choose_the_program():
    x, y = on_device(8, 16), on_device(8, 16, seed=1)
    for scale in (1.0, 3.0):

        def scaled(x, y, scale=scale):
            return scaled_sum(y=y, x=x, scale=scale, bias=None) + 1

        assert len(check(scaled, x, y)) == 1
    assert len(check(lambda x: scaled_sum(x, x) + 1, x)) == 1


@pytest.mark.parametrize("dtype", [nl.float32, nl.bfloat16])
def test_what_a_kernel_returns_keeps_its_structure(dtype):
    assert len(check(lambda x: several(x * 2, dtype), on_device(8, 16))) == 1


def test_a_kernel_that_writes_to_its_argument_writes_to_it_in_a_graph():
    x, y = on_device(8, 16), on_device(8, 16, seed=1)
    assert len(check(lambda x, y: add_into(x, y + 1) * 2, x, y)) == 1
    assert len(check(lambda x, y: add_into(x + 1, y) * 2, x, y)) == 1
    assert len(check(lambda x, y: (add_into(x, y), x + 1)[1], x, y)) == 1
    assert len(check(lambda x, y: add_into_operator(x + 1, y) * 2, x, y)) == 1


def test_a_kernel_writes_to_an_input_without_a_copy_of_it():
    x, y = on_device(8, 16), on_device(8, 16, seed=1)
    check(lambda x, y: add_into(x, y) * 2, x, y)
    assert only_graph().kernels == 2
    torch.neuron_sim.reset_compiled_graphs()
    check(lambda x, y: (y - 1, add_into(x, y) * 2), x, y)
    assert only_graph().kernels == 3
    torch.neuron_sim.reset_compiled_graphs()
    check(lambda x, y: add_into(x, y[2:6]) * 2, x[2:6], y)  # part of an input: copied
    assert only_graph().kernels > 2


@pytest.mark.parametrize("grid", [4, (4,), [4]])
def test_a_kernel_with_a_grid_is_part_of_the_program(grid):
    x = on_device(32, 64)
    assert len(check(lambda x: doubled_by_rows[grid](x + 1) * 2, x)) == 1
    assert len(check(lambda x: wrap_nki(doubled_by_rows)[grid](x) + 1, x)) == 1
    torch.testing.assert_close(doubled_by_rows[grid](x).cpu(), 2 * x.cpu())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_products_of_a_kernel_have_their_bytes_in_a_graph(dtype):
    a, b = (on_device(64, size, seed=size).to(dtype) for size in (32, 48))
    assert len(check(lambda a, b: product(a + a, b).relu() - 1, a, b)) == 1


def test_views_reach_a_kernel_as_they_do_without_a_graph():
    x = on_device(32, 64)
    assert len(check(lambda x: squared_relu(x[3:20]) * 2, x)) == 1
    assert len(check(lambda x: squared_relu(x.t()) * 2, x)) == 1


def test_results_that_a_kernel_leaves_unwritten_are_zeros():
    assert len(check(lambda x: first_rows(x + 1) * 2, on_device(32, 64))) == 1


def test_a_kernel_on_two_cores_is_a_launch_of_its_own():
    names = [each.name for each in check(lambda x: on_two_cores[2](x + 1) * 2, on_device(32, 64))]
    assert names == ["graph", "on_two_cores", "graph"]
    assert only_graph().separate_programs == ["kernel 'on_two_cores' runs on 2 cores"]


def test_an_operator_with_a_gradient_trains_in_one_launch_each_way():
    layer = nn.Linear(16, 16).to(DEVICE_TYPE)
    x = on_device(8, 16)

    def loss(x):
        return square_operator(layer(x)).sum()

    gradients = []
    for function in (loss, compiled(loss, fullgraph=True)):
        function(x).backward()  # compiles
        layer.zero_grad()
        with torch.neuron_sim.record_launches() as launches:
            function(x).backward()
        gradients.append(layer.weight.grad.clone())
    assert len([each for each in launches if each.name == "graph"]) == 2
    torch.testing.assert_close(gradients[1], gradients[0])
    assert all(graph.separate_programs == [] for graph in torch.neuron_sim.compiled_graphs())


def test_what_a_kernel_refuses_it_refuses_with_its_own_error():
    x = on_device(8, 16)
    with pytest.raises(TypeError, match="unsupported operand"):
        compiled(lambda x: refused(x + 1) * 2)(x)
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"unsupported operand[\s\S]*'refused'"):
        compiled(lambda x: refused(x + 1) * 2, fullgraph=True)(x)
    with pytest.raises(RuntimeError, match="requires grad, but a kernel has no gradient"):
        compiled(lambda x: squared_relu(x))(x.clone().requires_grad_())


def test_sizes_that_change_make_programs_of_their_own():
    run = compiled(lambda x: squared_relu(x + 1) - 1, fullgraph=True)
    for rows in (3, 5, 8, 5):
        x = on_device(rows, 10)
        with torch.no_grad():
            assert_same(run(x), squared_relu(x + 1) - 1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("device", ["cpu", DEVICE_TYPE])
def test_other_backends_and_devices_have_the_same_node(backend, device):
    x, y = (on_device(8, 16, seed=seed, device=device) for seed in (0, 1))
    nodes = []

    def capture(module, _inputs):
        nodes.extend(node.target for node in module.graph.nodes)
        return module

    for function in (lambda x, y: scaled_sum(x, y) + 1, lambda x, y: add_into(x, y) + 1):
        expected, found = copies([x, y]), copies([x, y])
        result = function(*expected)
        assert_same(torch.compile(function, backend=backend, fullgraph=True)(*found), result)
        assert_same(found[1], expected[1])
        torch.compile(function, backend=capture, fullgraph=True)(*found)
    assert sum(isinstance(each, torch._ops.HigherOrderOperator) for each in nodes) == 2
