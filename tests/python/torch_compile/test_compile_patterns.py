"""Expressions that models write out become one operator of the device."""

import pytest
import torch
from compile_support import (
    compiled,
    fresh_compiler,  # noqa: F401
    on_device,
    only_graph,
)
from device_type import DEVICE_TYPE

TOLERANCES = {torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def written_out(x, weight):
    """As models of transformers do."""
    wide = x.to(torch.float32)
    variance = wide.pow(2).mean(-1, keepdim=True)
    return weight * (wide * torch.rsqrt(variance + 1e-6)).to(x.dtype)


def kernels(function, *arguments, tolerance=1e-5, **options):
    """The number of kernels of the compiled function, whose result must equal the CPU's in
    float64."""
    with torch.no_grad():
        found = compiled(function, **options)(*arguments)
        expected = function(*[x.cpu().double() for x in arguments])
    torch.testing.assert_close(
        found.cpu().double(), expected, rtol=tolerance, atol=tolerance, equal_nan=True
    )
    return only_graph().kernels


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("shape", [(3, 5), (2, 130, 1024), (1, 1), (0, 4)])
def test_a_root_mean_square_norm_is_one_kernel_and_its_weight(dtype, shape):
    x, weight = on_device(*shape, dtype=dtype), on_device(shape[-1], seed=1, dtype=dtype)
    count = kernels(written_out, x, weight, tolerance=TOLERANCES[dtype])
    if x.numel():
        assert count == (1 if dtype == torch.float32 else 2)


def test_nan_and_infinity_stay_in_their_rows():
    x = on_device(4, 8)
    x[0, 3], x[1, 2] = torch.nan, torch.inf
    assert kernels(written_out, x, on_device(8, seed=1)) == 1


def test_squares_may_be_products():
    def function(x):
        return x * ((x * x).mean(1, keepdim=True) + 0.5).rsqrt()

    assert kernels(function, on_device(6, 20)) == 1


@pytest.mark.parametrize("function", [
    lambda x, y: x * (x.pow(2).mean(0, keepdim=True) + 1e-6).rsqrt(),
    lambda x, y: x * (x.pow(2).mean(-1) + 1e-6).rsqrt(),
    lambda x, y: x * (x.pow(3).mean(-1, keepdim=True) + 9).rsqrt(),
    lambda x, y: x * (y.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt(),
    lambda x, y: x * (x.pow(2).mean(-1, keepdim=True) + y[:1, :1].abs()).rsqrt(),
    lambda x, y: x * (x.pow(2).mean((0, 1), keepdim=True) + 1e-6).rsqrt(),
])  # fmt: skip
def test_what_only_looks_like_a_norm_stays_written_out(function):
    assert kernels(function, on_device(7, 7), on_device(7, 7, seed=1)) > 1


def test_a_root_that_others_read_stays_written_out():
    def function(x):
        inverse = (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()
        return x * inverse + inverse

    assert kernels(function, on_device(7, 7)) > 1


def test_a_product_with_a_tensor_of_another_shape_follows_the_norm():
    def function(x, y):
        return x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * y

    assert kernels(function, on_device(3, 7), on_device(3, 7, seed=1)) == 2


def test_a_norm_of_integers_in_fp32_stays_in_fp32():
    def function(x):
        wide = x.to(torch.float32)
        return (8 * wide * (wide.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()).to(torch.int32)

    def norm(x):
        wide = x.to(torch.float32)
        return (wide * (wide.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt()).to(torch.int32)

    x = torch.arange(1, 31, dtype=torch.int32).reshape(3, 10)
    for each in (function, norm):
        torch.testing.assert_close(compiled(each)(x.to(DEVICE_TYPE)).cpu(), each(x))


def test_one_number_has_no_row():
    def function(x):
        return x * (x.pow(2).mean(-1, keepdim=True) + 0.5).rsqrt()

    x = on_device(1)[0]
    torch.testing.assert_close(compiled(function)(x).cpu(), function(x.cpu()))


def test_rows_of_symbolic_sizes_stay_written_out():
    run = compiled(written_out, dynamic=True)
    with torch.no_grad():
        for size in (16, 24):
            x, weight = on_device(3, size), on_device(size, seed=1)
            expected = written_out(x.cpu(), weight.cpu())
            torch.testing.assert_close(run(x, weight).cpu(), expected, rtol=1e-5, atol=1e-5)


def test_a_written_out_norm_trains():
    x, weight = on_device(5, 16).requires_grad_(), on_device(16, seed=1).requires_grad_()
    compiled(written_out)(x, weight).pow(2).sum().backward()
    exact = [y.detach().cpu().double().requires_grad_() for y in (x, weight)]
    written_out(*exact).pow(2).sum().backward()
    for ours, theirs in zip((x, weight), exact, strict=True):
        torch.testing.assert_close(ours.grad.cpu().double(), theirs.grad, rtol=1e-3, atol=1e-4)
