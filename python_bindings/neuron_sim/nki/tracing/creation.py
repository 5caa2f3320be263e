"""Creation of tensors in both languages."""

import math

import numpy as np

from ..syntax.places import kernel_frame, line_of
from . import buffers, dtypes
from .active import check_partitions, current
from .blocks import LogicalTiles, OneDimensional, insufficient_rank
from .buffers import Buffer
from .dtypes import dtype_of
from .errors import Retrace
from .expression import Expression
from .tensor import Storage, Tensor
from .trace import Trace


class ParDim(int):
    """nl.par_dim(n): the partition dimension of a shape."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"par_dim({int(self)})"


def sizes_of(shape) -> tuple[tuple, int]:
    """(sizes, position of the partition dimension) of a shape."""
    if isinstance(shape, (int, Expression)):
        shape = (shape,)
    axes = [position for position, size in enumerate(shape) if isinstance(size, ParDim)]
    return tuple([size.__index__() for size in shape]), (axes or [0])[-1]


class NoElements(ValueError):
    """The kernel makes a tensor without elements."""


def ndarray(shape, dtype, buffer=None, name: str = "", address=None) -> Tensor:
    """A new uninitialised tensor; `buffer` None is SBUF."""
    trace = current()
    if buffer is None:
        buffer = buffers.sbuf
    dtype = dtype_of(dtype)
    if type(name) is not str:
        name = _checked_name(name)
    if address is None:
        tile = trace.plain_tile(shape, dtype, buffer, name)
        if tile is not None:
            return tile
    sizes, axis = sizes_of(shape)
    memory = getattr(buffer, "memory", None)
    if memory is None:
        raise TypeError(
            f"buffer must be nl.sbuf, nl.psum, nl.hbm, nl.private_hbm or nl.shared_hbm, "
            f"not {buffer!r}."
        )
    if any(size < 1 for size in sizes):
        raise NoElements(f"a tensor of shape {list(sizes)} has no elements.")
    assigned = trace.assigned_name("tensor", sizes)
    name = name or assigned
    if memory == "hbm":
        return _hbm(trace, sizes, dtype, buffer, name)
    if trace.is_old and len(sizes) == 1:
        check_partitions(sizes[0])
        return OneDimensional(trace, name, buffer, sizes, dtype)
    check_tile_shape(sizes, axis)
    return _on_chip(trace, sizes, axis, dtype, buffer, name, address)


Buffer.view = lambda buffer, dtype, shape, name="": ndarray(shape, dtype, buffer, name)


def _checked_name(name) -> str:
    """`name`, or "" for None; TypeError for anything but text."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"'name' is {name!r:.40}, of type {type(name).__name__}, not a str.")
    return name or ""


def check_tile_shape(sizes: tuple, axis: int) -> None:
    """The vendor's errors for shapes of tiles."""
    if len(sizes) - axis < 2:
        raise insufficient_rank(sizes)
    check_partitions(sizes[axis])


