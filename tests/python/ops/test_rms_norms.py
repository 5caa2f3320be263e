"""torch.nn.functional.rms_norm on the device."""

import pytest
import torch
from against_cpu import DEVICE, check
from torch.nn import functional

TOLERANCES = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize(("shape", "row"), [
    ((3, 5), (5,)), ((1, 1), (1,)), ((7,), (7,)), ((2, 3, 4), (3, 4)), ((2, 3, 4), (2, 3, 4)),
    ((2, 130, 1023), (1023,)), ((2, 6000), (6000,)), ((0, 5), (5,)), ((3, 0), (0,)),
])  # fmt: skip
@pytest.mark.parametrize("epsilon", [None, 1e-5])
def test_rows_and_gradients_are_those_of_the_cpu(dtype, shape, row, epsilon):
    x, weight = torch.randn(shape, dtype=dtype), torch.randn(row, dtype=dtype)
    with torch.neuron_sim.strict():
        check(
            lambda x, weight: functional.rms_norm(x, row, weight, epsilon),
            x,
            weight,
            tolerance=TOLERANCES[dtype],
        )
        check(lambda x: functional.rms_norm(x, row, None, epsilon), x, tolerance=TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES)
def test_small_rows_meet_the_epsilon_of_fp32(dtype):
    x = (torch.randn(4, 64) * 1e-4).to(dtype)
    found = functional.rms_norm(x.to(DEVICE), (64,)).cpu()
    expected = functional.rms_norm(x, (64,))  # in float64 its epsilon would be smaller
    torch.testing.assert_close(found, expected, rtol=TOLERANCES[dtype], atol=1e-6)


def test_nan_and_infinity_stay_in_their_rows():
    x = torch.randn(4, 8)
    x[0, 3], x[1, 2] = torch.nan, torch.inf
    found = check(lambda x: functional.rms_norm(x, (8,)), x, gradients=False).cpu()
    assert found[0].isnan().all() and found[1, 2].isnan() and found[2:].isfinite().all()


def test_the_numbers_of_empty_rows_are_nan():
    for device in ("cpu", DEVICE):
        x = torch.ones(3, 0, device=device)
        output, numbers = torch.ops.aten._fused_rms_norm(x, (0,), None, 1e-5)
        assert output.shape == (3, 0) and numbers.shape == (3, 1)
        assert numbers.cpu().isnan().all()


def test_a_transposed_input_has_a_dense_result():
    x = torch.randn(8, 6).t()
    assert check(lambda x: functional.rms_norm(x, (8,)), x).is_contiguous()


def test_a_norm_is_one_launch():
    x, weight = torch.randn(5, 16).to(DEVICE), torch.randn(16).to(DEVICE)
    with torch.neuron_sim.record_launches() as launches:
        functional.rms_norm(x, (16,), weight)
    assert len(launches) == 1


def test_gradients_of_gradients_are_those_of_the_cpu():
    def second(x):
        y = functional.rms_norm(x, (4,))
        (first,) = torch.autograd.grad((y + y.pow(2)).sum(), x, create_graph=True)
        return torch.autograd.grad(first.pow(2).sum(), x)[0]

    x = torch.randn(3, 4)
    ours = second(x.to(DEVICE).requires_grad_())
    theirs = second(x.double().requires_grad_())
    torch.testing.assert_close(ours.cpu().double(), theirs, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("call", [
    lambda x: functional.rms_norm(x, (5,)),
    lambda x: functional.rms_norm(x, ()),
    lambda x: functional.rms_norm(x, (4,), x.new_ones(3)),
    lambda x: functional.rms_norm(x.to(torch.int32), (4,)),
])  # fmt: skip
def test_the_cpu_and_the_device_refuse_the_same_calls(call):
    errors = []
    for x in (torch.ones(3, 4), torch.ones(3, 4, device=DEVICE)):
        with pytest.raises(RuntimeError) as caught:
            call(x)
        errors.append(type(caught.value))
    assert errors[0] is errors[1]


def test_a_weight_of_another_dtype_is_multiplied_as_on_the_cpu():
    x, weight = torch.randn(3, 4).bfloat16(), torch.randn(4)
    check(lambda x, w: functional.rms_norm(x, (4,), w), x, weight, tolerance=2e-2)
