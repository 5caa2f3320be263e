"""The legacy tensor types of the device, `torch.neuron_sim.FloatTensor`, as those of torch.cuda."""

from __future__ import annotations

from typing import Any

import torch

from neuron_sim.torch_backend.state import device_index

DTYPES = {
    "BFloat16Tensor": torch.bfloat16,
    "BoolTensor": torch.bool,
    "ByteTensor": torch.uint8,
    "CharTensor": torch.int8,
    "DoubleTensor": torch.float64,
    "FloatTensor": torch.float32,
    "HalfTensor": torch.float16,
    "IntTensor": torch.int32,
    "LongTensor": torch.int64,
    "ShortTensor": torch.int16,
}
"""The dtype of each type."""


class _TensorType(type):
    """A class whose instances are the device's tensors of one dtype."""

    dtype: torch.dtype
    device_type: str

    def __call__(cls, *arguments: Any) -> torch.Tensor:
        """Without arguments an empty tensor, from sizes uninitialised values, else a copy."""
        place = torch.device(cls.device_type, device_index())
        if all(isinstance(size, int) for size in arguments):
            return torch.empty(arguments or (0,), dtype=cls.dtype, device=place)
        (values,) = arguments
        if isinstance(values, torch.Size):
            return torch.empty(values, dtype=cls.dtype, device=place)
        return torch.as_tensor(values).to(place, cls.dtype, copy=True)

    def __instancecheck__(cls, instance: Any) -> bool:
        return (
            isinstance(instance, torch.Tensor)
            and instance.dtype == cls.dtype
            and instance.device.type == cls.device_type
        )


def tensor_type(device_type: str, name: str) -> type:
    """The type `name` of DTYPES; `Tensor.type` takes it, which reads the name of the class."""
    members = {"dtype": DTYPES[name], "device_type": device_type}
    return _TensorType(f"torch.{device_type}.{name}", (), members)
