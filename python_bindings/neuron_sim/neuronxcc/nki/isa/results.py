"""What the functions of neuronxcc.nki.isa share: masks, result dtypes and result tiles.

An instruction of the older language returns its result; here it is emitted into the tile that the
result is assigned to, or into a new one, by the function of nki.isa of the same name.
"""

from neuron_sim.nki.tracing import Tensor, boxes, current, dtype_of
from neuron_sim.nki.tracing.trace import running

#: Keywords that the vendor's functions take and that change nothing here.
_IGNORED = frozenset({"name", "lowering", "tile_name", "instr_name"})


def refuse(function, keywords):
    """TypeError for keywords that `function` does not have."""
    for keyword in keywords:
        if keyword not in _IGNORED and not keyword.startswith("_"):
            raise TypeError(f"{function}() got an unexpected keyword argument '{keyword}'")


def narrowed(tile, box):
    """The part of a tile in a box; numbers and None stay as they are."""
    return tile.narrow(box) if isinstance(tile, Tensor) else tile


def in_parts(cut, emit, *tiles):
    """emit(*tiles) for all of them (cut None) or for each box that a mask leaves."""
    if cut is None:
        emit(*tiles)
    else:
        for box in cut:
            emit(*[narrowed(tile, box) for tile in tiles])


def result(shape, dtype, default, mask, emit, *tiles, memory="sbuf"):
    """The tile of emit(dst, *tiles), of dtype `default` unless the caller gave one.

    `emit` is a function or an Instruction, whose operands may be other things than tiles as well.
    With a mask, dst and the tiles are narrowed to the part it leaves; the rest of a new tile is
    uninitialised.
    """
    trace = running[-1] if running else current()
    if mask is None:
        if dtype is None:
            return trace.result(shape, default, memory, emit, False, False, tiles)
        return trace.result(shape, dtype_of(dtype), memory, emit, False, True, tiles)
    wanted = default if dtype is None else dtype_of(dtype)
    cut = boxes(mask, tuple(shape))
    if cut is None:
        return trace.result(shape, wanted, memory, emit, False, dtype is not None, tiles)
    return trace.result(
        shape,
        wanted,
        memory,
        lambda dst: in_parts(cut, emit, dst, *tiles),
        explicit=dtype is not None,
    )


def in_place(shape, mask, emit, *tiles):
    """emit(*tiles) at once, for the part that a mask leaves."""
    in_parts(None if mask is None else boxes(mask, tuple(shape)), emit, *tiles)


def tile(value, instruction, parameter):
    """`value`, which has to be a tensor: TypeError otherwise."""
    if isinstance(value, Tensor):
        return value
    raise TypeError(
        f"operand '{parameter}' of '{instruction}' is a {type(value).__name__}, not a tile."
    )
