"""conv2d_maxpool with dilation, groups and any pooling windows, against float64 oracles."""

import pytest
import torch
from custom_ops_oracle import (
    DEVICES,
    FLOATS,
    OPS,
    POINTWISE,
    activate,
    activation_range,
    assert_within,
    laid_out,
    values,
)
from device_type import DEVICE_TYPE
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

F = torch.nn.functional
SEEDS = st.integers(0, 10**6)
LAYOUTS = ["dense", "transposed", "stepped", "shifted"]
# Large sums are common here, where the float64 gelu of large negative ones has lost its digits.
ACTIVATIONS = [name for name in POINTWISE if name != "gelu"]


def cases(count):
    return settings(
        max_examples=count, derandomize=True, deadline=None, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip


def pairs(low, high):
    """Height and width; one number for both half of the time, as users write it."""
    number = st.integers(low, high)
    return st.one_of(number, st.lists(number, min_size=2, max_size=2))


def both(value):
    return [value, value] if isinstance(value, int) else value


@st.composite
def parameters(draw):
    """Shapes and options for which the kernel and the pooling window fit."""
    groups = draw(st.sampled_from([1, 1, 2, 3, 5, 32, 130]))
    depth = draw(st.sampled_from([1, 2, 3, 7] if groups > 5 else [1, 2, 3, 17, 40, 130]))
    filters = groups * draw(st.sampled_from([1, 2, 3] if groups > 5 else [1, 4, 20, 65]))
    kernel = [draw(st.integers(1, 4)) for _ in range(2)]
    options = {
        "stride": draw(pairs(1, 3)), "padding": draw(pairs(0, 2)), "dilation": draw(pairs(1, 3)),
        "groups": groups, "pool_stride": draw(st.none() | pairs(1, 4)),
    }  # fmt: skip
    pool = draw(pairs(1, 4))
    extent = []
    for axis in range(2):
        convolved = both(pool)[axis] + draw(st.integers(0, 7))
        reach = both(options["dilation"])[axis] * (kernel[axis] - 1) + 1
        stride = both(options["stride"])[axis]
        size = (convolved - 1) * stride + reach - 2 * both(options["padding"])[axis]
        extent.append(size + draw(st.integers(0, stride - 1)))
    images = draw(st.integers(0, 3))
    assume(min(extent) >= 1)
    return [images, groups * depth, *extent], [filters, depth, *kernel], pool, options


def float64_convolution(x, weight, bias, stride, padding, dilation, groups):
    """By unfolding: torch's own takes seconds for many groups in float64."""
    x, weight, bias = x.double(), weight.double(), bias.double()
    size = [
        (x.size(2 + i) + 2 * both(padding)[i] - both(dilation)[i] * (weight.size(2 + i) - 1) - 1)
        // both(stride)[i]
        + 1
        for i in range(2)
    ]
    if x.size(0) == 0:
        return x.new_empty(0, weight.size(0), *size)
    windows = F.unfold(x, list(weight.shape[2:]), dilation, padding, stride)
    windows = windows.reshape(x.size(0), groups, weight[0].numel(), -1)
    filters = weight.reshape(groups, weight.size(0) // groups, -1)
    out = torch.einsum("ngkl,gfk->ngfl", windows, filters).reshape(x.size(0), -1, *size)
    return out + bias[:, None, None]


def composition(x, weight, bias, pool, options, activation="identity"):
    """The same by torch's operators, in the dtype of the tensors."""
    options = dict(options)
    step = options.pop("pool_stride", None)
    out = activate(F.conv2d(x, weight, bias, **options), activation)
    return F.max_pool2d(out, pool, step)


@cases(150)
@given(
    parameters(), st.sampled_from(FLOATS), st.sampled_from(ACTIVATIONS), st.sampled_from(LAYOUTS),
    SEEDS, st.sampled_from([f"{DEVICE_TYPE}:0", "cpu"]),
)  # fmt: skip
def test_general_convolutions_are_those_of_float64(case, dtype, activation, layout, seed, device):
    input_shape, weight_shape, pool, options = case
    x, weight = values(input_shape, dtype, seed), values(weight_shape, dtype, seed + 1)
    bias = values(weight_shape[:1], dtype, seed + 2)
    operands = [laid_out(x, layout, device), laid_out(weight, layout, device), bias.to(device)]
    out = OPS.conv2d_maxpool(*operands, pool, activation=activation, **options)
    plain = {name: value for name, value in options.items() if name != "pool_stride"}
    exact = float64_convolution(x, weight, bias, **plain)
    magnitude = float64_convolution(x.abs(), weight.abs(), bias.abs(), **plain)
    error = (weight[0].numel() + 1) * 2.0**-24 * magnitude
    low, high = activation_range(exact, error, activation, device)
    low, high = (F.max_pool2d(bound, pool, options["pool_stride"]) for bound in (low, high))
    assert out.device == torch.device(device) and out.is_contiguous()
    assert_within(out, low, high, dtype)


@cases(60)
@given(parameters(), st.sampled_from(["meta", "cpu", f"{DEVICE_TYPE}:0"]))
def test_every_device_gives_the_shape_that_torch_gives(case, device):
    input_shape, weight_shape, pool, options = case
    operands = [torch.zeros(shape) for shape in (input_shape, weight_shape, weight_shape[:1])]
    out = OPS.conv2d_maxpool(*(x.to(device) for x in operands), pool, **options)
    assert out.shape == composition(*(x.to("meta") for x in operands), pool, options).shape


CONVOLUTIONS = {
    "dilated": ((2, 3, 11, 12), (4, 3, 3, 3), 2, {"dilation": [2, 3], "padding": 2}),
    "grouped": ((2, 6, 9, 9), (4, 3, 3, 3), 1, {"groups": 2, "stride": 2, "padding": 1}),
    "depthwise": ((1, 8, 8, 7), (16, 1, 3, 2), [2, 1], {"groups": 8}),
    "overlapping": ((2, 3, 10, 11), (4, 3, 3, 3), 3, {"pool_stride": 2, "padding": 1}),
    "gaps": ((2, 3, 10, 11), (4, 3, 2, 2), [1, 2], {"pool_stride": [2, 3]}),
    "a remainder": ((1, 3, 10, 11), (4, 3, 3, 3), [3, 4], {}),
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
@pytest.mark.parametrize("activation", ["identity", "relu", "tanh"])
@pytest.mark.parametrize("device", DEVICES)
def test_gradients_are_those_of_float64(name, activation, device):
    input_shape, weight_shape, pool, options = CONVOLUTIONS[name]
    operands = [values(shape, torch.float32, seed) for seed, shape in
                enumerate((input_shape, weight_shape, weight_shape[:1]))]  # fmt: skip
    leaves = [x.to(device, copy=True).requires_grad_() for x in operands]
    exact = [x.double().requires_grad_() for x in operands]
    out = OPS.conv2d_maxpool(*leaves, pool, activation=activation, **options)
    reference = composition(*exact, pool, options, activation)
    outer = values(reference.shape, torch.float32, 99)
    out.backward(outer.to(device))
    reference.backward(outer.double())
    for leaf, expected in zip(leaves, exact, strict=True):
        assert leaf.grad.device == leaf.device
        torch.testing.assert_close(leaf.grad.cpu().double(), expected.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("place", [(0, 0), (1, 2), (4, 4), (6, 8)])
def test_nan_is_the_maximum_of_every_window_that_holds_it(device, place):
    x = torch.arange(63.0).reshape(1, 1, 7, 9)
    x[0, 0, place[0], place[1]] = float("nan")
    unit, none = torch.ones(1, 1, 1, 1), torch.zeros(1)
    out = OPS.conv2d_maxpool(x.to(device), unit.to(device), none.to(device), 3, pool_stride=2)
    torch.testing.assert_close(out.cpu(), F.max_pool2d(x, 3, 2), equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", "cpu"])
def test_infinite_weights_of_a_group_stay_in_their_filter(device):
    x, weight = values([1, 12, 6, 6], torch.float32, 1), values([8, 3, 3, 3], torch.float32, 2)
    weight[5, 1, 1, 1] = float("inf")
    out = OPS.conv2d_maxpool(x.to(device), weight.to(device), torch.zeros(8).to(device), 1,
                             groups=4).cpu()  # fmt: skip
    torch.testing.assert_close(out, F.conv2d(x, weight, groups=4), rtol=1e-5, atol=1e-5)
    assert out[:, 5].isinf().all() and out[:, :5].isfinite().all()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_groups_that_share_the_array_do_to_each_other_stays_in_place(wrong):
    x, weight = values([2, 8, 7, 6], torch.float32, 1), values([8, 1, 3, 3], torch.float32, 2)
    x[0, 3, 2, 4] = wrong
    options = {"padding": 1, "groups": 8}
    operands = [x, weight, values([8], torch.float32, 3)]
    out = OPS.conv2d_maxpool(*(each.to(DEVICE_TYPE) for each in operands), 1, **options).cpu()
    expected = composition(*operands, 1, options)
    # Other groups see the value times a zero: NaN, but at the places of the group alone.
    reached = ~expected[0, 3].isfinite()
    assert reached.sum() == 9
    assert torch.equal(out[0, 3].isnan(), expected[0, 3].isnan())
    assert torch.equal(out[0, 3].isinf(), expected[0, 3].isinf())
    kept = torch.ones_like(out, dtype=torch.bool)
    kept[0, :, reached] = False
    torch.testing.assert_close(out[kept], expected[kept], rtol=1e-5, atol=1e-5)


def test_one_and_two_numbers_for_a_pair_mean_the_same_in_scripts_too():
    x, weight, bias = values([1, 2, 9, 9], torch.float32, 1), torch.ones(2, 1, 3, 3), torch.zeros(2)
    source = """
    def one(x, weight, bias):
        return torch.ops.neuron_sim.conv2d_maxpool(
            x, weight, bias, 2, stride=2, padding=1, dilation=2, groups=2, pool_stride=1)
    def two(x, weight, bias):
        return torch.ops.neuron_sim.conv2d_maxpool(
            x, weight, bias, [2, 2], stride=[2, 2], padding=[1, 1], dilation=[2, 2], groups=2,
            pool_stride=[1, 1])
    """
    unit = torch.jit.CompilationUnit("\n".join(line[4:] for line in source.splitlines()))
    options = {"stride": 2, "padding": 1, "dilation": 2, "groups": 2, "pool_stride": 1}
    expected = OPS.conv2d_maxpool(x, weight, bias, 2, **options)
    assert torch.equal(unit.one(x, weight, bias), expected)
    assert torch.equal(unit.two(x, weight, bias), expected)
    torch.testing.assert_close(expected, composition(x, weight, bias, 2, options))


REFUSED = {
    "groups of the input": (((1, 5, 8, 8), (4, 2, 3, 3), (4,), {"groups": 2}),
        "groups 2 does not divide the 5 channels of input [1, 5, 8, 8] float32."),
    "groups of the output": (((1, 6, 8, 8), (5, 3, 3, 3), (5,), {"groups": 2}),
        "groups 2 does not divide the 5 output channels of weight [5, 3, 3, 3] float32."),
    "channels of a group": (((1, 6, 8, 8), (4, 6, 3, 3), (4,), {"groups": 2}),
        "dimension 1 of weight [4, 6, 3, 3] float32 is 6, expected 3 (the channels of input per "
        "group)."),
    "dilated kernel": (((1, 2, 8, 8), (4, 2, 3, 3), (4,), {"dilation": [1, 5], "padding": 1}),
        "the kernel width of 3 with dilation 5 exceeds the padded input width of 10 (8 + 2 * 1)."),
    "pooling window": (((1, 2, 8, 8), (4, 2, 3, 3), (4,), {"dilation": 3}),
        "the pooling window height of 3 exceeds the convolution output height of 2."),
    "negative groups": (((1, 2, 8, 8), (4, 2, 3, 3), (4,), {"groups": -1}),
        "groups -1 must be at least 1."),
    "three numbers": (((1, 2, 8, 8), (4, 2, 3, 3), (4,), {"dilation": [1, 1, 1]}),
        "dilation has 3 values, expected 2 (height, width)."),
    "no number": (((1, 2, 8, 8), (4, 2, 3, 3), (4,), {"pool_stride": []}),
        "pool_stride has 0 values, expected 2 (height, width)."),
}  # fmt: skip


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", "cpu", "meta"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_named_in_one_sentence(name, device, gradient):
    (*shapes, options), sentence = REFUSED[name]
    operands = [torch.zeros(shape, device=device, requires_grad=gradient) for shape in shapes]
    with pytest.raises(ValueError) as caught:
        OPS.conv2d_maxpool(*operands, 3, **options)
    assert str(caught.value).split("\n")[0] == f"conv2d_maxpool: {sentence}"


def test_the_largest_window_and_dilation_that_fit_are_computed():
    x, weight = values([1, 2, 8, 9], torch.float32, 1), values([4, 2, 3, 3], torch.float32, 2)
    for pool, options in ((2, {"dilation": [3, 3]}), ([6, 7], {}), (1, {"dilation": [3, 4]})):
        operands = [x, weight, torch.zeros(4)]
        out = OPS.conv2d_maxpool(*(each.to(DEVICE_TYPE) for each in operands), pool, **options)
        expected = composition(*operands, pool, options)
        torch.testing.assert_close(out.cpu(), expected, rtol=1e-5, atol=1e-5)
