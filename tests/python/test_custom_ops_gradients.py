"""Gradients of the custom ops: generated cases against float64, and kernels of our own only."""

import re
import warnings

import pytest
import torch
from custom_ops_oracle import (
    ACTIVATIONS,
    FLOATS,
    OPS,
    activate,
    assert_within,
    product_bounds,
    ulp,
    values,
)
from gradient_cases import (
    cases,
    convolution_bounds,
    convolution_case,
    convolve,
    multiples_of,
    operand,
    pointwise_bounds,
    softmax_bounds,
    sum_bounds,
)

DEVICE = torch.neuron_sim


def check(actual, exact, error, dtype):
    assert actual.device.type == "neuron_sim"
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
    """Bit by bit what its layers give, whose gradients are tested above, and close to float64: each
    layer rounds to the dtype a few times, which the largest gradient bounds."""
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

    def network(x, *parameters):
        return OPS.ffnn_forward(
            x, parameters[:layers], parameters[layers:], hidden_activation=hidden,
            output_activation=output,
        )  # fmt: skip

    def by_layer(x, *parameters):
        for i in range(layers):
            function = output if i + 1 == layers else hidden
            x = OPS.bias_add_activation(
                OPS.matmul(x, parameters[i]), parameters[layers + i], function
            )
        return x

    found = gradients(network, operands, gradient)
    for one, other in zip(found, gradients(by_layer, operands, gradient), strict=True):
        assert torch.equal(one.cpu(), other.cpu())
    leaves = [host.double().requires_grad_() for host in hosts]
    x = leaves[0]
    for i in range(layers):
        function = output if i + 1 == layers else hidden
        x = activate(x @ leaves[1 + i] + leaves[1 + layers + i], function)
    for one, exact in zip(found, torch.autograd.grad(x, leaves, outer.double()), strict=True):
        largest = exact.abs().amax() if exact.numel() else 0
        limit = 16 * layers * torch.finfo(dtype).eps * (largest + outer.double().abs().sum() / 50)
        assert ((one.cpu().double() - exact).abs() <= limit).all()


