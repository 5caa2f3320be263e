"""Pointwise operators."""

import math

import pytest
import torch
from against_cpu import DEVICE, check
from device_type import DEVICE_TYPE

SHAPES = [(), (1,), (10,), (1000,), (3, 1000), (128, 513), (2, 3, 4, 5), (7, 130, 5), (2, 70001)]
UNARY = [
    torch.abs, torch.neg, torch.exp, torch.exp2, torch.expm1, torch.sin, torch.cos,
    torch.tanh, torch.sinh, torch.cosh, torch.asinh, torch.atan, torch.erf, torch.sigmoid,
    torch.square, torch.sign, torch.relu, torch.sinc,
    torch.nn.functional.gelu, torch.nn.functional.silu, torch.nn.functional.mish,
    torch.nn.functional.softplus, torch.nn.functional.hardswish, torch.nn.functional.hardsigmoid,
    torch.nn.functional.leaky_relu, torch.nn.functional.elu, torch.nn.functional.celu,
    torch.nn.functional.selu, torch.nn.functional.softshrink, torch.nn.functional.hardshrink,
    torch.nn.functional.relu6, torch.nn.functional.logsigmoid,
]  # fmt: skip
POSITIVE = [torch.log, torch.log2, torch.log10, torch.log1p, torch.sqrt, torch.rsqrt]
INSIDE_ONE = [torch.asin, torch.acos, torch.atanh, torch.special.logit]
ROUNDING = [torch.floor, torch.ceil, torch.trunc, torch.round, torch.frac]
EDGES = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, -3.4e38, 8388608.5, -0.5, 2.5]


@pytest.mark.parametrize("shape", SHAPES)
def test_two_tensors_are_added_multiplied_and_divided_in_every_shape(shape):
    a, b = torch.randn(shape), torch.randn(shape) + 3
    check(lambda x, y: (x + y) * y / (x * x + 1) - 2 * y, a, b)


@pytest.mark.parametrize("function", UNARY)
def test_functions_agree_with_float64(function):
    check(function, torch.randn(40, 33) * 2, tolerance=4e-6)


@pytest.mark.parametrize("function", POSITIVE)
def test_functions_of_positive_numbers_agree_with_float64(function):
    check(function, torch.rand(40, 33) * 5 + 1e-3, tolerance=4e-6)


@pytest.mark.parametrize("function", INSIDE_ONE)
def test_functions_of_numbers_below_one_agree_with_float64(function):
    check(function, torch.rand(40, 33) * 0.98 + 0.01, tolerance=4e-6)


@pytest.mark.parametrize(
    "function", [*ROUNDING, torch.abs, torch.neg, torch.sqrt, torch.relu, torch.sign, torch.sgn]
)
def test_edges_are_exact(function):
    x = torch.tensor([*EDGES, *torch.randn(100).mul(1e6).tolist()])
    ours = function(x.to(DEVICE)).cpu()
    exact = function(x.double()).float()  # the host's own sqrt may be the neighbour of the root
    torch.testing.assert_close(ours, exact, rtol=0, atol=0, equal_nan=True)


def test_the_tangent_has_its_poles_in_place():
    check(torch.tan, torch.randn(40, 33) * 2, tolerance=2e-5)


@pytest.mark.parametrize(
    "function",
    [torch.exp, torch.tanh, torch.sigmoid, torch.log1p, torch.expm1, torch.erf],
)
def test_infinities_and_nan_go_through_functions_as_in_torch(function):
    x = torch.tensor([math.inf, -math.inf, math.nan, 0.0, -1.0])
    torch.testing.assert_close(function(x.to(DEVICE)).cpu(), function(x), equal_nan=True)


def test_sine_far_out_is_nan_and_not_a_wrong_number():
    near, far = torch.tensor([4e5]), torch.tensor([1e6])
    torch.testing.assert_close(torch.sin(near.to(DEVICE)).cpu(), torch.sin(near.double()).float(),
                               rtol=0, atol=1e-6)  # fmt: skip
    assert torch.sin(far.to(DEVICE)).cpu().isnan().all()


