"""mm, addmm, bmm, baddbmm, mv, dot, linear, matmul and einsum on the device."""

import pytest
import torch
from against_cpu import DEVICE
from dense_oracle import all_floats, assert_same, check, on_device, random
from device_type import DEVICE_TYPE

CASES = {
    "mm": (torch.mm, [(130, 257), (257, 515)]), "mm of one": (torch.mm, [(1, 1), (1, 1)]),
    "bmm": (torch.bmm, [(7, 33, 65), (7, 65, 130)]),
    "bias": (torch.addmm, [(51,), (130, 25), (25, 51)]),
    "row bias": (torch.addmm, [(130, 1), (130, 25), (25, 51)]),
    "baddbmm": (torch.baddbmm, [(7, 1, 13), (7, 33, 65), (7, 65, 13)]),
    "mv": (torch.mv, [(300, 200), (200,)]), "addmv": (torch.addmv, [(300,), (300, 200), (200,)]),
    "dot": (torch.dot, [(1000,), (1000,)]), "ger": (torch.ger, [(130,), (51,)]),
    "linear": (torch.nn.functional.linear, [(3, 5, 64), (70, 64), (70,)]),
    "matmul": (torch.matmul, [(2, 1, 5, 64), (3, 64, 9)]),
    "einsum": (lambda q, k: torch.einsum("bqhd,bkhd->bhqk", q, k), [(2, 5, 3, 16), (2, 7, 3, 16)]),
}  # fmt: skip


@all_floats
@pytest.mark.parametrize("name", CASES)
def test_a_product_and_its_gradients_are_those_of_float64(name, dtype):
    function, sizes = CASES[name]
    check(function, *[random(*size, seed=i) for i, size in enumerate(sizes)], dtype=dtype, factor=4)


@all_floats
def test_operands_of_any_strides_are_read_where_they_lie(dtype):
    check(torch.mm, random(257, 130).t(), random(515, 257).t(), dtype=dtype, factor=4)
    wide = random(40, 60)
    check(torch.mm, wide[::2, 1::3], wide[1:21, ::2], dtype=dtype, backward=False, factor=4)


@all_floats
def test_repeated_operands_are_read_once(dtype):
    def function(left, right):
        return torch.bmm(left.expand(4, 6, 5), right.expand(4, 5, 3))

    check(function, random(4, 1, 5), random(5, 3), dtype=dtype, factor=8)


@pytest.mark.parametrize("beta, alpha", [(1, 1), (0.5, -2), (0, 3), (2, 1)])
def test_beta_and_alpha_scale_addend_and_product(beta, alpha):
    def function(addend, left, right):
        return torch.addmm(addend, left, right, beta=beta, alpha=alpha)

    check(function, random(31), random(5, 40), random(40, 31), factor=4)


def test_a_beta_of_zero_ignores_an_addend_that_is_not_a_number():
    def function(left, right):
        addend = torch.full((3, 5), float("nan"), dtype=left.dtype).to(left.device)
        return torch.addmm(addend, left, right, beta=0)

    check(function, random(3, 4), random(4, 5), backward=False)


def test_a_product_over_an_empty_dimension_is_the_scaled_addend():
    check(torch.mm, random(3, 0), random(0, 5), backward=False)
    check(torch.bmm, random(2, 3, 0), random(2, 0, 5), backward=False)
    check(
        lambda c, a, b: torch.addmm(c, a, b, beta=2), random(5), random(3, 0), random(0, 5),
        backward=False,
    )  # fmt: skip
    check(torch.mm, random(0, 4), random(4, 5), backward=False)


def test_depths_rows_and_columns_beyond_sbuf_stream():
    check(torch.mm, random(5, 20000), random(20000, 3), backward=False, factor=100)
    check(
        torch.nn.functional.linear, random(2, 64), random(50257, 64), random(50257), backward=False,
        factor=4,
    )  # fmt: skip


def test_a_nan_spoils_its_row_only():
    left = random(64, 64)
    left[3, 7] = float("nan")
    check(torch.mm, left, random(64, 64), backward=False, factor=4)


def test_in_place_and_out_variants_write_the_given_tensor():
    left, right = random(13, 7), random(7, 5)
    with torch.neuron_sim.strict():
        target = on_device(random(13, 5, seed=1))
        address = target.data_ptr()
        target.addmm_(on_device(left), on_device(right), beta=0.25)
        assert target.data_ptr() == address
        assert_same(target, random(13, 5, seed=1).addmm_(left, right, beta=0.25), torch.float32)
        torch.mm(on_device(left), on_device(right), out=target)
    assert_same(target, left @ right, torch.float32)


def test_the_second_device_computes_too():
    check(torch.mm, random(9, 7), random(7, 5), device=f"{DEVICE_TYPE}:1")


def test_integers_are_refused_with_the_reason():
    left = torch.ones(2, 2, dtype=torch.int32, device=DEVICE_TYPE)
    with torch.neuron_sim.strict(), pytest.raises(NotImplementedError, match="float32, float16"):
        torch.mm(left, left)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (2, 0, 4), (0, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_linear_backward_has_the_gradients_of_linear(shape, dtype):
    x, weight, bias = (torch.randn(s, dtype=dtype) for s in (shape, (5, 4), (5,)))
    gradient = torch.randn(*shape[:-1], 5, dtype=dtype)
    leaves = [t.double().requires_grad_() for t in (x, weight, bias)]
    torch.nn.functional.linear(*leaves).backward(gradient.double())
    there = [t.to(DEVICE) for t in (x, gradient, weight)]
    found = torch.ops.aten.linear_backward(*there, [True, True, True])
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    for ours, leaf in zip(found, leaves, strict=True):
        assert ours.dtype == dtype and ours.device == torch.device(DEVICE)
        torch.testing.assert_close(ours.cpu().double(), leaf.grad, rtol=tolerance, atol=tolerance)
    strided = torch.ops.aten.linear_backward(
        *(t.to(DEVICE) for t in (x, gradient)), weight.t().contiguous().to(DEVICE).t(), [True] * 3
    )
    assert all(torch.equal(a, b) for a, b in zip(strided, found, strict=True))


def test_linear_backward_makes_only_the_gradients_that_are_asked_for():
    x, gradient, weight = (torch.ones(s, device=DEVICE) for s in ((2, 3), (2, 4), (4, 3)))
    for wanted in ([True, False, False], [False, True, False], [False, False, True]):
        with torch.neuron_sim.record_launches() as launches:
            found = torch.ops.aten.linear_backward(x, gradient, weight, wanted)
        assert [t is not None for t in found] == wanted and len(launches) == 1


def test_operands_of_linear_backward_that_do_not_fit_are_named():
    x = torch.ones(2, 3, device=DEVICE)
    with pytest.raises(RuntimeError, match="the input has 2 dimensions, the gradient 1"):
        torch.ops.aten.linear_backward(x, x[0], torch.ones(4, 3, device=DEVICE), [True] * 3)
    with pytest.raises(RuntimeError, match="invalid for input of size|cannot be multiplied"):
        torch.ops.aten.linear_backward(x, x, torch.ones(4, 3, device=DEVICE), [True] * 3)
