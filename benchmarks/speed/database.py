"""The row of PyTorch's operator database: every operator that runs without a fallback."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from speed.figures import Figure, ratio
from speed.sizes import Sizes
from speed.timing import Work, alternate, seconds

SLOWEST = 10
BATCH_SECONDS = 1e-3
"""What torch's calls of one repetition take at least, unless one takes longer."""


def _elements(arguments: object) -> int:
    leaves = pytree.tree_leaves(arguments)
    return sum(leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor))


def _on_device(leaf: Any) -> Any:
    if isinstance(leaf, torch.Tensor) or (isinstance(leaf, torch.device) and leaf.type == "cpu"):
        moved = torch.device("neuron_sim")
        return leaf.to(moved) if isinstance(leaf, torch.Tensor) else moved
    return "neuron_sim" if isinstance(leaf, str) and leaf == "cpu" else leaf


def _largest_calls(limit: int | None) -> Iterator[tuple[str, Work, Work]]:
    """Each operator of `op_db`, or the first ones, on its sample of the most float32 elements: its
    name, the call on the device and the call on the host."""
    # It takes seconds, and no other row needs it.
    from torch.testing._internal.common_methods_invocations import op_db

    for op in op_db[:limit]:
        if torch.float32 not in op.supported_dtypes("cpu"):
            continue
        torch.manual_seed(5)
        samples = op.sample_inputs_func(op, "cpu", torch.float32, False)
        arguments = [(sample.input, *sample.args, sample.kwargs) for sample in samples]
        if not arguments:
            continue
        host = max(arguments, key=_elements)
        try:
            device = pytree.tree_map(_on_device, host)
        except (NotImplementedError, RuntimeError):  # a layout that the device does not have
            continue
        name = ".".join(filter(None, (op.name, op.variant_test_name)))
        yield name, partial(_call, op, device), partial(_call, op, host)


def _call(op: Callable[..., object], arguments: Sequence[Any]) -> object:
    return op(*arguments[:-1], **arguments[-1])


def _runs_without_fallback(work: Work) -> bool:
    try:
        with torch.neuron_sim.strict():
            work()
    except Exception:
        return False
    return True


def _ratio_at(share: float, times: Sequence[tuple[str, float, float]], name: str) -> Figure:
    """The ratio that the operators of that share do not exceed; `times` are in its order."""
    operator, ours, torchs = times[min(len(times) - 1, int(share * len(times)))]
    return ratio(name, ours * 1e6, torchs * 1e6, "us", operator)


@torch.no_grad()
def whole_database(sizes: Sizes) -> list[Figure]:
    """Every operator that runs without a fallback, by its time against the host's."""
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, device, host in _largest_calls(sizes.operators):
            if not _runs_without_fallback(device):
                continue
            host()
            calls = max(1, min(sizes.calls, int(BATCH_SECONDS / max(seconds(host), 1e-6))))
            times.append((name, *alternate([device, host], sizes.repetitions, calls)))
    times.sort(key=lambda each: each[1] / each[2])
    slowest = ", ".join(f"{name} {ours / torchs:.1f}" for name, ours, torchs in times[-SLOWEST:])
    return [
        Figure("operators", len(times), note=f"slowest: {slowest}"),
        _ratio_at(0.5, times, "median"),
        _ratio_at(0.9, times, "90 %"),
        _ratio_at(0.99, times, "99 %"),
    ]