@pytest.mark.parametrize("compare", [torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8])
def test_comparisons_give_bool(compare, dtype):
    a, b = torch.randint(0, 4, (5, 70)).to(dtype), torch.randint(0, 4, (70,)).to(dtype)
    check(compare, a, b, gradients=False)
    check(lambda x: compare(x, 2), a, gradients=False)


def test_large_int32_are_added_compared_and_multiplied_exactly():
    a = torch.randint(-(2**31), 2**31 - 1, (3000,), dtype=torch.int32)
    b = torch.randint(-(2**31), 2**31 - 1, (3000,), dtype=torch.int32)
    for function in (torch.add, torch.sub, torch.mul, torch.maximum, torch.lt, torch.bitwise_xor):
        check(function, a, b)
    check(lambda x: x.clamp(-5, 16777217), a)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16])
def test_narrow_integers_wrap(dtype):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    a, b = (torch.randint(low, high + 1, (1001,), dtype=dtype) for _ in range(2))
    for function in (torch.add, torch.sub, torch.mul, torch.bitwise_and, torch.minimum):
        check(function, a, b)


def test_bool_arithmetic_is_logical():
    a, b = torch.rand(99) > 0.5, torch.rand(99) > 0.5
    for function in (torch.add, torch.mul, torch.logical_and, torch.logical_xor, torch.bitwise_or):
        check(function, a, b)
    check(torch.logical_not, a)
    check(torch.bitwise_not, a)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_reduced_precision_is_rounded_once(dtype):
    a, b = torch.randn(300).to(dtype), torch.randn(300).to(dtype)
    ours = torch.addcmul(a.to(DEVICE), b.to(DEVICE), b.to(DEVICE), value=0.3).cpu()
    exact = a.double() + 0.3 * b.double() * b.double()
    bound = torch.finfo(dtype).eps * exact.abs() / 2 * 1.01 + 1e-6
    assert ((ours.double() - exact).abs() <= bound).all()


def test_dtypes_are_promoted_as_in_torch():
    whole, real = torch.arange(6, dtype=torch.int32), torch.randn(6)
    check(torch.add, whole, real, gradients=False)
    check(torch.true_divide, whole, whole + 1)
    check(torch.add, real.bfloat16(), real, gradients=False)
    check(lambda x: x * 2.5, whole)
    check(lambda x, y: torch.where(x > 2, y, 7), whole, real, gradients=False)


def test_strided_broadcast_and_permuted_operands_are_read_in_place():
    a = torch.randn(8, 64, 6, 6)
    check(torch.add, a, torch.randn(64, 1, 1))
    check(lambda x: x[:, ::2] * x[:, 1::2], torch.randn(40, 60))
    check(lambda x, y: x.t() + y, torch.randn(50, 30), torch.randn(30, 50))
    check(torch.mul, torch.randn(129, 1), torch.randn(1, 77))
    last = a.to(memory_format=torch.channels_last).to(DEVICE)
    assert (last + 1).is_contiguous(memory_format=torch.channels_last)


def test_in_place_operators_write_where_they_read():
    x = torch.randn(30, 20)
    y = x.to(DEVICE)
    address = y.data_ptr()
    y.mul_(3).add_(1).clamp_(min=-2)
    y[:, 1::2] += y[:, ::2]
    x.mul_(3).add_(1).clamp_(min=-2)
    x[:, 1::2] += x[:, ::2]
    assert y.data_ptr() == address
    torch.testing.assert_close(y.cpu(), x)


def test_out_tensors_are_resized_and_cast():
    x = torch.randn(5, 6)
    out = torch.empty(30, device=DEVICE, dtype=torch.float32).view(5, 6).t()
    torch.add(x.to(DEVICE), 1, out=out.resize_(5, 6))
    torch.testing.assert_close(out.cpu(), x + 1)
    half = torch.empty(5, 6, device=DEVICE, dtype=torch.bfloat16)
    torch.mul(x.to(DEVICE), 2, out=half)
    torch.testing.assert_close(half.cpu(), (x * 2).bfloat16())


