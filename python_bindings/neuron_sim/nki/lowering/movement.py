"""Movement between HBM and tiles: load, store, load_transpose2d of both languages."""

from ..isa.instruction import DMA_COPY
from ..tracing import Expression, Tensor, boxes, current, dtype_of
from ..tracing.control_flow.dependences import output_dependencies
from ..tracing.methods import writable
from .shapes import transposed
from .tiles import instruction_result, on_chip


def in_hbm(tensor, operand: str, instruction: str) -> Tensor:
    """err_unsupported_memory for a tile."""
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Expected operand '{operand}' of '{instruction}' to be a tensor, but got "
            f"{type(tensor).__name__}."
        )
    if tensor.axis is not None:
        raise ValueError(
            f"Expected operand '{operand}' of '{instruction}' to be in address space 'hbm', "
            f"but got a tile in '{tensor.memory}' instead."
        )
    return tensor


def _check_partitions(shape: tuple, operand: str, instruction: str) -> None:
    most = current().target.limits.partitions
    if shape[0] > most:
        raise ValueError(
            f"number of partition in {operand}{list(shape)} of '{instruction}' exceed "
            f"architecture limitation of {most}."
        )


def dma(dst: Tensor, src: Tensor) -> None:
    """dma_copy with the tensors' index, if any."""
    index = src.index if src.index is not None else dst.index
    DMA_COPY(dst, src, *(() if index is None else (index,)))


def load(src, mask=None, dtype=None) -> Tensor:
    """A new SBUF tile with the elements of an HBM tensor."""
    in_hbm(src, "src", "load")
    if len(src.shape) < 2:
        src = src.as_column()
    if mask is None or boxes(mask, src.shape) is None:
        _check_partitions(src.shape, "src", "load")
    emit = DMA_COPY if src.index is None else dma
    return instruction_result(src.shape, dtype, src.dtype, mask, emit, src)


def store(dst, value, mask=None) -> None:
    """Elements of a tile, or a number, to an HBM tensor. From PSUM via SBUF.

    A tile whose partitions are the contiguous elements of the tensor is turned first, see
    load_transpose2d.
    """
    in_hbm(dst, "dst", "store")
    trace = current()
    writable(dst)
    if mask is None and (loop := trace.shared_loop(dst)) is not None:
        raise output_dependencies(loop, dst)
    if len(dst.shape) < 2:
        dst = dst.as_column()
    cut = None if mask is None else boxes(mask, dst.shape)
    value = _tile_to_store(trace, dst, value)
    if cut is None:
        _store_tile(dst, _shaped_like(dst, value))
    for box in cut or ():
        _store_tile(dst.narrow(box), _narrowed_like(dst, value, box))


def _store_tile(dst: Tensor, value: Tensor) -> None:
    is_turned = dst.steps[0] == 1 and len(dst.shape) == 2 and dst.steps[1] > 1
    fits = min(dst.shape) > 1 and value.shape == dst.shape
    if not (is_turned and fits and _turns(value.dtype)):
        dma(dst, value)
        return
    trace = current()
    partitions, columns = dst.shape
    for start in range(0, columns, trace.target.square):
        block = (start, min(trace.target.square, columns - start))
        part = ((0, partitions), block)
        turned = transposed(value.narrow(part))
        rows = trace.tile((block[1], partitions), dst.dtype, name="rows")
        trace.builder.tensor_copy(rows.access, turned.access)
        dma(dst.narrow(part).permute((1, 0)), rows)


def _tile_to_store(trace, dst: Tensor, value) -> Tensor:
    if isinstance(value, Expression):
        value = value.as_number()
    if not isinstance(value, Tensor):
        number = trace.tile(dst.shape, dst.dtype, name="value")
        trace.builder.memset(number.access, float(value))
        return number
    on_chip(value, "value", "store").settle()
    if value.memory != "psum":
        return value
    copied = trace.tile(value.shape, value.dtype, name=f"{value.name}_copy")
    trace.builder.tensor_copy(copied.access, value.access)
    return copied


def _shaped_like(dst: Tensor, value: Tensor) -> Tensor:
    if value.shape == dst.shape or value.size == dst.size:
        return value
    try:
        return value.broadcast_to(dst.shape)
    except ValueError:
        raise ValueError(
            f"Illegal assignment destination shape in 'store': shape {list(dst.shape)} of "
            f"parameter 'dst' does not match the shape of value{list(value.shape)}."
        ) from None


def _narrowed_like(dst: Tensor, value: Tensor, box: tuple) -> Tensor:
    """The box of the value: cut like dst where it is as large, broadcast where it is of size 1."""
    if value.shape != dst.shape and value.size == dst.size:
        value = value.reshape(dst.shape)
    part = value.narrow(box)
    sizes = tuple([size for _, size in box])
    return part if part.shape == sizes else part.broadcast_to(sizes)


def load_transpose2d(src, mask=None, dtype=None) -> Tensor:
    """A new SBUF tile [columns, rows] of an HBM tensor [rows, columns].

    Floating-point elements are loaded row by row and turned on the Tensor engine, as the vendor's
    compiler lowers it; others, and those of allocated kernels, which may have no tiles of ours, are
    turned by the DMA, element by element.
    """
    in_hbm(src, "src", "load_transpose2d")
    if src.index is not None:
        raise ValueError("'load_transpose2d' does not support tensors with indirect indices.")
    if len(src.shape) != 2:
        raise ValueError(
            f"parameter '{src.describe()}' of 'load_transpose2d' exceed max supported number of "
            "dimensions of 2."
        )
    rows, columns = src.shape
    cut = boxes(mask, src.shape)
    if cut is None:
        _check_partitions((columns, rows), "src", "load_transpose2d")

    def emit(dst):
        for box in (None,) if cut is None else cut:
            part = src if box is None else src.narrow(box)
            to = dst if box is None else dst.narrow(box[::-1])
            if _turns(src.dtype):
                _load_and_turn(to, part)
            else:
                current().builder.dma_copy(to.access, part.permute((1, 0)).access)

    kind = src.dtype if dtype is None else dtype_of(dtype)
    return current().result((columns, rows), kind, "sbuf", emit, explicit=dtype is not None)


def _turns(dtype) -> bool:
    """Whether a transposed access to HBM goes through the Tensor engine."""
    return dtype.is_float and dtype.itemsize > 1 and not current().allocation.directly


def _load_and_turn(dst: Tensor, src: Tensor) -> None:
    """dst [columns, rows] of src [rows, columns] in HBM, one transposed tile at a time."""
    trace = current()
    rows, columns = src.shape
    for start in range(0, rows, trace.target.square):
        block = (start, min(trace.target.square, rows - start))
        loaded = trace.tile((block[1], columns), src.dtype, name="rows")
        dma(loaded, src.narrow((block, (0, columns))))
        turned = transposed(loaded)
        trace.builder.tensor_copy(dst.narrow(((0, columns), block)).access, turned.access)
