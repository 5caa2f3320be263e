"""The traces that are running."""

import sys
from typing import TYPE_CHECKING

from neuron_sim import _core

from ..syntax.places import kernel_frame, line_of
from .errors import out_of_kernel

if TYPE_CHECKING:
    from .trace import Trace

running: "list[Trace]" = _core.running_traces
"""The innermost last."""


def current() -> "Trace":
    """The trace of the kernel that is running; err_nki_api_outside_of_nki_kernel otherwise."""
    if not running:
        raise out_of_kernel(sys._getframe(1).f_code.co_name)
    return running[-1]


def note(rule: str, detail: str) -> None:
    """The kernel that is being traced breaks a rule of nki/legality at its present line."""
    frame = kernel_frame()
    place = "" if frame is None else line_of(frame)
    current().noted.append((rule, place, detail))


def check_partitions(count: int) -> None:
    """ValueError, in the vendor's words, for a tile of more partitions than the chip has."""
    most = current().target.limits.partitions
    if count > most:
        raise ValueError(f"number of partitions {count} exceed architecture limitation of {most}.")


def tracing() -> bool:
    """Whether a kernel is being traced."""
    return bool(running)
