"""Instructions that run as they are traced: the values that tensors have meanwhile."""

from typing import Any

import numpy as np

from neuron_sim import _core

from .active import running
from .dtypes import WIDENED

REMEDY = "run it without eager execution"


def refusal(kernel: str, why: str) -> ValueError:
    """The error for a kernel that eager execution cannot run; `why` continues its name."""
    return ValueError(f"kernel '{kernel}' {why}, which eager execution lacks: {REMEDY}.")


class EagerRun:
    """The run that follows a trace. `arrays`: contents of its first arguments, changed in place."""

    def __init__(self, trace: Any, arrays: list):
        self._trace = trace
        self._arrays = arrays
        self._run = _core.EagerRun(trace._builder)
        for number, array in enumerate(arrays):
            # As integers: bf16 and fp8 have no name there.
            self._run.bind(number, array.view(f"u{array.itemsize}"))

    def contents(self) -> list:
        """An array per argument of the kernel."""
        others = self._trace.arguments[len(self._arrays) :]
        return self._arrays + [
            self._bytes(each).view(each.dtype.numpy).reshape(each.shape) for each in others
        ]

    def values(self, tensor: Any) -> np.ndarray:
        """A copy of a tensor's elements. ValueError for one whose address is read on chip."""
        tensor = tensor.settle()
        if any(each is not None for each in (tensor.index, tensor.register, tensor.dynamic)):
            raise ValueError(f"the elements of `{tensor.name}` are chosen by an index on chip.")
        if tensor.storage.whole is None:
            return self._of_blocks(tensor)
        elements = self._elements(tensor.storage, tensor.dtype)
        rows, free = int(tensor.partition), np.full(tensor.shape, int(tensor.start))
        for axis, place in enumerate(np.indices(tensor.shape, sparse=True)):
            if axis == tensor.axis:
                rows = rows + place * tensor.steps[axis]
            else:
                free += place * tensor.steps[axis]
        found = elements.reshape(-1)[free] if tensor.axis is None else elements[rows, free]
        return found.astype(tensor.dtype.numpy, copy=False)

    def _of_blocks(self, tensor: Any) -> np.ndarray:
        """Tiles that lie apart."""
        if tensor.axis == 0:
            raise ValueError(f"tile `{tensor.name}` without a free dimension has no memory.")
        return np.stack([self.values(tensor[block]) for block in range(tensor.shape[0])])

    def _elements(self, storage: Any, dtype: Any) -> np.ndarray:
        """[partitions, elements] of a tile, or those of an HBM tensor."""
        declared = storage.argument is not None or (
            storage.memory == "hbm" and storage.ordinal is None
        )
        is_wide = self._trace.widens and storage.dtype in WIDENED and not declared
        elements = self._bytes(storage).view(np.float32 if is_wide else dtype.numpy)
        return elements if storage.memory == "hbm" else elements.reshape(storage.whole.shape[0], -1)

    def _bytes(self, storage: Any) -> np.ndarray:
        return np.frombuffer(bytearray(self._run.contents(storage.whole)), np.uint8)


def run_of(tensor: Any) -> EagerRun | None:
    """The run that gives a tensor its values; None while kernels are only traced."""
    if tensor.storage is not None:
        return tensor.storage.trace.eager
    return running[-1].eager if running else None


def values(tensor: Any) -> np.ndarray:
    """Tensor.numpy(). ValueError while kernels are only traced."""
    run = run_of(tensor)
    if run is None:
        raise ValueError(
            f"tensor `{tensor.name}` has no values while its kernel is traced: "
            "`neuron-sim run --eager` runs instructions as they are traced."
        )
    return run.values(tensor)


def shown(tensor: Any) -> str:
    """The values below the description of a tensor; empty for one without."""
    run = run_of(tensor)
    try:
        return "" if run is None else f"\n{run.values(tensor)}"
    except ValueError:
        return ""
