"""torch_xla.amp: autocast of the device."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["autocast"]


class autocast(torch.autocast):
    """torch.autocast of the device, in bfloat16 by default; `device` is any name of it."""

    def __init__(self, device: Any = None, **options: Any) -> None:
        super().__init__("xla", **options)