def _on_chip(trace: Trace, sizes, axis, dtype, buffer, name, address) -> Tensor:
    blocks, free = math.prod(sizes[:axis]), math.prod(sizes[axis + 1 :])
    place = getattr(buffer, "place", None)
    if place is not None and trace.allocation.forced_automatic:
        buffer, place = (buffers.psum if buffer.memory == "psum" else buffers.sbuf), None
    if address is not None or place is not None:
        return _placed(trace, sizes, axis, dtype, buffer, name, address)
    trace.allocation.allocate_automatically(name)
    pitch = free
    if buffer.memory == "psum" and blocks > 1:
        bank = trace.target.limits.psum_bank // dtype.itemsize
        pitch = -(-free // bank) * bank
    trace.settle()
    make = trace.builder.psum if buffer.memory == "psum" else trace.builder.sbuf
    if blocks > 1:
        trace.has_blocks = True
        needed = ((blocks - 1) * pitch + free) * dtype.itemsize
        if trace.splits_blocks or needed > trace.target.bytes_per_partition(buffer.memory):
            # Blocks need not live at the same time.
            stored = trace.stored(dtype)
            return LogicalTiles(
                trace, name, buffer, sizes, axis, dtype, lambda _, *tile: make(*tile, stored)
            ).tensor()
    whole = make(name, [sizes[axis], (blocks - 1) * pitch + free], trace.stored(dtype))
    storage = Storage(trace, name, buffer, sizes, dtype, whole, trace.scope(), axis)
    before = [math.prod(sizes[d + 1 : axis]) * pitch for d in range(axis)]
    strides = (*before, *Tensor(storage, sizes[axis:], dtype, 0).steps)
    return Tensor(storage, sizes, dtype, axis, strides)


def _placed(trace: Trace, sizes, axis, dtype, buffer, name, address) -> Tensor:
    """Direct allocation: new language address=(partition, byte), old language an allocator."""
    if address is not None:
        start_partition, byte = address
        shape = [sizes[0], math.prod(sizes[1:])]
        whole = trace.builder.place(buffer.memory, name, shape, dtype.name, byte, start_partition)
        storage = Storage(trace, name, buffer, sizes, dtype, whole, trace.open_scopes[-1])
        return Tensor(storage, sizes, dtype, 0)
    return buffer.place(trace, sizes, axis, dtype, name)


def _hbm(trace: Trace, sizes: tuple, dtype, buffer: Buffer, name: str) -> Tensor:
    """An output (shared_hbm, and private ones that the kernel returns) or scratch memory.

    Instances of a grid that run through the kernel again share what the first one created; each
    core of a logical core has its own private tensors.
    """
    trace.settle()
    ordinal = trace.next_hbm
    trace.next_hbm += 1
    is_shared = buffer is buffers.shared_hbm
    is_output = ordinal in trace.output_ordinals
    label = name
    if trace.core and not (is_shared or is_output):
        label = f"{name}_of_core_{trace.core}"
    elif ordinal < len(trace.hbm):
        storage = trace.hbm[ordinal]
        if storage.shape != sizes or storage.dtype is not dtype:
            raise ValueError(
                f"HBM tensor `{name}` differs between the instances of the grid: "
                f"{list(storage.shape)} and {list(sizes)}."
            )
        return Tensor(storage, sizes, dtype, None)
    if is_shared and len(trace.open_scopes) > 1:
        raise ValueError("shared_hbm buffer can only be created top level kernel scope")
    if is_output or (is_shared and name not in trace.unreturned):
        tensor = _declared(trace, name, buffer, sizes, dtype)
        frame = kernel_frame()
        if frame is not None:
            trace.declared[tensor.storage.argument] = line_of(frame)
    else:
        whole = trace.builder.scratch(label, declared_shape(sizes), trace.stored(dtype))
        if trace.loops:
            trace.claims.private.add(label)
        tensor = Tensor(Storage(trace, name, buffer, sizes, dtype, whole, 0), sizes, dtype, None)
    tensor.storage.ordinal = ordinal
    if ordinal == len(trace.hbm):  # else one of a core other than the first
        trace.hbm.append(tensor.storage)
    return tensor


def _declared(trace: Trace, name: str, buffer: Buffer, sizes: tuple, dtype) -> Tensor:
    """An argument of the program."""
    whole = trace.builder.argument(name, declared_shape(sizes), dtype.name)
    storage = Storage(trace, name, buffer, sizes, dtype, whole, 0)
    storage.argument = len(trace.arguments)
    trace.arguments.append(storage)
    return Tensor(storage, sizes, dtype, None)


def declared_shape(sizes: tuple) -> list:
    """The shape a dense HBM tensor is declared with: a View has at most five dimensions."""
    return list(sizes) if 1 <= len(sizes) <= 5 else [math.prod(sizes)]


def as_output(trace: Trace, storage: Storage) -> None:
    """A private HBM tensor is returned: trace again with it as an argument."""
    if storage.argument is None and storage.ordinal is not None:
        trace.output_ordinals = trace.output_ordinals | {storage.ordinal}
        raise Retrace("outputs")


def constant(array, dtype=None, name: str = "") -> Tensor:
    """An HBM tensor with the contents of a NumPy array."""
    trace = current()
    array = np.asarray(array)
    dtype = dtypes.from_array(array.dtype) if dtype is None else dtype_of(dtype)
    array = np.ascontiguousarray(array.astype(dtype.numpy, copy=False))
    trace.settle()
    name = name or trace.assigned_name("constant")
    shape = array.shape or (1,)
    whole = trace.builder.constant(name, declared_shape(shape), dtype.name, array.tobytes())
    storage = Storage(trace, name, buffers.shared_hbm, shape, dtype, whole, 0)
    storage.mutable = False
    return Tensor(storage, shape, dtype, None)


def argument(trace: Trace, name: str, shape: tuple, dtype) -> Tensor:
    """An input of the kernel."""
    tensor = _declared(trace, name, buffers.shared_hbm, shape, dtype)
    tensor.storage.written = True
    trace.inputs.append(tensor.storage)
    return tensor
