"""Gradients of the custom ops on the device in generated cases, against float64."""

import pytest
import torch
from custom_ops_oracle import (
    ACTIVATIONS,
    FLOATS,
    OPS,
    assert_within,
    product_bounds,
    ulp,
)
from device_type import DEVICE_TYPE
from gradient_cases import (
    cases,
    convolution_bounds,
    convolution_case,
    convolve,
    multiples_of,
    network_gradient_bounds,
    operand,
    pointwise_bounds,
    softmax_bounds,
    sum_bounds,
)


def check(actual, exact, error, dtype):
    assert actual.device.type == DEVICE_TYPE
    assert_within(actual, exact - error, exact + error, dtype)


def gradients(operator, operands, gradient):
    """Gradients of the device's `operator` for leaves that keep the strides of `operands`."""
    leaves = [x.detach().requires_grad_() for x in operands]
    return torch.autograd.grad(operator(*leaves), leaves, gradient)


def vector_add_case(case):
    rank = case.randint(0, 4)
    shape = [case.choice([1, 2, 3, 5, 7, 130]) for _ in range(rank)]
    if rank and case.random() < 0.1:
        shape[case.randrange(rank)] = 0
    shapes = []
    for _ in range(2):
        one = [1 if case.random() < 0.4 else size for size in shape]
        shapes.append(one[case.randint(0, rank) :])
    return shapes, case.choice(FLOATS), case


@pytest.mark.parametrize("shapes, dtype, case", cases("vector_add", vector_add_case))
def test_vector_add_sums_over_what_was_broadcast(shapes, dtype, case):
    a, b = (operand(case, shape, dtype, i)[1] for i, shape in enumerate(shapes))
    result = OPS.vector_add(a, b)
    outer, gradient = operand(case, result.shape, dtype, 3)
    for found, leaf in zip(gradients(OPS.vector_add, [a, b], gradient), (a, b), strict=True):
        missing = result.dim() - leaf.dim()
        kept = [1] * missing + list(leaf.shape)
        reduced = [i for i in range(result.dim()) if kept[i] == 1 != result.size(i)]
        exact, error = sum_bounds(outer.double(), torch.zeros_like(outer).double(), reduced)
        check(found, exact.view(leaf.shape), error.view(leaf.shape), dtype)


def matmul_case(case):
    sizes = [case.choice([1, 2, 7, 33, 129, 200]) for _ in range(3)]
    if case.random() < 0.15:
        sizes[case.randrange(3)] = 0
    return sizes, case.choice(FLOATS), case


@pytest.mark.parametrize("sizes, dtype, case", cases("matmul", matmul_case))
def test_matmul(sizes, dtype, case):
    m, k, n = sizes
    a, on_device = operand(case, [m, k], dtype, 1)
    b, other = operand(case, [k, n], dtype, 2)
    outer, gradient = operand(case, [m, n], dtype, 3)
    first, second = gradients(OPS.matmul, [on_device, other], gradient)
    check(first, *product_bounds(outer, b.t()), dtype)
    check(second, *product_bounds(a.t(), outer), dtype)


def transpose_case(case):
    return [case.choice([0, 1, 3, 64, 129]) for _ in range(2)], case.choice(FLOATS), case


@pytest.mark.parametrize("sizes, dtype, case", cases("transpose", transpose_case))
def test_transpose(sizes, dtype, case):
    a = operand(case, sizes, dtype, 1)[1]
    outer, gradient = operand(case, sizes[::-1], dtype, 2)
    (found,) = gradients(OPS.transpose, [a], gradient)
    assert torch.equal(found.cpu(), outer.t())


def bias_case(case):
    shape = [case.choice([1, 2, 5, 13]) for _ in range(case.randint(0, 3))]
    if shape and case.random() < 0.1:
        shape[0] = 0
    shape += [case.choice([1, 3, 64, 129, 700])]
    return shape, case.choice(ACTIVATIONS), case.choice(FLOATS), case


