"""Whether a result of the device equals that of the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from placement import DEVICE, tensors
from torch.utils import _pytree as pytree

# (relative, absolute). Those of torch.testing, float32 wider: the chip's activation tables and its
# order of summation are not those of the host.
TOLERANCES = {
    torch.float16: (1e-3, 1e-4), torch.bfloat16: (1.6e-2, 1e-4), torch.float32: (1e-4, 1e-5),
    torch.complex32: (1e-3, 1e-4), torch.complex64: (1e-4, 1e-5),
}  # fmt: skip
# A result that is further from the CPU's is right if it is not much further from the exact one.
ERROR_RATIO = 2.0


class DifferenceError(AssertionError):
    """The device computed something else than the CPU."""


def check_same(found: Any, expected: Any, exact: Callable[[], Any]) -> int:
    """Raises DifferenceError unless `found` (device) equals `expected` (CPU) in structure, shapes,
    dtypes and values. `exact` computes the same in double precision; it is called when rounding
    may be the reason of a difference. Returns how many values were compared.
    """
    found_leaves, found_structure = pytree.tree_flatten(found)
    leaves, structure = pytree.tree_flatten(expected)
    if found_structure != structure:
        raise DifferenceError(f"the result has structure {found_structure}, not {structure}")
    exact_leaves: list[torch.Tensor] | None = None
    values = 0
    for index, (left, right) in enumerate(zip(found_leaves, leaves, strict=True)):
        if not isinstance(right, torch.Tensor):
            _check_scalar(left, right)
            values += 1
            continue
        _check_place(left, right)
        values += right.numel()
        difference = _difference(left, right)
        if difference is None:
            continue
        if exact_leaves is None:
            exact_leaves = _exact(exact, expected)
        position = sum(isinstance(leaf, torch.Tensor) for leaf in leaves[:index])
        if not _rounded_alike(left, right, exact_leaves, position):
            raise DifferenceError(difference)
    return values


def _check_scalar(left: Any, right: Any) -> None:
    if isinstance(right, torch.device | torch.Generator):
        return
    if isinstance(right, float | complex):
        torch.testing.assert_close(left, right, rtol=1e-4, atol=1e-5, equal_nan=True)
    elif left != right:
        raise DifferenceError(f"the result is {left!r}, not {right!r}")


def _check_place(left: Any, right: torch.Tensor) -> None:
    if not isinstance(left, torch.Tensor) or left.device.type != DEVICE:
        raise DifferenceError("a result is not on the device")
    if left.shape != right.shape or left.dtype != right.dtype:
        raise DifferenceError(
            f"a result is {tuple(left.shape)} {left.dtype}, not {tuple(right.shape)} {right.dtype}"
        )


def _host(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().resolve_conj().resolve_neg().cpu()


def _difference(left: torch.Tensor, right: torch.Tensor) -> str | None:
    bits_only = right.is_floating_point() and right.itemsize == 1  # compared as bits
    relative, absolute = TOLERANCES.get(right.dtype, (0, 0) if bits_only else (1e-7, 1e-7))
    try:
        torch.testing.assert_close(
            _host(left), _host(right), rtol=relative, atol=absolute, equal_nan=True
        )
    except AssertionError as error:
        return " ".join(str(error).split())[:300]
    return None


def _exact(exact: Callable[[], Any], expected: Any) -> list[torch.Tensor]:
    """The exact results, or none when the operator has no double precision."""
    try:
        found = tensors(exact())
    except Exception:
        return []
    return found if len(found) == len(tensors(expected)) else []


def _rounded_alike(
    left: torch.Tensor, right: torch.Tensor, exact: list[torch.Tensor], index: int
) -> bool:
    if not (right.is_floating_point() or right.is_complex()) or index >= len(exact):
        return False
    truth = exact[index]
    if truth.shape != right.shape:
        return False
    wide = torch.complex128 if right.is_complex() else torch.float64
    truth, device, host = (_host(t).to(wide) for t in (truth, left, right))
    finite = truth.isfinite() & host.isfinite()
    same_special = torch.equal(device[~finite].isnan(), host[~finite].isnan())
    if not same_special or not bool(device[finite].isfinite().all()):
        return False
    if not bool(finite.any()):
        return True
    device_error = (device - truth)[finite].abs().max()
    host_error = (host - truth)[finite].abs().max()
    scale = truth[finite].abs().max()
    rounding = torch.finfo(right.dtype).eps * scale
    return bool(device_error <= ERROR_RATIO * host_error + 4 * rounding)
