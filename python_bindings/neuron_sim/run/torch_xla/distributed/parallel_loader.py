"""torch_xla.distributed.parallel_loader: batches on the device, a step after each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from neuron_sim.run.torch_xla.core import xla_model

__all__ = ["MpDeviceLoader", "ParallelLoader"]


class MpDeviceLoader:
    """The batches of a loader with their tensors on the device; each is a step.

    Options of prefetching are taken and change nothing: a copy is made when its batch is asked for.
    NotImplementedError for `input_sharding`.
    """

    def __init__(
        self,
        loader: Any,
        device: str | torch.device,
        batches_per_execution: int = 1,
        input_sharding: Any = None,
        **prefetching: Any,
    ) -> None:
        self._loader = loader
        self._device = device
        self._batches = batches_per_execution
        self._input_sharding = input_sharding

    def __iter__(self) -> Iterator[Any]:
        for number, batch in enumerate(self._loader, start=1):
            yield xla_model.send_cpu_data_to_device([batch], self._device, self._input_sharding)[0]
            if number % self._batches == 0:
                xla_model.mark_step()

    def __len__(self) -> int:
        return len(self._loader)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_loader"], name)  # such as the sampler, or the dataset


class ParallelLoader:
    """A loader for the one device that this process trains on."""

    def __init__(
        self, loader: Iterable[Any], devices: Sequence[str | torch.device], **options: Any
    ) -> None:
        self._loader = loader
        self._options = options

    def per_device_loader(self, device: str | torch.device) -> MpDeviceLoader:
        """The batches on this device."""
        return MpDeviceLoader(self._loader, device, **self._options)