STEPS = {
    "vector_add": (OPS.vector_add, [(4, 3, 7), (3, 1)]),
    "matmul": (OPS.matmul, [(5, 130), (130, 7)]),
    "transpose": (OPS.transpose, [(5, 130)]),
    "bias_add_activation": (
        lambda x, bias: OPS.bias_add_activation(x, bias, "gelu"),
        [(2, 9, 33), (33,)],
    ),
    "conv2d_maxpool": (
        lambda x, w, b: OPS.conv2d_maxpool(x, w, b, 2, stride=[2, 1], padding=1, activation="tanh"),
        [(3, 4, 15, 8), (6, 4, 3, 3), (6,)],
    ),
    "ffnn_forward": (
        lambda x, *p: OPS.ffnn_forward(x, p[:2], p[2:]),
        [(9, 5), (5, 8), (8, 3), (8,), (3,)],
    ),
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", STEPS)
def test_a_training_step_runs_kernels_only(name, dtype):
    """Forward, backward and the update (-1 times the learning rate is in the gradient)."""
    operator, shapes = STEPS[name]
    leaves = [
        values(shape, dtype, i).to("neuron_sim").requires_grad_() for i, shape in enumerate(shapes)
    ]
    with torch.no_grad():
        gradient = (values(operator(*leaves).shape, dtype, 9) * -0.1).to("neuron_sim")
    DEVICE.reset_fallback_counts()
    with DEVICE.strict():
        operator(*leaves).backward(gradient)
        updated = [OPS.vector_add(leaf.detach(), leaf.grad) for leaf in leaves]
    assert DEVICE.fallback_counts() == {}
    for leaf, new in zip(leaves, updated, strict=True):
        assert not torch.equal(new.cpu(), leaf.detach().cpu())


def test_the_first_maximum_gets_the_gradient_and_the_last_nan():
    x = torch.tensor([[2.0, 1, 3, 3, float("nan"), 5], [2, 0, 3, 3, 1, float("nan")]])
    identity = torch.ones(1, 1, 1, 1), torch.zeros(1)
    expected = []
    for place in ("cpu", "neuron_sim"):
        leaf = x.view(1, 1, 2, 6).to(place).requires_grad_()
        out = OPS.conv2d_maxpool(leaf, *(t.to(place) for t in identity), 2)
        out.backward(torch.tensor([[[[1.0, 2, 3]]]]).to(place))
        expected.append(leaf.grad.cpu())
    reference = x.view(1, 1, 2, 6).requires_grad_()
    torch.nn.functional.max_pool2d(reference, 2).backward(torch.tensor([[[[1.0, 2, 3]]]]))
    for found in expected:
        torch.testing.assert_close(found, reference.grad, rtol=0, atol=0)


@pytest.mark.parametrize("activation", ["identity", "relu", "tanh", "sigmoid"])
def test_special_values_are_as_in_torch(activation):
    infinity, nan = float("inf"), float("nan")
    x = torch.tensor([nan, infinity, -infinity, 1, -1, 0, 0])
    outer = torch.tensor([1, 2, 3, infinity, -infinity, nan, infinity])
    leaf = x.to("neuron_sim").requires_grad_()
    bias = torch.zeros(7).to("neuron_sim")
    OPS.bias_add_activation(leaf, bias, activation).backward(outer.to("neuron_sim"))
    reference = x.requires_grad_()
    activate(reference, activation).backward(outer)
    torch.testing.assert_close(
        leaf.grad.cpu(), reference.grad, rtol=1e-6, atol=1e-6, equal_nan=True
    )


def backward_calls(place):
    """Arguments of the backward ops."""

    def tensor(*shape):
        return values(shape, torch.float32, len(shape)).to(place)

    return {
        "bias_add_activation_backward": (tensor(2, 3), tensor(2, 3), tensor(3), "tanh"),
        "conv2d_maxpool_backward": (
            tensor(1, 2, 3, 3), tensor(1, 3, 6, 6), tensor(2, 3, 1, 1), tensor(2), 2,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("place", ["neuron_sim", "cpu"])
@pytest.mark.parametrize("name", backward_calls("cpu"))
def test_opcheck_finds_nothing_in_the_backward_ops(name, place):
    checks = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.library.opcheck(
            getattr(OPS, name).default, backward_calls(place)[name], test_utils=checks
        )


@pytest.mark.parametrize("place", ["neuron_sim", "cpu"])
@pytest.mark.parametrize("name", backward_calls("cpu"))
def test_the_backward_ops_are_not_differentiable(name, place):
    gradient, *others = backward_calls(place)[name]
    results = getattr(OPS, name)(gradient.requires_grad_(), *others)
    with pytest.raises(
        RuntimeError, match=f"^derivative for neuron_sim::{name} is not implemented$"
    ):
        results[0].backward(torch.ones_like(results[0]))


@pytest.mark.parametrize("place", ["neuron_sim", "cpu"])
@pytest.mark.parametrize("name", STEPS)
def test_the_gradient_of_a_gradient_is_refused(name, place):
    operator, shapes = STEPS[name]
    leaves = [values(s, torch.float32, i).to(place).requires_grad_() for i, s in enumerate(shapes)]
    result = operator(*leaves)
    first = torch.autograd.grad(result, leaves, torch.ones_like(result), create_graph=True)
    sentence = (
        f"neuron_sim::{name}: the gradient of its gradient is not supported; it is differentiable"
        " once."
    )
    with pytest.raises(RuntimeError, match=f"^{re.escape(sentence)}$"):
        first[0].backward(torch.ones_like(first[0]))


@pytest.mark.parametrize("place", ["neuron_sim", "cpu", "meta"])
@pytest.mark.parametrize(
    "name, change, kind, message",
    [
        (
            "bias_add_activation_backward",
            lambda g: g[:, :2],
            ValueError,
            "bias_add_activation_backward: dimension 1 of gradient [2, 2] float32 is 2, expected 3"
            " (the result of the op).",
        ),
        (
            "bias_add_activation_backward",
            lambda g: g[0],
            ValueError,
            "bias_add_activation_backward: gradient [3] float32 has 1 dimensions, expected 2.",
        ),
        (
            "conv2d_maxpool_backward",
            lambda g: g.half(),
            TypeError,
            "conv2d_maxpool_backward: input [1, 3, 6, 6] float32 and gradient [1, 2, 3, 3] float16"
            " have different dtypes.",
        ),
        (
            "conv2d_maxpool_backward",
            lambda g: g[..., :1, :],
            ValueError,
            "conv2d_maxpool_backward: dimension 2 of gradient [1, 2, 1, 3] float32 is 1, expected 3"
            " (the result of the op).",
        ),
    ],
)
def test_a_gradient_unlike_the_result_is_refused(place, name, change, kind, message):
    gradient, *others = backward_calls(place)[name]
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        getattr(OPS, name)(change(gradient), *others)


def test_unwanted_gradients_are_none():
    for place in ("neuron_sim", "cpu", "meta"):
        arguments = backward_calls(place)["conv2d_maxpool_backward"]
        every = OPS.conv2d_maxpool_backward(*arguments)
        for wanted in range(8):
            mask = [bool(wanted >> i & 1) for i in range(3)]
            found = OPS.conv2d_maxpool_backward(*arguments, output_mask=mask)
            for one, reference, expected in zip(found, every, mask, strict=True):
                assert (one is not None) == expected
                if expected and place != "meta":
                    assert torch.equal(one.cpu(), reference.cpu())
