"""Gradients of the custom ops against float64 autograd of PyTorch's own operators."""

import copy

import pytest
import torch
from custom_ops_oracle import ACTIVATIONS, OPS, activate, values
from device_type import DEVICE_TYPE

PLACES = [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1", "cpu"]
TOLERANCE = {
    torch.float32: {"rtol": 1e-4, "atol": 1e-5},
    torch.float16: {"rtol": 2e-2, "atol": 2e-2},
    torch.bfloat16: {"rtol": 6e-2, "atol": 6e-2},
}


def assert_gradients(operator, composition, operands, place, dtype=torch.float32):
    """`operator` on `place` and `composition` in float64 have the same gradients."""
    leaves = [x.to(dtype).to(place).detach().clone().requires_grad_() for x in operands]
    exact = [x.to(dtype).double().requires_grad_() for x in operands]
    out, reference = operator(*leaves), composition(*exact)
    weight = values(reference.shape, torch.float32, 99)
    out.backward(weight.to(dtype).to(place))
    reference.backward(weight.to(dtype).double())
    for leaf, expected in zip(leaves, exact, strict=True):
        assert leaf.grad.dtype == dtype and leaf.grad.device == leaf.device
        torch.testing.assert_close(leaf.grad.cpu().double(), expected.grad, **TOLERANCE[dtype])


def normal(*shape, seed=1):
    return values(shape, torch.float32, seed)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "shapes", [[(3, 4), (3, 4)], [(3, 4), (4,)], [(2, 1, 4), (3, 1)], [(), (5,)]]
)
def test_vector_add_sums_gradients_over_what_was_broadcast(place, shapes):
    operands = [normal(*shapes[0]), normal(*shapes[1], seed=2)]
    assert_gradients(OPS.vector_add, torch.add, operands, place)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_matmul_has_both_gradients(place, dtype):
    operands = [normal(5, 130), normal(130, 7, seed=2) / 11]
    assert_gradients(OPS.matmul, torch.matmul, operands, place, dtype)


@pytest.mark.parametrize("place", PLACES)
def test_variants_have_the_gradients_of_the_op(place):
    operands = [normal(130, 5), normal(130, 7, seed=2) / 11]
    assert_gradients(
        lambda a, b: OPS.matmul(a, b, variant="hoist_load", transpose_x=True),
        lambda a, b: a.t() @ b,
        operands,
        place,
    )
    assert_gradients(
        lambda a, b: OPS.vector_add(a, b, variant="direct", free_dim=2, base_addresses=[8, 40, 72]),
        torch.add,
        [normal(300), normal(300, seed=2)],
        place,
    )
    assert_gradients(lambda a: OPS.transpose(a, engine="dma"), torch.t, [normal(6, 5)], place)


@pytest.mark.parametrize("place", PLACES)
def test_matmul_of_an_expanded_gradient(place):
    a = normal(3, 4).to(place).requires_grad_()
    b = normal(4, 5).to(place).requires_grad_()
    OPS.matmul(a, b).sum().backward()  # the gradient of a sum has strides of 0
    ones = torch.ones(3, 5)
    torch.testing.assert_close(a.grad.cpu(), ones @ b.detach().cpu().t())
    torch.testing.assert_close(b.grad.cpu(), a.detach().cpu().t() @ ones)


@pytest.mark.parametrize("place", PLACES)
def test_transpose_transposes_the_gradient(place):
    assert_gradients(OPS.transpose, torch.t, [normal(3, 130)], place)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shape", [(6,), (2, 3, 6)])
def test_bias_add_activation_has_both_gradients(place, activation, shape):
    operands = [normal(*shape).abs() + 0.5, normal(6, seed=2).abs()]  # sqrt needs positive sums
    assert_gradients(
        lambda x, bias: OPS.bias_add_activation(x, bias, activation),
        lambda x, bias: activate(x + bias, activation),
        operands,
        place,
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_bias_add_activation_in_16_bits(place, dtype):
    operands = [normal(4, 6), normal(6, seed=2)]
    assert_gradients(
        lambda x, bias: OPS.bias_add_activation(x, bias, "gelu"),
        lambda x, bias: activate(x + bias, "gelu"), operands, place, dtype,
    )  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("activation", ["identity", "relu", "tanh"])
@pytest.mark.parametrize("pool, stride, padding", [(1, 1, 0), (2, 1, 1), (2, [2, 1], [1, 0])])
def test_conv2d_maxpool_has_three_gradients(place, activation, pool, stride, padding):
    operands = [normal(2, 3, 10, 10), normal(4, 3, 3, 3, seed=2), normal(4, seed=3)]

    def composition(x, weight, bias):
        out = torch.nn.functional.conv2d(x, weight, bias, stride=stride, padding=padding)
        return torch.nn.functional.max_pool2d(activate(out, activation), pool)

    options = {"stride": stride, "padding": padding, "activation": activation}
    if pool == 2 and stride != 1:  # output 5 x 8: the pool must divide it
        operands[0] = normal(2, 3, 9 + 2, 10)
    assert_gradients(
        lambda *xs: OPS.conv2d_maxpool(*xs, pool, **options), composition, operands, place
    )


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "hidden, output", [("relu", "softmax"), ("gelu", "identity"), ("tanh", "sigmoid")]
)
def test_ffnn_forward_has_gradients_of_all_layers(place, hidden, output):
    widths = [5, 8, 6, 3]
    x = normal(4, 5)
    weights = [
        normal(*pair, seed=i) / 2 for i, pair in enumerate(zip(widths, widths[1:], strict=False))
    ]
    biases = [normal(width, seed=10 + i) for i, width in enumerate(widths[1:])]

    def composition(x, *parameters):
        for i in range(3):
            x = activate(x @ parameters[i] + parameters[3 + i], output if i == 2 else hidden)
        return x

    def network(x, *parameters):
        return OPS.ffnn_forward(x, parameters[:3], parameters[3:], hidden_activation=hidden,
                                output_activation=output)  # fmt: skip

    assert_gradients(network, composition, [x, *weights, *biases], place)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("wanted", [0b001, 0b010, 0b100, 0b110])
