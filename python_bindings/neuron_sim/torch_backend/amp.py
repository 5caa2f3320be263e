"""`torch.neuron_sim.amp`: torch.amp with this device chosen, as torch.cuda.amp is for CUDA."""

from __future__ import annotations

from typing import Any

import torch

BACKEND = "neuron_sim"


class autocast(torch.amp.autocast_mode.autocast):
    """torch.autocast("neuron_sim"), whose dtype is torch.get_autocast_dtype("neuron_sim") unless
    `dtype` says otherwise."""

    def __init__(
        self,
        enabled: bool = True,
        dtype: torch.dtype | None = None,
        cache_enabled: bool | None = None,
    ) -> None:
        super().__init__(BACKEND, dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """torch.amp.GradScaler("neuron_sim"), with the same arguments."""

    def __init__(self, **options: Any) -> None:
        super().__init__(BACKEND, **options)
