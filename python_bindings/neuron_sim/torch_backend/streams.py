"""Streams, events and simulated time for `torch.neuron_sim`."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Literal

import torch

from neuron_sim import _C
from neuron_sim.settings import device_name
from neuron_sim.torch_backend.state import DeviceLike, current_device, device_index


class _OnDevice(type):
    """Metaclass of Stream and Event: PyTorch accepts only its own classes as arguments, so they
    create those, and objects of those on this device count as their instances."""

    def __instancecheck__(cls, instance: Any) -> bool:
        base: Any = cls.__mro__[1]
        return isinstance(instance, base) and instance.device.type == device_name()


class Stream(torch.Stream, metaclass=_OnDevice):
    """An in-order queue of tasks on one device. Priorities are accepted and ignored."""

    def __new__(cls, device: DeviceLike = None, priority: int = 0, **kwargs: Any) -> Any:
        if "stream_id" in kwargs:
            return torch.Stream(**kwargs)
        place = torch.device(device_name(), device_index(device))
        return torch.Stream(device=place, priority=priority, **kwargs)


class Event(torch.Event, metaclass=_OnDevice):
    """A point in simulated time; elapsed_time is in simulated milliseconds."""

    def __new__(cls, enable_timing: bool = False, blocking: bool = False) -> Any:
        del blocking  # everything has been computed when a call returns
        return torch.Event(device=torch.device(device_name()), enable_timing=enable_timing)


def current_stream(device: DeviceLike = None) -> torch.Stream:
    """This thread's current stream on `device`."""
    return torch.accelerator.current_stream(device_index(device))


def default_stream(device: DeviceLike = None) -> torch.Stream:
    """The stream that is current at first."""
    index = device_index(device)
    device_type = current_stream(index).device_type
    return torch.Stream(stream_id=0, device_index=index, device_type=device_type)


def set_stream(stream: torch.Stream) -> None:
    """Makes `stream` current on its device."""
    torch.accelerator.set_stream(stream)


class StreamContext:
    """Context manager that makes a stream (and its device) current; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._previous: torch.Stream | None = None
        self._previous_device = -1

    def __enter__(self) -> torch.Stream | None:
        if self.stream is not None:
            index = self.stream.device.index
            self._previous_device = _C.exchange_device(index)
            self._previous = current_stream(index)
            set_stream(self.stream)
        return self.stream

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> Literal[False]:
        if self._previous is not None:
            set_stream(self._previous)
            _C.set_device(self._previous_device)
        return False


stream = StreamContext


def wait_stream(stream: torch.Stream) -> None:
    """The current stream waits for what `stream` has been given so far."""
    current_stream().wait_stream(stream)


def wait_event(event: torch.Event) -> None:
    """The current stream waits for `event`."""
    current_stream().wait_event(event)


def record_event(event: torch.Event | None = None) -> torch.Event:
    """Records `event`, or a new one, on the current stream."""
    return current_stream().record_event(event)


def query() -> bool:
    """Always true: everything has been computed when a call returns."""
    return current_stream().query()


def _sleep(cycles: int) -> None:
    """Occupies the current stream for that many cycles of the vector engine, as torch.cuda._sleep
    does. ValueError below 0."""
    _C.sleep_cycles(current_device(), cycles)


def synchronize(device: DeviceLike = None) -> None:
    """Waits, in simulated time, for everything submitted to `device`."""
    _C.synchronize(device_index(device))


def simulated_time(device: DeviceLike = None) -> float:
    """The device's clock in seconds: the end of everything submitted to it so far."""
    return _C.simulated_time_ps(device_index(device)) * 1e-12