def test_only_wanted_gradients_are_computed(place, wanted):
    calls = [
        (lambda a, b, c: OPS.vector_add(OPS.matmul(a, b), c), [(3, 4), (4, 5), (5,)]),
        (lambda a, b, c: OPS.bias_add_activation(OPS.matmul(a, b), c, "tanh"),
            [(3, 4), (4, 5), (5,)]),
        (lambda a, b, c: OPS.conv2d_maxpool(a, b, c, 1), [(1, 2, 4, 4), (3, 2, 1, 1), (3,)]),
        (lambda a, b, c: OPS.ffnn_forward(a, [b], [c]), [(3, 4), (4, 5), (5,)]),
    ]  # fmt: skip
    for call, shapes in calls:
        every = [normal(*shape, seed=i).to(place).clone() for i, shape in enumerate(shapes)]
        some = [x.clone().requires_grad_(bool(wanted >> i & 1)) for i, x in enumerate(every)]
        call(*some).square().sum().backward()
        call(*(x.requires_grad_() for x in every)).square().sum().backward()
        for i, (one, reference) in enumerate(zip(some, every, strict=True)):
            assert (one.grad is not None) == bool(wanted >> i & 1)
            assert one.grad is None or torch.equal(one.grad, reference.grad)


@pytest.mark.parametrize("place", PLACES)
def test_no_gradient_is_recorded_when_gradients_are_off(place):
    a, b = normal(3, 4).to(place).clone().requires_grad_(), normal(4, 5).to(place)
    with torch.no_grad():
        assert not OPS.matmul(a, b).requires_grad
    with torch.inference_mode():
        assert OPS.matmul(a, b).is_inference()


@pytest.mark.parametrize("place", PLACES)
def test_the_gradient_of_a_gradient_is_refused_clearly(place):
    a = normal(3, 4).to(place).requires_grad_()
    b = normal(4, 5).to(place).requires_grad_()
    (gradient,) = torch.autograd.grad(OPS.matmul(a, b).sum(), a, create_graph=True)
    torch.testing.assert_close(gradient.detach().cpu(), b.detach().cpu().sum(1).expand(3, 4))
    with pytest.raises(
        RuntimeError, match="neuron_sim::matmul: the gradient of its gradient is not"
    ):
        gradient.sum().backward()


@pytest.mark.parametrize("place", PLACES)
def test_predictions_have_no_gradient(place):
    x = normal(3, 4).to(place).requires_grad_()
    weight, bias = normal(4, 5).to(place).requires_grad_(), normal(5).to(place)
    assert not OPS.ffnn_predict(x, [weight], [bias]).requires_grad


@pytest.mark.parametrize("place", PLACES)
def test_an_input_changed_before_backward_is_noticed(place):
    a = normal(3, 4).to(place)
    b = normal(4, 5).to(place).requires_grad_()
    version = a._version
    out = OPS.matmul(a, b)
    assert a._version == version
    a.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.kernel = torch.nn.Parameter(normal(3, 2, 3, 3) / 4)
        self.offset = torch.nn.Parameter(torch.zeros(3))
        self.weight = torch.nn.Parameter(normal(27, 4, seed=2) / 5)
        self.bias = torch.nn.Parameter(torch.zeros(4))

    def forward(self, x):
        x = OPS.conv2d_maxpool(x, self.kernel, self.offset, 2, activation="relu")
        return OPS.ffnn_forward(x.flatten(1), [self.weight], [self.bias])


def test_a_deep_copy_trains_like_the_original_on_every_device():
    x, target = normal(4, 2, 8, 8), torch.tensor([0, 1, 2, 3])
    losses = []
    original = Network()
    for place in PLACES:
        model = copy.deepcopy(original).to(place)
        again = copy.deepcopy(model)
        for candidate in (model, again):
            optimizer = torch.optim.SGD(candidate.parameters(), lr=0.5)
            for _ in range(5):
                optimizer.zero_grad()
                output = candidate(x.to(place))
                loss = torch.nn.functional.nll_loss(output.log(), target.to(place))
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
    assert losses[0] < 1.2
    for loss in losses[1:]:
        assert loss == pytest.approx(losses[0], rel=1e-4)
