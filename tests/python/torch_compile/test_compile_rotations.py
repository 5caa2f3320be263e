"""Turns of rotary positions become a product with the values of the elements."""

import pytest
import torch
from compile_support import (
    compiled,
    fresh_compiler,  # noqa: F401
    on_device,
)


def rotated(x):
    """As models of transformers write it."""
    return torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).flatten(-2)


def of_halves(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def widened(x):
    return rotated(x.float())


def of_heads(x):
    """[B, T, H * 8] by heads."""
    return rotated(x.view(*x.shape[:2], -1, 8).transpose(1, 2))


def of_some(x):
    return torch.cat([rotated(x[..., :6]), x[..., 6:]], -1)


def of_all_but_the_last(x):
    return torch.stack((-x[..., 1:-2:2], x[..., 0:-2:2]), dim=-1).flatten(-2)


def of_uneven_parts(x):
    return torch.cat((-x[..., 3:], x[..., :3]), dim=-1)


def turned_back(x):
    return torch.stack((x[..., 1::2], -x[..., 0::2]), dim=-1).flatten(-2)


def holds_a_product(function, x):
    """Whether the Tensor engine works in the compiled function, whose result must be the CPU's."""
    run = compiled(function)
    with torch.no_grad():
        run(x)
        with torch.neuron_sim.record_launches() as launches:
            values = run(x)
    assert torch.equal(values.cpu(), function(x.cpu()))
    return any(launch.utilisation.get("Tensor", 0) > 0 for launch in launches)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("function", "shape"), [
    (rotated, (2, 3, 5, 8)), (rotated, (1, 3, 5, 8)), (rotated, (1, 1, 1, 8)), (rotated, (7, 2)),
    (of_halves, (2, 3, 5, 8)), (of_halves, (1, 3, 5, 6)), (widened, (1, 3, 5, 8)),
    (of_heads, (1, 5, 24)), (of_heads, (2, 1, 24)), (of_some, (1, 3, 8)),
])  # fmt: skip
def test_a_rotation_is_a_product(function, shape, dtype):
    assert holds_a_product(function, on_device(*shape, dtype=dtype))


@pytest.mark.parametrize(("function", "dtype"), [
    (of_all_but_the_last, torch.float32), (of_uneven_parts, torch.float32),
    (turned_back, torch.float32), (rotated, torch.int32),
])  # fmt: skip
def test_what_only_looks_like_it_stays(function, dtype):
    assert not holds_a_product(function, on_device(3, 8).to(dtype))


def test_gradients_are_those_of_the_elements():
    x = on_device(3, 5, 8).requires_grad_()
    weight = on_device(3, 5, 8, seed=1)
    compiled(rotated)(x).backward(weight)
    assert torch.equal(x.grad.cpu(), rotated(weight.cpu()).neg())


def test_rows_cross_hbm_in_about_the_time_of_their_bytes():
    x = on_device(1, 16, 512, 128, dtype=torch.bfloat16)
    times = []
    for function in (rotated, torch.neg):
        run = compiled(function)
        with torch.no_grad(), torch.neuron_sim.record_launches() as launches:
            run(x)
        times.append(sum(launch.body_us for launch in launches))
    assert times[0] < 6 * times[1]
