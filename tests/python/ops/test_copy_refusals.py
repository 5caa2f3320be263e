"""Copies, losses, comparisons and remainders that the CPU refuses, or answers, alike."""

import pytest
import torch
from against_cpu import DEVICE, check
from device_type import DEVICE_TYPE
from test_refusals import refused
from torch.nn import functional


def test_a_copy_onto_itself_in_another_order_is_refused_and_changes_nothing():
    for copy in (
        lambda x: x.copy_(x.t()),
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: x.view(torch.int16)[:2].view(4, 4).copy_(x),
        lambda x: x[:1].expand(4, 4).copy_(x.clone()),
    ):
        for device in ("cpu", DEVICE):
            x = torch.arange(16.0).view(4, 4).to(device)
            with pytest.raises(RuntimeError, match="memory location"):
                copy(x)
            assert torch.equal(x.cpu(), torch.arange(16.0).view(4, 4))


def test_a_copy_onto_the_very_same_elements_is_none():
    x = torch.arange(16.0).view(4, 4)
    check(lambda t: t.clone().copy_(t), x, gradients=False)
    y = x.to(DEVICE)
    assert torch.equal(y.copy_(y).cpu(), x) and torch.equal(y.copy_(y.view(4, 4)).cpu(), x)


@pytest.mark.parametrize(
    ("source", "target"),
    [((3,), (0,)), ((3,), (2,)), ((2, 3), (3,)), ((2, 3), (0, 3)), ((0,), (3,)), ((2,), (2, 3))],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64])
def test_shapes_that_do_not_broadcast_are_not_copied(source, target, dtype):
    texts = set()
    for place in ("cpu", DEVICE):
        for origin in {"cpu", place}:
            x = torch.zeros(target, dtype=dtype, device=place)
            with pytest.raises(RuntimeError) as error:
                x.copy_(torch.ones(source, dtype=dtype, device=origin))
            texts.add(str(error.value))
    assert len(texts) == 1
    check(lambda t: torch.zeros(0, 3, device=t.device).copy_(t), torch.ones(3), gradients=False)


@pytest.mark.parametrize("target", [torch.uint8, torch.int8, torch.int16])
@pytest.mark.parametrize("source", [torch.float32, torch.float16, torch.bfloat16])
def test_floats_beyond_a_small_integer_wrap_as_on_the_cpu(source, target):
    values = [-1.5, 300.0, -0.5, 256.0, 1e4, 255.9, -256.0, -257.0, 127.0, 128.0, -128.0, -129.0,
              32767.0, 32768.0, -32768.0, 65535.0, 5e4, 0.0, -0.0]  # fmt: skip
    x = torch.tensor(values).to(source)
    check(lambda t: t.to(target), x[x.isfinite()], gradients=False)
    check(lambda t: torch.zeros_like(t, dtype=target).copy_(t), x[x.isfinite()], gradients=False)


@pytest.mark.parametrize("bad", [2.0, -1e-6, 1.01, float("nan"), float("inf")])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_cross_entropies_of_what_is_no_probability_are_refused(bad, dtype):
    for name in ("input", "target"):

        def loss(device, name=name):
            values = {"input": [0.5, 0.5], "target": [0.5, 1.0]}
            values[name][1] = bad
            x, y = (torch.tensor(values[n], dtype=dtype) for n in ("input", "target"))
            return functional.binary_cross_entropy(x.to(device), y.to(device))

        text = refused(loss, RuntimeError)
        assert text == f"all elements of {name} should be between 0 and 1"
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda x, y: functional.binary_cross_entropy(x * 1, y), backend=DEVICE_TYPE
    )
    x, y = torch.tensor([0.25, 1.0], device=DEVICE), torch.tensor([0.0, 1.0], device=DEVICE)
    expected = functional.binary_cross_entropy(x.cpu(), y.cpu())
    torch.testing.assert_close(compiled(x, y).cpu(), expected)
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        compiled(torch.tensor([0.25, bad], device=DEVICE), y)


def test_bools_are_compared_with_numbers_of_64_bits():
    x = torch.tensor([True, False])
    for number in (2**31, -(2**31) - 1, 2**31 - 1, 2**62, -(2**62), 1, 0, 2):
        for compare in (torch.lt, torch.le, torch.gt, torch.ge, torch.eq, torch.ne):
            check(lambda t, c=compare, n=number: c(t, n), x, gradients=False)


@pytest.mark.parametrize("number", [-3, 300, 2**31, -(2**31), 2**31 + 5, 7])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_divisors_wrap_to_the_dtype_of_the_tensor(dtype, number):
    x = torch.tensor([0, 1, 3, 100, -5, 2**31 - 1]).to(dtype)
    for divide in (torch.remainder, torch.fmod, torch.floor_divide,
                   lambda t, n: torch.div(t, n, rounding_mode="trunc")):  # fmt: skip
        if int(torch.tensor(number).to(dtype)) == 0:
            refused(lambda device, d=divide: d(x.to(device), number), RuntimeError)
        else:
            check(lambda t, d=divide: d(t, number), x, gradients=False)


def test_masks_of_bytes_are_deprecated():
    mask = torch.tensor([1, 0, 2], dtype=torch.uint8)
    torch.set_warn_always(True)
    try:
        for device in ("cpu", DEVICE):
            with pytest.warns(UserWarning, match="dtype torch.uint8 is now deprecated"):
                assert torch.arange(3.0, device=device)[mask.to(device)].tolist() == [0, 2]
    finally:
        torch.set_warn_always(False)
