"""`torch.neuron_sim.amp`: torch.amp with this device chosen, as torch.cuda.amp is for CUDA."""

from __future__ import annotations

from typing import Any

import torch

from neuron_sim.settings import device_name


class autocast(torch.amp.autocast_mode.autocast):
    """torch.autocast of this device; without `dtype`, torch.get_autocast_dtype decides."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: torch.dtype | None = None,
        cache_enabled: bool | None = None,
    ) -> None:
        super().__init__(device_name(), dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler of this device, with the same arguments."""

    def __init__(self, **options: Any) -> None:
        super().__init__(device_name(), **options)
