"""Printing of device tensors: from a copy on the host.

PyTorch chooses the format of a tensor's numbers with a dozen operators on the tensor itself, each
of which would be a device program, and one of which (`masked_select`) strict mode refuses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from neuron_sim.settings import device_name


def install() -> None:
    """Replaces the function that formats the elements of a tensor for `repr`, `str` and `print`."""
    torch._tensor_str._tensor_str = _from_the_host(torch._tensor_str._tensor_str)


def _from_the_host(generic: Callable[..., str]) -> Callable[..., str]:
    def _tensor_str(self: torch.Tensor, indent: int, *arguments: Any) -> str:
        # Not for subclasses, such as those of torch.export, which hold no numbers.
        if type(self) in (torch.Tensor, torch.nn.Parameter) and self.device.type == device_name():
            self = self.detach().cpu()
        return generic(self, indent, *arguments)

    return _tensor_str
