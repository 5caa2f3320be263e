"""TorchInductor's registrations for this device: an error that says why it cannot be used.

Without it `torch.compile` of a device tensor ends in a KeyError.
"""

from __future__ import annotations

from typing import Any, NoReturn

from torch._inductor.codegen import wrapper
from torch._inductor.codegen.common import DeviceOpOverrides, register_device_op_overrides
from torch._inductor.scheduler import BaseScheduling

from neuron_sim.settings import device_name
from neuron_sim.torch_backend.state import NO_INDUCTOR


class Scheduling(BaseScheduling):
    """Never created: PythonWrapperCodegen refuses first."""


class PythonWrapperCodegen(wrapper.PythonWrapperCodegen):
    """TorchInductor makes one for each graph on the device."""

    @staticmethod
    def create(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(NO_INDUCTOR)


class CppWrapperCodegen(PythonWrapperCodegen):
    """The wrapper for torch._inductor.config.cpp_wrapper."""


class WrapperFxCodegen(PythonWrapperCodegen):
    """The wrapper for torch._inductor.config.fx_wrapper."""


# Looked up before the wrapper is created.
register_device_op_overrides(device_name(), DeviceOpOverrides())
