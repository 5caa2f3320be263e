"""The custom ops against a float64 oracle, on both devices and the CPU, in many layouts."""

import pytest
import torch
from custom_ops_oracle import (
    ACTIVATIONS,
    DEVICES,
    FLOATS,
    INTEGERS,
    LAYOUTS,
    OPS,
    POINTWISE,
    activate,
    activation_range,
    as_seen,
    assert_within,
    laid_out,
    network_bounds,
    ulp,
    values,
)
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

SEEDS = st.integers(0, 10**6)


def cases(count):
    return settings(
        max_examples=count, derandomize=True, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def sizes(largest, least=1):
    """Small sizes, sizes next to the chip's tiles, and others up to `largest`."""
    edges = [n for n in (0, 1, 2, 127, 128, 129, 513) if least <= n <= largest]
    return st.one_of(st.sampled_from(edges), st.integers(least, min(20, largest)))


@cases(200)
@given(
    st.lists(sizes(40, least=0), min_size=0, max_size=4), st.sampled_from(FLOATS + INTEGERS),
    st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS), SEEDS, st.sampled_from(DEVICES),
    st.integers(0, 15),
)  # fmt: skip
def test_vector_add_is_the_rounded_sum(shape, dtype, layout_a, layout_b, seed, device, broadcast):
    shape_b = [1 if broadcast >> i & 1 else size for i, size in enumerate(shape)]
    shape_b = shape_b[1:] if broadcast == 15 else shape_b
    a, b = values(shape, dtype, seed), values(shape_b, dtype, seed + 1)
    out = OPS.vector_add(laid_out(a, layout_a, device), laid_out(b, layout_b, device))
    a, b = as_seen(a, layout_a), as_seen(b, layout_b)
    assert out.device == torch.device(device) and out.is_contiguous()
    if dtype in INTEGERS:
        assert torch.equal(out.cpu(), a + b)
    else:
        exact = a.double() + b.double()
        assert_within(out, exact, exact, dtype)


@cases(140)
@given(
    st.lists(sizes(130, least=0), min_size=0, max_size=2), sizes(300), st.sampled_from(FLOATS),
    st.sampled_from(ACTIVATIONS), st.sampled_from(LAYOUTS),
    st.sampled_from(["dense", "stepped", "shifted"]), SEEDS, st.sampled_from(DEVICES),
)  # fmt: skip
def test_bias_add_activation_rounds_once(
    leading, features, dtype, activation, layout_x, layout_bias, seed, device
):
    x, bias = values([*leading, features], dtype, seed), values([features], dtype, seed + 1)
    out = OPS.bias_add_activation(
        laid_out(x, layout_x, device), laid_out(bias, layout_bias, device), activation
    )
    sums = as_seen(x, layout_x).double() + as_seen(bias, layout_bias).double()
    low, high = activation_range(sums, ulp(sums, torch.float32) / 2, activation, device)
    assert_within(out, low, high, dtype)


@st.composite
def convolutions(draw):
    """Sizes that fit together: the pool divides the output of the convolution."""
    pool = draw(st.integers(1, 3))
    kernel = [draw(st.integers(1, 4)) for _ in range(2)]
    stride = [draw(st.integers(1, 3)) for _ in range(2)]
    padding = [draw(st.integers(0, 2)) for _ in range(2)]
    extent = []
    for axis in range(2):
        convolved = pool * draw(st.integers(1, 6))
        size = (convolved - 1) * stride[axis] + kernel[axis] - 2 * padding[axis]
        assume(size >= 1)
        extent.append(size + draw(st.integers(0, stride[axis] - 1)))
    images, channels = draw(st.integers(0, 3)), draw(st.sampled_from([1, 2, 3, 8, 17, 130]))
    filters = draw(st.sampled_from([1, 4, 20, 129]))
    return [images, channels, *extent], [filters, channels, *kernel], pool, stride, padding


@cases(90)
@given(
    convolutions(), st.sampled_from(FLOATS), st.sampled_from(POINTWISE),
    st.sampled_from(["dense", "transposed", "stepped", "shifted"]), SEEDS, st.sampled_from(DEVICES),
)  # fmt: skip
def test_conv2d_maxpool_is_convolution_activation_and_pool(
    case, dtype, activation, layout, seed, device
):
    input_shape, weight_shape, pool, stride, padding = case
    x, weight = values(input_shape, dtype, seed), values(weight_shape, dtype, seed + 1)
    bias = values(weight_shape[:1], dtype, seed + 2)
    out = OPS.conv2d_maxpool(
        laid_out(x, layout, device), laid_out(weight, layout, device), bias.to(device), pool,
        stride=stride, padding=padding, activation=activation,
    )  # fmt: skip
    options = {"stride": stride, "padding": padding}
    exact = torch.nn.functional.conv2d(x.double(), weight.double(), bias.double(), **options)
    magnitude = torch.nn.functional.conv2d(
        x.double().abs(), weight.double().abs(), bias.double().abs(), **options
    )
    terms = weight[0].numel() + 1
    low, high = activation_range(exact, terms * 2.0**-24 * magnitude, activation, device)
    low, high = (torch.nn.functional.max_pool2d(bound, pool) for bound in (low, high))
    assert_within(out, low, high, dtype)


