"""The backward ops: kernels of our own only, special values, errors and PyTorch's front ends."""

import re
import warnings

import pytest
import torch
from custom_ops_oracle import FLOATS, OPS, activate, values
from device_type import DEVICE_TYPE

DEVICE = torch.neuron_sim

STEPS = {
    "vector_add": (OPS.vector_add, [(4, 3, 7), (3, 1)]),
    "matmul": (OPS.matmul, [(5, 130), (130, 7)]),
    "transpose": (OPS.transpose, [(5, 130)]),
    "bias_add_activation": (lambda x, bias: OPS.bias_add_activation(x, bias, "gelu"),
        [(2, 9, 33), (33,)]),
    "conv2d_maxpool": (
        lambda x, w, b: OPS.conv2d_maxpool(x, w, b, 2, stride=[2, 1], padding=1, activation="tanh"),
        [(3, 4, 15, 8), (6, 4, 3, 3), (6,)]),
    "ffnn_forward": (lambda x, *p: OPS.ffnn_forward(x, p[:2], p[2:]),
        [(9, 5), (5, 8), (8, 3), (8,), (3,)]),
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", STEPS)
def test_a_training_step_runs_kernels_only(name, dtype):
    """Forward, backward and the update (-1 times the learning rate is in the gradient)."""
    operator, shapes = STEPS[name]
    leaves = [
        values(shape, dtype, i).to(DEVICE_TYPE).requires_grad_() for i, shape in enumerate(shapes)
    ]
    with torch.no_grad():
        gradient = (values(operator(*leaves).shape, dtype, 9) * -0.1).to(DEVICE_TYPE)
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
    for place in ("cpu", DEVICE_TYPE):
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
    leaf = x.to(DEVICE_TYPE).requires_grad_()
    bias = torch.zeros(7).to(DEVICE_TYPE)
    OPS.bias_add_activation(leaf, bias, activation).backward(outer.to(DEVICE_TYPE))
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


@pytest.mark.parametrize("place", [DEVICE_TYPE, "cpu"])
@pytest.mark.parametrize("name", backward_calls("cpu"))
def test_opcheck_finds_nothing_in_the_backward_ops(name, place):
    checks = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.library.opcheck(
            getattr(OPS, name).default, backward_calls(place)[name], test_utils=checks
        )


@pytest.mark.parametrize("place", [DEVICE_TYPE, "cpu"])
@pytest.mark.parametrize("name", backward_calls("cpu"))
def test_the_backward_ops_are_not_differentiable(name, place):
    gradient, *others = backward_calls(place)[name]
    results = getattr(OPS, name)(gradient.requires_grad_(), *others)
    with pytest.raises(
        RuntimeError, match=f"^derivative for neuron_sim::{name} is not implemented$"
    ):
        results[0].backward(torch.ones_like(results[0]))


@pytest.mark.parametrize("place", [DEVICE_TYPE, "cpu"])
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


@pytest.mark.parametrize("place", [DEVICE_TYPE, "cpu", "meta"])
@pytest.mark.parametrize("name, change, kind, message", [
    ("bias_add_activation_backward", lambda g: g[:, :2], ValueError,
        "bias_add_activation_backward: dimension 1 of gradient [2, 2] float32 is 2, expected 3 "
        "(the result of the op)."),
    ("bias_add_activation_backward", lambda g: g[0], ValueError,
        "bias_add_activation_backward: gradient [3] float32 has 1 dimensions, expected 2."),
    ("conv2d_maxpool_backward", lambda g: g.half(), TypeError,
        "conv2d_maxpool_backward: input [1, 3, 6, 6] float32 and gradient [1, 2, 3, 3] float16 "
        "have different dtypes."),
    ("conv2d_maxpool_backward", lambda g: g[..., :1, :], ValueError,
        "conv2d_maxpool_backward: dimension 2 of gradient [1, 2, 1, 3] float32 is 1, expected 3 "
        "(the result of the op)."),
])  # fmt: skip
def test_a_gradient_unlike_the_result_is_refused(place, name, change, kind, message):
    gradient, *others = backward_calls(place)[name]
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        getattr(OPS, name)(change(gradient), *others)


def test_unwanted_gradients_are_none():
    for place in (DEVICE_TYPE, "cpu", "meta"):
        arguments = backward_calls(place)["conv2d_maxpool_backward"]
        every = OPS.conv2d_maxpool_backward(*arguments)
        for wanted in range(8):
            mask = [bool(wanted >> i & 1) for i in range(3)]
            found = OPS.conv2d_maxpool_backward(*arguments, output_mask=mask)
            for one, reference, expected in zip(found, every, mask, strict=True):
                assert (one is not None) == expected
                if expected and place != "meta":
                    assert torch.equal(one.cpu(), reference.cpu())


@pytest.mark.parametrize("place", [DEVICE_TYPE, "cpu"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled_training_steps_have_the_gradients_of_eager_ones(place, dynamic):
    """vector_add broadcasts, so that its gradient is a sum."""

    def step(x, w, b, v):
        y = OPS.conv2d_maxpool(x, w, b, [2, 1], padding=1, activation="gelu", groups=2)
        return OPS.bias_add_activation(OPS.vector_add(y, v), v.view(-1), "softmax")

    compiled = torch.compile(step, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    for images in (3, 2):
        shapes = [(images, 4, 6, 5), (6, 2, 3, 3), (6,), (1, 5)]
        results = []
        for function in (step, compiled):
            leaves = [
                values(shape, torch.float32, i).to(place).requires_grad_()
                for i, shape in enumerate(shapes)
            ]
            out = function(*leaves)
            out.backward(values(out.shape, torch.float32, 9).to(place))
            results.append([leaf.grad.cpu() for leaf in leaves])
        for eager, traced in zip(*results, strict=True):
            torch.testing.assert_close(traced, eager, rtol=1e-5, atol=1e-6)
