"""The tiles and HBM tensors of a replayed kernel, laid out by its profile's addresses."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from neuron_sim import _core
from neuron_sim.fidelity.replay.operands import (
    CORE_WINDOW,
    ITEMSIZE,
    PARTITION_STRIDE,
    PSUM_START,
    Access,
    TransferSide,
)

BYTES = "uint8"
"""The dtype of a transfer whose bytes no instruction computes with."""

UPPER_HALF = 128 << 10
LOWERED = 16 << 10
"""The compiler fills SBUF from both ends and uses the last 16 KiB, where kernels place no tiles
(limits.sbuf_usable): the upper half lies that much lower here, where it overlaps no other tile."""


@dataclass(frozen=True)
class OnChip:
    """Bytes [low, high) of each partition from `partition` on."""

    memory: str
    """sbuf or psum"""
    partition: int
    low: int
    high: int
    dtype: str

    def meets(self, other: OnChip) -> bool:
        return self.memory == other.memory and self.low < other.high and other.low < self.high


def _place(address: int) -> tuple[str, int, int]:
    """Memory, partition and byte of a linear address of an engine."""
    memory = "sbuf" if address < PSUM_START else "psum"
    partition, byte = divmod(address % PSUM_START, PARTITION_STRIDE)
    if memory == "sbuf" and byte >= UPPER_HALF:
        byte -= LOWERED
    elif memory == "sbuf" and byte >= UPPER_HALF - LOWERED:
        raise ValueError(f"byte {byte} of SBUF is in the middle, where the upper half goes")
    return memory, partition, byte


def on_chip_of(access: Access, dtype: str = "") -> OnChip:
    """The bytes of an operand; `dtype` where the profile does not say. A pattern that runs
    backwards (weights) begins at its last element."""
    dtype = access.dtype or dtype
    length = access.elements * ITEMSIZE[dtype]
    back = length - ITEMSIZE[dtype] if access.run < 0 else 0
    memory, partition, low = _place(access.address - back)
    return OnChip(memory, partition, low, low + length, dtype)


def _transfer_bytes(side: TransferSide) -> tuple[OnChip, int]:
    """The bytes and the number of partitions of the on-chip side of a transfer: its outermost
    dimension counts partitions, the others follow each other without gaps."""
    memory, partition, low = _place(side.address - CORE_WINDOW)
    run = side.element_bytes
    for stride, size in zip(side.strides[:-1], side.sizes[:-1], strict=True):
        if stride != run:
            raise ValueError(f"on-chip pattern {list(side.strides)}{list(side.sizes)} has gaps")
        run *= size
    if not side.strides or side.strides[-1] != PARTITION_STRIDE:
        raise ValueError(f"on-chip pattern {list(side.strides)} does not count partitions")
    return OnChip(memory, partition, low, low + run, side.dtype), side.sizes[-1]


def _span(side: TransferSide) -> tuple[int, int]:
    """First byte and end of the HBM side of a transfer."""
    last = sum(s * (n - 1) for s, n in zip(side.strides, side.sizes, strict=True))
    return side.address, side.address + last + side.element_bytes


@dataclass
class _Tensor:
    """HBM bytes [low, high) of an argument (`table`) or of the address space (-1)."""

    table: int
    low: int
    high: int
    dtype: str
    written: bool


class Memory:
    """Places every tile on construction; returns views of them. Tiles in PSUM begin with a bank
    (of `bank` bytes per partition), as the Builder wants them, instructions anywhere in it."""

    def __init__(
        self,
        builder: _core.Builder,
        accesses: Iterable[OnChip],
        transfers: Sequence[tuple[TransferSide, ...]],
        bank: int,
    ) -> None:
        self._computed = list(accesses)
        on_chip = list(self._computed)
        tensors = []
        for source, target in transfers:
            dtype = self.transfer_dtype(source, target)
            for side in (source, target):
                if side.on_chip:
                    access, _ = _transfer_bytes(side)
                    on_chip.append(replace(access, dtype=side.dtype or dtype))
                else:
                    low, high = _span(side)
                    tensors.append(
                        _Tensor(side.table, low, high, side.dtype or dtype, side is target)
                    )
        on_chip = [_from_bank(access, bank) for access in on_chip]
        self._tiles = [(bytes_, _tile(builder, bytes_)) for bytes_ in _merged(on_chip)]
        self._tensors = [(tensor, _hbm(builder, tensor)) for tensor in _merged_tensors(tensors)]

    def transfer_dtype(self, source: TransferSide, target: TransferSide) -> str:
        """Dtype of the elements that a transfer moves: taken from the instructions that compute
        with its on-chip bytes."""
        for side in (source, target):
            if not side.on_chip:
                continue
            access, _ = _transfer_bytes(side)
            for other in self._computed:
                if other.meets(access):
                    return other.dtype
        return BYTES

    def view(self, access: OnChip, partitions: int) -> _core.View:
        """[partitions, elements] of on-chip bytes."""
        for bytes_, tile in self._tiles:
            if bytes_.meets(access) and bytes_.dtype == access.dtype:
                size = _itemsize(access.dtype)
                first = (access.low - bytes_.low) // size
                part = slice(access.partition - bytes_.partition, None)
                part = slice(part.start, part.start + partitions)
                return tile[part, first : first + (access.high - access.low) // size]
        raise ValueError(f"no tile at byte {access.low} of {access.memory}")

    def transfer_view(self, side: TransferSide, dtype: str) -> _core.View:
        """One side of a transfer; its dimensions are the pattern's, outermost first, and the
        elements."""
        size = _itemsize(dtype)
        shape = [*reversed(side.sizes), side.element_bytes // size]
        if side.on_chip:
            access, partitions = _transfer_bytes(side)
            return _split(self.view(replace(access, dtype=dtype), partitions), 1, shape[1:])
        low, high = _span(side)
        for tensor, view in self._tensors:
            if tensor.table == side.table and tensor.low <= low < tensor.high:
                flat = view[(low - tensor.low) // size : (high - tensor.low) // size]
                return _strided(flat, side, size)
        raise ValueError(f"no tensor at address {side.address:#x}")


def _from_bank(access: OnChip, bank: int) -> OnChip:
    """The bytes of a tile that holds an access."""
    return (
        replace(access, low=access.low - access.low % bank) if access.memory == "psum" else access
    )


def _itemsize(dtype: str) -> int:
    return ITEMSIZE.get(dtype, 1)


def _merged(accesses: Iterable[OnChip]) -> list[OnChip]:
    """One interval for all that share bytes and a dtype; the partitions from the first one on."""
    merged: list[OnChip] = []
    for access in sorted(accesses, key=lambda a: (a.memory, a.dtype, a.low, a.high)):
        last = merged[-1] if merged else None
        if last is not None and last.meets(access) and last.dtype == access.dtype:
            merged[-1] = replace(
                last,
                high=max(last.high, access.high),
                partition=min(last.partition, access.partition),
            )
        else:
            merged.append(access)
    return merged


def _tile(builder: _core.Builder, access: OnChip) -> _core.View:
    elements = (access.high - access.low) // _itemsize(access.dtype)
    return builder.place(
        access.memory,
        f"{access.memory}_{access.low:x}_{access.dtype}",
        [128 - access.partition, elements],
        access.dtype,
        access.low,
        access.partition,
    )


def _merged_tensors(tensors: list[_Tensor]) -> list[_Tensor]:
    """Arguments first, by their index; one interval for all transfers that share bytes."""
    merged: list[_Tensor] = []
    for tensor in sorted(tensors, key=lambda t: (t.table < 0, t.table, t.low, t.high)):
        last = merged[-1] if merged else None
        if last is not None and last.table == tensor.table and tensor.low < last.high:
            if last.dtype != tensor.dtype:
                raise ValueError(
                    f"HBM at {tensor.low:#x} is {last.dtype} in one transfer and {tensor.dtype} in "
                    "another"
                )
            last.high = max(last.high, tensor.high)
            last.written = last.written or tensor.written
        else:
            merged.append(tensor)
    return merged


def _hbm(builder: _core.Builder, tensor: _Tensor) -> _core.View:
    """Written HBM that is not an argument holds intermediate results. Read-only HBM existed
    before: the profile does not show its bytes, so the caller passes them."""
    shape = [(tensor.high - tensor.low) // _itemsize(tensor.dtype)]
    if tensor.table < 0 and tensor.written:
        return builder.scratch(f"scratch_{tensor.low:x}", shape, tensor.dtype)
    label = f"argument_{tensor.table}" if tensor.table >= 0 else f"constant_{tensor.low:x}"
    return builder.argument(label, shape, tensor.dtype)


def _split(view: _core.View, dimension: int, shape: Sequence[int]) -> _core.View:
    """One dimension as several, outermost first."""
    for position in range(len(shape) - 1):
        view = view.split(dimension + position, shape[position], math.prod(shape[position + 1 :]))
    return view


def _strided(flat: _core.View, side: TransferSide, size: int) -> _core.View:
    """The dimensions of an HBM pattern on the bytes that it covers; together they have no gaps."""
    order = sorted(range(len(side.strides)), key=lambda i: -side.strides[i])
    run = side.element_bytes
    for index in reversed(order):
        if side.strides[index] != run:
            raise ValueError(f"HBM pattern {list(side.strides)}{list(side.sizes)} has gaps")
        run *= side.sizes[index]
    view = _split(flat, 0, [*(side.sizes[i] for i in order), side.element_bytes // size])
    wanted = list(reversed(range(len(side.strides))))
    return view.permute([*(order.index(i) for i in wanted), len(order)])
