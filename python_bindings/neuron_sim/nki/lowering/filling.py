"""Tensors of one value, in both languages: zeros, ones and full."""

import numpy as np

from ..tracing import Tensor, buffers, creation, current
from ..tracing.methods import writable
from .movement import dma

_COLUMNS = 4000  # elements per partition of the tile that fills a tensor in HBM


def filled(shape, value, dtype, buffer=None, name: str = "") -> Tensor:
    """A tensor of that value: zeros, ones and full.

    In HBM only scratch memory of the older language (nl.hbm, nl.private_hbm).
    """
    in_hbm = getattr(buffer, "memory", "sbuf") == "hbm"
    if in_hbm:
        trace = current()
        if buffer is buffers.shared_hbm or not trace.is_old or trace.allocation.directly:
            raise ValueError("Creating HBM tensor with init value is not supported.")
    elif hasattr(buffer, "place") and not current().allocation.forced_automatic:
        raise ValueError(
            "Creating SBUF/PSUM tensor with init value is not supported in allocated NKI kernels."
        )
    tensor = creation.ndarray(shape, dtype, buffer, name)
    (_fill_in_hbm if in_hbm else _fill)(tensor, value)
    return tensor


def _fill(tensor: Tensor, value) -> None:
    """memset of a tile, of every block of a tensor with block dimensions."""
    builder = current().builder
    storage = tensor.storage
    storage.written = True
    number = float(value)
    if storage.whole is None or (storage.memory == "psum" and storage.axis > 0):
        for block in np.ndindex(*tensor.shape[: tensor.axis]):
            builder.memset(tensor[block].access, number)
        return
    builder.memset(storage.whole, number)


def _fill_in_hbm(dst: Tensor, value) -> None:
    """A dense HBM tensor of one value, by DMA from a tile that holds it."""
    trace = current()
    writable(dst)
    partitions = trace.target.limits.partitions
    columns, rest = divmod(dst.size, partitions)
    width = min(columns, _COLUMNS)
    tile = trace.tile((partitions, max(width, rest)), dst.dtype, name=dst.name)
    trace.builder.memset(tile.access, float(value))
    for start in range(0, columns, _COLUMNS):
        shape = (partitions, min(width, columns - start))
        part = dst.same_storage(shape, (columns, 1), None, 0, dst.start + start)
        dma(part, tile.narrow(((0, partitions), (0, shape[1]))))
    if rest:
        last = dst.same_storage((1, rest), (rest, 1), None, 0, dst.start + dst.size - rest)
        dma(last, tile.narrow(((0, 1), (0, rest))))