def test_a_result_that_cannot_be_cast_is_refused():
    out = torch.empty(3, device=DEVICE, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        torch.add(torch.randn(3).to(DEVICE), 1, out=out)


def test_tensors_of_two_devices_are_refused():
    with pytest.raises(RuntimeError, match="same device"):
        torch.randn(3).to(f"{DEVICE_TYPE}:0") + torch.randn(3).to(f"{DEVICE_TYPE}:1")


def test_a_partial_overlap_is_refused():
    x = torch.randn(10).to(DEVICE)
    with pytest.raises(RuntimeError, match="single memory location"):
        x[1:].add_(x[:-1])


def test_float64_is_refused_in_strict_mode_with_the_reason():
    with pytest.raises(NotImplementedError, match="Double"):
        torch.ones(3, dtype=torch.float64).to(DEVICE) * 2


def test_empty_tensors_launch_nothing():
    with torch.neuron_sim.record_launches() as launches:
        assert torch.relu(torch.empty(0, 3).to(DEVICE) + 1).shape == (0, 3)
    assert not launches


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.bfloat16, torch.float32])
def test_the_gradient_of_dropout_is_a_floating_number(dtype):
    gradient = torch.tensor([[1, 0, 3], [4, 5, 6]]).to(dtype)
    mask = torch.tensor([[True, False, True], [True, True, False]])
    check(
        lambda g, m: torch.ops.aten.native_dropout_backward(g, m, 1.25),
        gradient,
        mask,
        gradients=False,
    )


def test_dropout_keeps_the_share_and_follows_the_seed():
    x = torch.ones(200, 300, device=DEVICE, requires_grad=True)
    torch.manual_seed(5)
    y = torch.nn.functional.dropout(x, 0.25)
    torch.manual_seed(5)
    again = torch.nn.functional.dropout(x, 0.25)
    assert torch.equal(y.cpu(), again.cpu())
    assert not torch.equal(torch.nn.functional.dropout(x, 0.25).cpu(), y.cpu())
    kept = (y.detach().cpu() != 0).float().mean()
    assert abs(kept - 0.75) < 0.01
    assert y.detach().cpu().unique().tolist() == pytest.approx([0, 1 / 0.75])
    y.sum().backward()
    assert torch.equal(x.grad.cpu(), y.detach().cpu())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bool, torch.int16, torch.int64])
@pytest.mark.parametrize("shape", [(2, 3), (4, 2, 3), (0, 3)])
def test_an_expanded_tensor_is_filled_with_a_number(dtype, shape):
    # Every element gets the same number, so it is no harm that some are the same memory.
    for write in (lambda x: x.fill_(1), lambda x: x.zero_()):
        base = [torch.tensor([5, 0, 7], device=d).to(dtype) for d in ("cpu", DEVICE)]
        for x in base:
            write(x.expand(shape))
        assert torch.equal(base[1].cpu(), base[0])


def test_other_operators_do_not_write_an_expanded_tensor():
    x = torch.ones(3, device=DEVICE)
    one = torch.ones((), device=DEVICE)
    for write in (lambda y: y.fill_(one), lambda y: y.add_(1), lambda y: y.mul_(y)):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            write(x.expand(2, 3))
    assert x.tolist() == [1, 1, 1]


def test_heaviside_of_nan_is_zero_as_on_the_cpu():
    x = torch.tensor([float("nan"), -1.0, 0.0, 2.0])
    with torch.no_grad():
        found = torch.heaviside(x.to(DEVICE), torch.tensor(0.5, device=DEVICE))
    assert found.tolist() == torch.heaviside(x, torch.tensor(0.5)).tolist() == [0, 0, 0.5, 1]


@pytest.mark.parametrize("eps", [0.2, 0.5, 0.6, 1.5])
def test_logit_limits_its_input_as_on_the_cpu_also_where_the_limits_cross(eps):
    check(lambda x: torch.logit(x, eps), torch.tensor([0.0, 0.3, 0.5, 0.55, 0.7, 1.0, math.nan]))
