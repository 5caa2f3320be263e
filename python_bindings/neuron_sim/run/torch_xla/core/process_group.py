"""The process group of torch_xla: "xla" of torch.distributed, the device's own under another name.

`init_method="xla://"` is "env://".
"""

from __future__ import annotations

from typing import Any

import torch.distributed as distributed
from torch.distributed.rendezvous import register_rendezvous_handler, rendezvous

from neuron_sim.torch_backend.distributed import register_backend

XLA = "xla"


def ensure_group() -> None:
    """Creates the default process group where the script has not."""
    if not distributed.is_initialized():
        distributed.init_process_group(XLA)


def _rendezvous(url: str, *arguments: Any, **keywords: Any) -> Any:
    return rendezvous("env://", *arguments, **keywords)


register_backend(XLA)
register_rendezvous_handler(XLA, _rendezvous)
