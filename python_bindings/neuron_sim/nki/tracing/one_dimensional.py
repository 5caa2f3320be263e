"""Tiles that the older language declares with the partition dimension alone."""

from typing import Any

from .tensor import Storage, Tensor


def insufficient_rank(sizes: tuple) -> ValueError:
    """The vendor's error for a tile without a free dimension."""
    return ValueError(
        f"Insufficient rank: an on-chip tensor of shape {list(sizes)} needs a partition "
        "dimension and at least one free dimension."
    )


class OneDimensional(Tensor):
    """A tile [P]. Kernels that ran on trn1 declare one and then give its name to a loaded column;
    no instruction can read or write it, and it takes no memory."""

    __slots__ = ()

    def __init__(self, trace: Any, name: str, buffer: Any, sizes: tuple, dtype: Any):
        storage = Storage(trace, name, buffer, sizes, dtype, None, trace.open_scopes[-1])
        super().__init__(storage, sizes, dtype, 0)

    def same_storage(self, *_pattern: Any) -> Tensor:
        """No part of it can be used either."""
        raise insufficient_rank(self.shape)

    @property
    def access(self):
        raise insufficient_rank(self.shape)