@pytest.mark.parametrize(
    "shape, activation, dtype, case",
    cases("bias_add_activation", bias_case) + cases("bias_add_activation again", bias_case),
)
def test_bias_add_activation(shape, activation, dtype, case):
    positive = (lambda t: t.abs() + 0.25) if activation in ("sqrt", "rsqrt") else None
    x, on_device = operand(case, shape, dtype, 1, positive)
    bias, other = operand(case, shape[-1:], dtype, 2, positive)
    outer, gradient = operand(case, shape, dtype, 3)
    first, second = gradients(
        lambda *xs: OPS.bias_add_activation(*xs, activation), [on_device, other], gradient
    )
    sums = x.double() + bias.double()
    if activation == "softmax":
        exact, error = softmax_bounds(sums, outer.double())
    else:
        exact, error = pointwise_bounds(sums, outer.double(), activation)
    check(first, exact, error, dtype)
    # The bias adds up the gradients of x as they are stored.
    rounded = error + ulp(exact.abs() + error, dtype)
    check(second, *sum_bounds(exact, rounded, list(range(len(shape) - 1))), dtype)


@pytest.mark.parametrize(
    "shapes, pool, options, dtype, case",
    cases("conv2d_maxpool", convolution_case) + cases("conv2d_maxpool again", convolution_case),
)
def test_conv2d_maxpool(shapes, pool, options, dtype, case):
    pairs = [
        operand(case, shape, dtype, i, multiples_of(step))
        for i, (shape, step) in enumerate(zip(shapes, (0.25, 0.5, 0.25), strict=True))
    ]
    hosts, operands = zip(*pairs, strict=True)
    sums = convolve(*(host.double() for host in hosts), options)
    result = torch.nn.functional.max_pool2d(sums, pool, options["pool_stride"])
    outer, gradient = operand(case, result.shape, dtype, 9)
    found = gradients(lambda *xs: OPS.conv2d_maxpool(*xs, pool, **options), operands, gradient)
    bounds = convolution_bounds(outer, *hosts, pool, options)
    for one, (exact, error) in zip(found, bounds, strict=True):
        check(one, exact, error, dtype)


def network_case(case):
    widths = [case.choice([1, 3, 17, 64, 130]) for _ in range(case.randint(2, 4))]
    hidden = case.choice(["relu", "tanh", "gelu", "sigmoid"])
    output = case.choice(["identity", "softmax", "tanh"])
    return case.choice([0, 1, 5, 140]), widths, hidden, output, case.choice(FLOATS), case


@pytest.mark.parametrize(
    "rows, widths, hidden, output, dtype, case", cases("ffnn_forward", network_case)
)
def test_ffnn_forward(rows, widths, hidden, output, dtype, case):
    """Also bit by bit what its layers give, whose gradients are tested above."""
    layers = len(widths) - 1
    shapes = [[rows, widths[0]]] + [[a, b] for a, b in zip(widths, widths[1:], strict=False)]
    shapes += [[width] for width in widths[1:]]
    scale = [1] + [width**-0.5 for width in widths[:-1]] + [1] * layers
    pairs = [
        operand(case, shape, dtype, i, lambda t, s=scale[i]: t * s)
        for i, shape in enumerate(shapes)
    ]
    hosts, operands = zip(*pairs, strict=True)
    outer, gradient = operand(case, [rows, widths[-1]], dtype, 99)
    functions = [hidden] * (layers - 1) + [output]

    def network(x, *parameters):
        return OPS.ffnn_forward(
            x, parameters[:layers], parameters[layers:], hidden_activation=hidden,
            output_activation=output,
        )  # fmt: skip

    def by_layer(x, *parameters):
        for i, function in enumerate(functions):
            product = OPS.matmul(x, parameters[i])
            x = OPS.bias_add_activation(product, parameters[layers + i], function)
        return x

    found = gradients(network, operands, gradient)
    for one, other in zip(found, gradients(by_layer, operands, gradient), strict=True):
        assert torch.equal(one.cpu(), other.cpu())
    bounds = network_gradient_bounds(outer, hosts, functions)
    for one, (exact, error) in zip(found, bounds, strict=True):
        check(one, exact, error, dtype)
