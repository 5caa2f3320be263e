"""The device interface for TorchDynamo and TorchInductor: current device, streams, properties.

Imports TorchDynamo, so it is imported when that is (`dynamo_import`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch._dynamo.device_interface import DeviceInterface, register_interface_for_device

from neuron_sim.settings import device_name
from neuron_sim.torch_backend import device_module as module
from neuron_sim.torch_backend.state import NO_INDUCTOR, DeviceLike


class Interface(DeviceInterface):
    """The functions of `torch.neuron_sim` under the names that TorchDynamo knows."""

    device: Any = module.device
    Event: Any = module.Event
    Stream: Any = module.Stream

    class Worker(DeviceInterface.Worker):
        """The device in processes that compile."""

        set_device = staticmethod(module.set_device)
        current_device = staticmethod(module.current_device)
        get_device_properties = staticmethod(module.get_device_properties)

    current_device = staticmethod(module.current_device)
    set_device = staticmethod(module.set_device)
    exchange_device = staticmethod(module._exchange_device)
    maybe_exchange_device = staticmethod(module._maybe_exchange_device)
    device_count = staticmethod(module.device_count)
    is_available = staticmethod(module.is_available)
    stream: Any = staticmethod(module.stream)
    current_stream = staticmethod(module.current_stream)
    set_stream = staticmethod(module.set_stream)
    synchronize = staticmethod(module.synchronize)
    memory_allocated = staticmethod(module.memory_allocated)
    is_bf16_supported = staticmethod(module.is_bf16_supported)

    @staticmethod
    def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
        module.set_stream(
            torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)
        )

    @staticmethod
    def get_raw_stream(device_idx: int) -> int:
        """The number of the current stream."""
        return module.current_stream(device_idx).stream_id

    @staticmethod
    def get_compute_capability(device: DeviceLike = None) -> Any:
        """Called by TorchInductor, for the code that it generates."""
        raise NotImplementedError(NO_INDUCTOR)

    @classmethod
    def raise_if_triton_unavailable(cls, device: DeviceLike = None) -> None:
        raise RuntimeError(NO_INDUCTOR)


def register() -> None:
    """Registers the interface for the device and each of its indices."""
    register_interface_for_device(device_name(), Interface)
    try:
        count = module.device_count()
    except ValueError:  # from NEURON_SIM_DEVICES; the first use of the device reports it
        count = 0
    for index in range(count):
        register_interface_for_device(f"{device_name()}:{index}", Interface)
