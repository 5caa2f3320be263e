"""Operators of aten on the device, in strict mode: nothing may fall back to the CPU."""

from collections.abc import Iterator

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch


@pytest.fixture(autouse=True)
def strict() -> Iterator[None]:
    """Every operator of a test runs on the device, or raises."""
    torch.manual_seed(0)
    with torch.neuron_sim.strict():
        yield
