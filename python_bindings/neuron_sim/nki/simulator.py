"""nki.simulator: a kernel on NumPy arrays by one call, as vLLM's CPU mode makes it (the page
vllm-neuron/docs/model-dev/nki_cpu_simulator)."""

from collections.abc import Mapping, Sequence
from typing import Any

from .kernel import simulate

__all__ = ["simulate_kernel"]


def simulate_kernel(
    kernel: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    lnc: int = 1,
    _lnc: int | None = None,
) -> Any:
    """What `nki.simulate(kernel[lnc])(*args, **kwargs)` returns; a plain function becomes a kernel.

    lnc: the physical cores of the logical core; `_lnc` is its name in other releases. Errors as of
    the kernel.
    """
    cores = lnc if _lnc is None else _lnc
    simulated = simulate(kernel)
    return (simulated if cores == 1 else simulated[cores])(*args, **(kwargs or {}))
