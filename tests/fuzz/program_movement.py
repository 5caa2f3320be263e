"""Random transfers, transposes and gathers of a program, and what registers decide."""

from __future__ import annotations

import numpy as np
from listing import DTYPES, Access, Index, Step
from program_generator import FLOATS, INTEGERS, Generator

# Rows of the tensors that indirect DMA reads and writes.
TABLE_ROWS = 11


def transpose(g: Generator) -> None:
    target = g.target()
    if not target:
        return
    dtype = g.listing.storages[target[0].storage].dtype
    if dtype in ("float8_e5m2", "int8", "uint8"):
        return
    partitions, elements = min(target[1], 32), min(target[2], 32)
    access = g.carve(target[0].storage, partitions, elements, reads=False)
    source = g.source(access, elements, partitions, (dtype,)) if access else None
    if access and source and source is not access:
        if g.random.random() < 0.5:
            g.emit("nc_transpose", {"dst": access, "data": source}, engine="vector")
        else:
            g.emit("dma_transpose", {"dst": access, "src": source})


def shuffle(g: Generator) -> None:
    target = g.target()
    if not target or target[1] % 32 != 0:
        return
    dtype = g.listing.storages[target[0].storage].dtype
    if source := g.source(*target, (dtype,)):
        mask = [g.random.choice([g.pick(0, 31), 255]) for _ in range(32)]
        g.emit("nc_stream_shuffle", {"dst": target[0], "src": source}, shuffle_mask=mask)


def gather(g: Generator) -> None:
    target = g.target()
    if not target:
        return
    dtype = g.listing.storages[target[0].storage].dtype
    size = g.pick(1, g.width)
    source = g.source(target[0], target[1], size, (dtype,))
    if source and source is not target[0]:
        wrong = g.random.random() < 0.02
        random = np.random.default_rng(g.random.getrandbits(63))
        chosen = random.integers(0, size + wrong, target[1:], dtype=np.uint32)
        if places := g.constant_tile(chosen, "uint32"):
            accesses = {"dst": target[0], "data": source, "indices": places}
            g.emit("nc_n_gather", accesses)


def _rows_of(g: Generator, partitions: int) -> tuple[Access, str] | None:
    """Indices of rows in SBUF, some out of range, and the mode that goes with them."""
    random = np.random.default_rng(g.random.getrandbits(63))
    outside = g.random.random() < 0.3
    rows = random.integers(0, TABLE_ROWS + 3 * outside, (partitions, 1)).astype(np.int32)
    if outside and g.random.random() < 0.3:
        rows[0] = -1
    access = g.constant_tile(rows, "int32")
    mode = "error" if g.random.random() < (0.05 if outside else 0.5) else "skip"
    return None if access is None else (access, mode)


def load_rows(g: Generator) -> None:
    """An indirect DMA: rows of a table into a tile, or the other way round."""
    target = g.target()
    if not target:
        return
    access, partitions, elements = target
    dtype = g.listing.storages[access.storage].dtype
    table = g.argument(g.values((TABLE_ROWS, elements), dtype), dtype)
    if not (rows := _rows_of(g, partitions)):
        return
    there = Access(table.storage, rows=(TABLE_ROWS, partitions))
    accesses = {"dst": access, "src": there, "index": rows[0]}
    if g.random.random() < 0.4:
        accesses = {"dst": there, "src": access, "index": rows[0]}
    g.emit(
        "dma_copy", accesses, oob_mode=rows[1], dst_rmw_add=g.random.random() < 0.2,
        unique_indices=False,
    )  # fmt: skip


def transfer(g: Generator) -> None:
    """A DMA between a tile and a tensor, a window of it, or another tile."""
    target = g.target()
    if not target:
        return
    access, partitions, elements = target
    if g.random.random() < 0.3:
        source = g.source(*target)
    else:
        dtype = g.listing.storages[access.storage].dtype
        if g.random.random() < 0.2:
            dtype = g.random.choice(FLOATS[:3] + INTEGERS)
        extra, wide = g.pick(0, 4), g.pick(0, 3)
        tensor = g.argument(g.values((partitions + extra, elements + wide), dtype), dtype)
        source = _window(g, tensor, partitions, extra, elements, wide)
    if source:
        accesses = {"dst": access, "src": source}
        if g.random.random() < 0.3 and source is not access:
            accesses = {"dst": source, "src": access}
        g.emit("dma_copy", accesses, dst_rmw_add=g.random.random() < 0.1)


def _window(g: Generator, tensor: Access, rows: int, extra: int, columns: int, wide: int) -> Access:
    """Rows and columns of a tensor, from a start that loops or a register move."""
    register = None
    row_bytes = (columns + wide) * DTYPES[g.listing.storages[tensor.storage].dtype].itemsize
    start = g.start(extra)
    if g.registers and extra >= 3 and g.random.random() < 0.5:
        register, start = (g.random.choice(g.registers), row_bytes), Index(0)
    steps = (
        Step("slice", (0, start, rows, 1)),
        Step("slice", (1, g.start(wide), columns, 1)),
    )
    return Access(tensor.storage, None, steps, register)


def load_register(g: Generator) -> None:
    """A register between 0 and 3, from memory."""
    if g.large or len(g.registers) >= 3:
        return
    holder = g.constant_tile(np.int32([[g.pick(0, 3)]]), "int32")
    if holder is None:
        return
    register = g.builder.allocate_register()
    if g.emit("register_load", {"src": holder}, dst=register):
        if not g.trips:
            g.registers.append(register)
        if target := g.target(("int32", "uint32")):
            if access := g.carve(target[0].storage, 1, 1, reads=False):
                g.emit("register_store", {"dst": access}, src=register)


def copy_from_offset(g: Generator) -> None:
    target = g.target()
    if not target or g.large:
        return
    size = target[2] + g.pick(0, 3)
    source = g.source(target[0], target[1], size)
    offset = g.constant_tile(np.int32([[g.pick(0, size - target[2])]]), "int32")
    if source and offset and source is not target[0]:
        accesses = {"dst": target[0], "src": source, "offset": offset}
        g.emit("tensor_copy_dynamic_src", accesses)


MOVEMENT = (
    transpose, shuffle, gather, load_rows, transfer, transfer, transfer, load_register,
    copy_from_offset,
)  # fmt: skip
