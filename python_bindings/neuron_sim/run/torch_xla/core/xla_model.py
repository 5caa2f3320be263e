"""torch_xla.core.xla_model: see the package."""

from __future__ import annotations

import torch

__all__ = ["mark_step", "wait_device_ops", "xla_device"]


def xla_device(n: int | None = None, devkind: str | None = None) -> torch.device:
    """The device of tensors that NKI kernels take."""
    return torch.device("cpu")


def mark_step(wait: bool = False, reset_scope: bool = True) -> None:
    """No effect: operations are not collected into graphs."""


def wait_device_ops(devices: tuple = ()) -> None:
    """No effect: operations are complete when they return."""
