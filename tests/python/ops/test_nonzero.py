"""nonzero and nonzero_static: the device compares, places are int64 index arithmetic."""

import pytest
import torch
from against_cpu import DEVICE

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16,
    torch.int32, torch.int64, torch.bool,
]  # fmt: skip


def sample(dtype, *shape):
    return (torch.randint(0, 3, shape) % 2).to(dtype)


def same(function, x):
    assert torch.equal(function(x.to(DEVICE)).cpu(), function(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (0,), (2, 0)], ids=str)
def test_places_are_those_of_the_cpu(dtype, shape):
    x = sample(dtype, *shape)
    same(torch.nonzero, x)
    same(lambda t: torch.nonzero(t, out=torch.empty(0, dtype=torch.int64, device=t.device)), x)
    for size in (0, 2, 30):
        same(lambda t, size=size: torch.nonzero_static(t, size=size, fill_value=-7), x)
    if shape:
        same(lambda t: torch.stack(torch.where(t)), x)
        same(lambda t: torch.nonzero(t.transpose(0, -1)), x)


def test_nan_and_infinity_are_not_zero_and_minus_zero_is():
    same(torch.nonzero, torch.tensor([0.0, -0.0, float("nan"), float("inf"), 1e-45]))


def test_only_the_comparison_takes_simulated_time():
    x = torch.ones(4, 5, device=DEVICE)
    with torch.neuron_sim.record_launches() as launches:
        x.nonzero()
    assert [launch.operator for launch in launches] == ["aten::ne"]


@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_a_wrong_out_is_refused_as_on_the_cpu(device):
    x = torch.ones(3, device=device)
    with pytest.raises(RuntimeError, match="Long|long"):
        torch.nonzero(x, out=torch.empty(0, device=device))
    with pytest.raises(RuntimeError, match="size|non-negative"):
        torch.nonzero_static(x, size=-1)
