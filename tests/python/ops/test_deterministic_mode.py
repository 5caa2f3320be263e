"""torch.use_deterministic_algorithms(): new memory is filled; no operator of the device alerts, as
all are deterministic."""

from collections.abc import Iterator

import pytest
import torch
from against_cpu import DEVICE


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)
    torch.utils.deterministic.fill_uninitialized_memory = True


DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.complex64, torch.int8,
          torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_new_memory_is_filled_as_on_the_cpu(dtype):
    torch.neuron_sim.set_fallback_policy("allow")  # zeros of double; until the fixture restores it
    made = [
        lambda d: torch.empty(3, 5, dtype=dtype, device=d),
        lambda d: torch.empty_strided((3, 2), (5, 2), dtype=dtype, device=d),
        lambda d: torch.empty_like(torch.zeros(2, 7, dtype=dtype, device=d)),
        lambda d: torch.zeros(2, dtype=dtype, device=d).resize_(9),
        lambda d: torch.zeros(6, dtype=dtype, device=d).resize_(2),
        lambda d: torch.empty(0, dtype=dtype, device=d),
    ]
    for make in made:
        torch.testing.assert_close(make(DEVICE).cpu(), make("cpu"), equal_nan=True, rtol=0, atol=0)


def test_the_fill_takes_no_simulated_time_and_can_be_switched_off():
    with torch.neuron_sim.record_launches() as launches:
        assert torch.empty(3, device=DEVICE).isnan().all()
    assert [launch.name for launch in launches if launch.name == "fill"] == []
    torch.utils.deterministic.fill_uninitialized_memory = False
    torch.zeros(64, device=DEVICE)
    assert not torch.empty(64, device=DEVICE).isnan().any()


def test_operators_that_alert_elsewhere_do_not_as_theirs_are_deterministic():
    x, index = torch.zeros(4, 3, device=DEVICE), torch.tensor([1, 1], device=DEVICE)
    results = {tuple(x.index_add(0, index, x.new_ones(2, 3)).flatten().tolist()) for _ in range(3)}
    assert len(results) == 1
    x.put_(index, x.new_ones(2))
    x.scatter_add_(0, index.view(2, 1), x.new_ones(2, 1))
    torch.bincount(index)
    x.cumsum(0)
