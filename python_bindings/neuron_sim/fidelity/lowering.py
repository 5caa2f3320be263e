"""Language functions that become several instructions before any compiler pass."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from neuron_sim import _core
from neuron_sim.fidelity.wording import ITEM_BYTES

ONE = {
    "float32": struct.pack("<f", 1.0),
    "bfloat16": struct.pack("<f", 1.0)[2:],
    "float16": struct.pack("<e", 1.0),
}


def load_identity(builder: _core.Builder, size: int, dtype: str) -> _core.View:
    """The [size, size] identity of PE transposes: a constant of the kernel that a DMA loads.

    Traces of neuronx-cc 2.23 on trn2 show one such load per dtype, at the start of the kernel.
    """
    nothing = bytes(ITEM_BYTES[dtype])
    rows = [b"".join(ONE[dtype] if i == j else nothing for j in range(size)) for i in range(size)]
    constant = builder.constant("identity", [size, size], dtype, b"".join(rows))
    tile = builder.sbuf("identity", [size, size], dtype)
    builder.dma_copy(tile, constant)
    return tile


def transpose(builder: _core.Builder, data: _core.View, identity: _core.View) -> _core.View:
    """nc_transpose on the Tensor engine: `data` [P, F] as weights, the identity as moving data.

    Returns a new PSUM tile [F, P]: of the dtype of `data`, but fp32 on NeuronCore-v2, where it is
    an ordinary product.
    """
    partitions, columns = data.shape[0], data.shape[1]
    exact = builder.architecture != "trn1"
    dtype = data.dtype if exact else "float32"
    turned = builder.psum("transposed", [columns, partitions], dtype)
    moving = identity[0:partitions, 0:partitions]
    builder.nc_matmul(turned, data, moving, accumulate=False, is_transpose=True)
    return turned


def scalar_operand(builder: _core.Builder, column: _core.View) -> _core.View:
    """[P, 1] as the per-partition operand of tensor_scalar, which the hardware reads as fp32."""
    if column.dtype == "float32":
        return column
    operand = builder.sbuf("operand", list(column.shape))
    builder.tensor_copy(operand, column)
    return operand


@dataclass
class PartitionBroadcast:
    """Copies of a row [1, N] on all partitions: a product with a column of ones on the PE.

    The ones are memset once per kernel. A product is at most `columns` wide, a PSUM bank of fp32.
    """

    builder: _core.Builder
    partitions: int
    dtype: str
    columns: int = 512
    ones: _core.View = field(init=False)

    def __post_init__(self) -> None:
        self.ones = self.builder.sbuf("ones", [1, self.partitions], self.dtype)
        self.builder.memset(self.ones, 1.0)

    def in_psum(self, row: _core.View) -> _core.View:
        """A new PSUM tile [partitions, N]; N at most `columns`."""
        tile = self.builder.psum("broadcast", [self.partitions, row.shape[1]])
        self.builder.nc_matmul(tile, self.ones, row, accumulate=False)
        return tile

    def in_sbuf(self, row: _core.View) -> _core.View:
        """A new SBUF tile [partitions, N]."""
        width = row.shape[1]
        copies = self.builder.sbuf("copies", [self.partitions, width], self.dtype)
        for start in range(0, width, self.columns):
            part = slice(start, min(start + self.columns, width))
            tile = self.in_psum(row[0:1, part])
            self.builder.tensor_copy(copies[0 : self.partitions, part], tile)
        return copies
