"""torch_neuronx.DataParallel: a traced module on several NeuronCores of one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from neuron_sim import _C
from neuron_sim.run.torch_neuronx.xla_impl.traced_models import Split, loaded, run_split

__all__ = ["DataParallel"]


class DataParallel(torch.nn.Module):
    """Splits a batch along `dim` among NeuronCores, which run at the same simulated time.

    `device_ids` are numbers or "nc:1" (all cores of the process when None). `split_size` is the
    size of a piece, by default the batch divided by the number of cores. `num_workers` is kept and
    changes nothing: one thread launches on all cores. (Page "PyTorch NeuronX DataParallel API".)

    ValueError for a core that is not there; without dynamic batching, which only `dim` 0 has, also
    for pieces that do not have the size that the model was traced with.
    """

    def __init__(
        self,
        model: torch.jit.ScriptModule,
        device_ids: Sequence[int | str] | None = None,
        dim: int = 0,
        set_dynamic_batching: bool = True,
    ) -> None:
        super().__init__()
        self.module = model
        cores = range(_C.device_count()) if device_ids is None else device_ids
        self.device_ids = [int(str(core).removeprefix("nc:")) for core in cores]
        loaded(model.model).place(self.device_ids)
        self.dim = dim
        self.num_workers = 2 * len(self.device_ids)
        self.split_size: int | None = None
        self._dynamic_batching = set_dynamic_batching and dim == 0

    def disable_dynamic_batching(self) -> None:
        """Pieces must have the traced size from now on."""
        self._dynamic_batching = False

    def forward(self, *inputs: Any) -> Any:
        """The outputs of the whole batch, on the CPU."""
        length = pytree.tree_leaves(inputs)[0].shape[self.dim]
        size = self.split_size or max(1, length // len(self.device_ids))
        split = Split(self.device_ids, self.dim, size, self._dynamic_batching)
        return run_split(split, lambda: self.module(*inputs))
