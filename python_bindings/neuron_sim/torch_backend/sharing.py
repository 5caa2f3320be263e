"""Passing device tensors out of their process or PyTorch: multiprocessing and DLPack."""

from __future__ import annotations

import threading
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any, NoReturn

import torch
from torch.multiprocessing import reductions
from torch.utils.dlpack import DLDeviceType

from neuron_sim.settings import device_name


def install() -> None:
    """Refuses device tensors in queues and pipes with a reason; gives DLPack the device's type."""
    for kind in (torch.Tensor, torch.nn.Parameter):
        ForkingPickler.register(kind, _reduce)
    torch.Tensor.__dlpack_device__ = _dlpack_device_of(torch.Tensor.__dlpack_device__)


def _reduce(tensor: torch.Tensor) -> Any:
    """The form in which torch.multiprocessing sends a tensor through a queue or pipe."""
    if tensor.device.type != device_name():
        return reductions.reduce_tensor(tensor)
    if threading.current_thread().name == _FEEDER:
        return _refuse, (str(tensor.device),)
    _refuse(str(tensor.device))


# The thread of a multiprocessing.Queue that pickles its items. An error there is printed, and
# whoever waits for the item waits forever, so it is raised by the process that gets the item.
_FEEDER = "QueueFeederThread"


def _refuse(device: str) -> NoReturn:
    raise RuntimeError(
        f"a tensor on {device} cannot be shared with another process: the HBM of a "
        "simulated device belongs to the process that uses it; send tensor.cpu() and move it to "
        "the device there"
    )


def _dlpack_device_of(generic: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """torch.Tensor.__dlpack_device__, which knows out-of-tree devices only by the name
    "privateuse1", which they all rename (https://github.com/pytorch/pytorch/pull/195815)."""

    def __dlpack_device__(self: torch.Tensor) -> tuple[Any, int]:
        if type(self) in (torch.Tensor, torch.nn.Parameter) and self.device.type == device_name():
            return DLDeviceType.kDLExtDev, self.device.index or 0
        return generic(self)

    return __dlpack_device__
