"""Instructions that run as they are traced: the values that tensors have meanwhile."""

from typing import Any

import numpy as np

from .active import running

REMEDY = "run it without eager execution"


def refusal(kernel: str, why: str) -> ValueError:
    """The error for a kernel that eager execution cannot run; `why` continues its name."""
    return ValueError(f"kernel '{kernel}' {why}, which eager execution lacks: {REMEDY}.")


def run_of(tensor: Any) -> Any:
    """The launch.eager.EagerRun of a tensor; None while kernels are only traced."""
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