@st.composite
def networks(draw):
    widths = draw(st.lists(st.sampled_from([1, 2, 7, 64, 128, 129, 200]), min_size=2, max_size=4))
    return draw(st.sampled_from([0, 1, 5, 128, 150])), widths


def make_network(widths, dtype, seed):
    pairs = list(zip(widths[:-1], widths[1:], strict=True))
    weights = [
        values(pair, torch.float32, seed + i) / pair[0] ** 0.5 for i, pair in enumerate(pairs)
    ]
    biases = [values([pair[1]], torch.float32, seed + 9 + i) for i, pair in enumerate(pairs)]
    return [w.to(dtype) for w in weights], [b.to(dtype) for b in biases]


@cases(80)
@given(
    networks(), st.sampled_from(FLOATS),
    st.sampled_from(["identity", "relu", "gelu", "sigmoid", "tanh"]),
    st.sampled_from(["identity", "relu", "sigmoid", "softmax"]),
    st.sampled_from(["dense", "transposed", "stepped", "shifted"]), SEEDS, st.sampled_from(DEVICES),
)  # fmt: skip
def test_ffnn_forward_is_all_layers(network, dtype, hidden, output, layout, seed, device):
    batch, widths = network
    x = values([batch, widths[0]], dtype, seed + 100)
    weights, biases = make_network(widths, dtype, seed)
    out = OPS.ffnn_forward(
        laid_out(x, layout, device), [laid_out(weight, layout, device) for weight in weights],
        [bias.to(device) for bias in biases], hidden_activation=hidden, output_activation=output,
    )  # fmt: skip
    low, high = network_bounds(x, weights, biases, hidden, output, device)
    assert_within(out, low, high, dtype)


@cases(50)
@given(networks(), st.sampled_from(FLOATS), SEEDS, st.sampled_from(DEVICES))
def test_ffnn_predict_is_the_index_of_a_largest_output(network, dtype, seed, device):
    batch, widths = network
    x = values([batch, widths[0]], dtype, seed + 100)
    weights, biases = make_network(widths, dtype, seed)
    arguments = [x.to(device), [w.to(device) for w in weights], [b.to(device) for b in biases]]
    classes = OPS.ffnn_predict(*arguments)
    assert classes.dtype == torch.int64 and classes.device == torch.device(device)
    outputs = OPS.ffnn_forward(*arguments).cpu().float()
    assert torch.equal(classes.cpu(), outputs.argmax(-1))  # argmax: the first of equal ones


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("special", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinity_pass_through_arithmetic(device, special):
    a = values([130, 140], torch.float32, 1)
    a[3, 5], a[129, 139] = special, special
    b = values([140, 60], torch.float32, 2)
    out = OPS.vector_add(a.to(device), a.to(device)).cpu()
    torch.testing.assert_close(out, a + a, rtol=0, atol=0, equal_nan=True)
    out = OPS.transpose(a.to(device)).cpu()
    torch.testing.assert_close(out, a.t(), rtol=0, atol=0, equal_nan=True)
    out = OPS.matmul(a.to(device), b.to(device)).cpu()
    torch.testing.assert_close(out, a @ b, rtol=1e-4, atol=1e-4, equal_nan=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("activation", POINTWISE)
def test_activations_of_special_values_are_those_of_torch(device, activation):
    x = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0, -0.0, -1.0])
    out = OPS.bias_add_activation(x.to(device), torch.zeros(6, device=device), activation).cpu()
    expected = activate(x + 0.0, activation)
    if activation == "gelu":  # its limits; torch computes inf * 0
        expected[1:3] = torch.tensor([float("inf"), 0.0])
    torch.testing.assert_close(out, expected, equal_nan=True)


@pytest.mark.parametrize("device", DEVICES)
def test_pooling_propagates_nan(device):
    x = torch.ones(1, 1, 4, 4)
    x[0, 0, 1, 1] = float("nan")
    out = OPS.conv2d_maxpool(x.to(device), torch.ones(1, 1, 1, 1, device=device),
                             torch.zeros(1, device=device), 2).cpu()  # fmt: skip
    assert out.isnan().flatten().tolist() == [True, False, False, False]


@pytest.mark.parametrize("device", DEVICES)
def test_overlapping_and_negative_views_are_read_as_torch_reads_them(device):
    base = torch.arange(12, dtype=torch.float32, device=device)
    windows = base.as_strided([5, 4], [2, 1])  # rows share elements
    out = OPS.vector_add(windows, windows).cpu()
    assert torch.equal(out, base.cpu().as_strided([5, 4], [2, 1]) * 2)
    pair = torch.view_as_complex(torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device))
    negative = pair.conj().imag
    assert negative.is_neg()
    assert OPS.vector_add(negative, negative).tolist() == [-4.0, -8.0]
