"""neuronxcc.nki.isa: matrix products and transposes, whose results are in PSUM."""

import itertools

from neuron_sim import _core
from neuron_sim.nki.isa import dma, elementwise
from neuron_sim.nki.isa import matrix as new
from neuron_sim.nki.isa.constants import named
from neuron_sim.nki.isa.instruction import MATMUL
from neuron_sim.nki.isa.versions import nc_generation
from neuron_sim.nki.lowering.elementwise import in_sbuf
from neuron_sim.nki.tracing import boxes, current, dtype_of
from neuron_sim.nki.tracing.active import note
from neuron_sim.nki.tracing.dtypes import float32

from .constants import engine as engines
from .constants import matmul_perf_mode
from .results import in_parts, refuse, result

plain_result = _core.plain_result
_WHOLE = ()  # the array


def nc_matmul(
    stationary,
    moving,
    *,
    is_stationary_onezero=False,
    is_moving_onezero=False,
    is_transpose=False,
    tile_position=_WHOLE,
    tile_size=_WHOLE,
    mask=None,
    **kwargs,
):
    """stationary.T @ moving: a PSUM tile [M, N] of fp32.

    `psum += nc_matmul(...)` accumulates. mask: over [K, N], or over [K, M, N] with three
    dimensions; an operand mask, `stationary[i_m < 64]`, narrows one operand. `perf_mode`
    "double_row_gen3": fp8 operands [K, 2, M] and [K, 2, N]. Operands in PSUM, such as what
    nc_transpose returns, are copied to SBUF first.
    """
    whole = tile_position is _WHOLE and tile_size is _WHOLE and mask is None
    modes = (is_stationary_onezero, is_moving_onezero)
    if whole and not (kwargs or is_transpose):
        return plain_result(MATMUL, "kkfff", _matmul, stationary, moving, False, *modes)
    places = (tile_position, tile_size, _performance_mode(kwargs.pop("perf_mode", None)))
    refuse("nc_matmul", kwargs)
    return _matmul(stationary, moving, is_transpose, *modes, *places, mask)


def _matmul(
    stationary,
    moving,
    is_transpose,
    is_stationary_onezero,
    is_moving_onezero,
    tile_position=_WHOLE,
    tile_size=_WHOLE,
    perf_mode=matmul_perf_mode.none,
    mask=None,
):
    modes = {
        "is_stationary_onezero": is_stationary_onezero,
        "is_moving_onezero": is_moving_onezero,
        "is_transpose": is_transpose,
        "tile_position": tile_position,
        "tile_size": tile_size,
        "perf_mode": perf_mode,
    }
    shape, dtype, emit = _product(stationary, moving, mask, modes)
    return current().result(shape, dtype, "psum", emit, accumulates=True)


def _product(stationary, moving, mask, modes):
    """(shape, dtype, emit) of nc_matmul's result."""
    stationary, moving = in_sbuf(stationary), in_sbuf(moving)
    shape = (stationary.size // stationary.shape[0], *moving.shape[1:])
    if modes["perf_mode"] is matmul_perf_mode.double_row:
        shape = (stationary.shape[-1], moving.shape[-1])
    dtype = float32
    if modes["is_transpose"] and nc_generation() > 2:
        dtype = stationary.dtype
    cut = None if mask is None else _operand_boxes(mask, stationary, moving)

    def emit(dst, accumulate=None):
        def multiply(target, fixed, streamed):
            new.nc_matmul(target, fixed, streamed, accumulate=accumulate, **modes)

        if cut is None:
            multiply(dst, stationary, moving)
            return
        for box, fixed, streamed in cut:
            multiply(dst.narrow(box), stationary.narrow(fixed), moving.narrow(streamed))

    return shape, dtype, emit


def _performance_mode(value):
    """The mode that a member of matmul_perf_mode, a string of the older API, or None means."""
    if isinstance(value, str):
        value = matmul_perf_mode.__members__.get(value.removesuffix("_gen3"), value)
    return matmul_perf_mode.none if value is None else value


def _operand_boxes(mask, stationary, moving):
    """(box of the result, of stationary, of moving) for each part that a mask leaves."""
    if isinstance(mask, bool):
        return None if mask else []
    whole = tuple((0, size) for size in stationary.shape)
    if len(mask.shape) == 3 and len(stationary.shape) == 2 and len(moving.shape) == 2:
        left = boxes(mask, (*stationary.shape, moving.shape[1]))
        if left is None:
            return None
        return [((m, n), (k, m), (k, n)) for k, m, n in left]
    left = boxes(mask, tuple(moving.shape))
    if left is None:
        return None
    columns = (0, stationary.size // stationary.shape[0])
    return [((columns, *box[1:]), (box[0], *whole[1:]), box) for box in left]


def nc_transpose(data, *, mask=None, dtype=None, engine=engines.unknown, **kwargs):
    """data with its partitions and its (flattened) free dimensions exchanged.

    A PSUM tile of the Tensor engine; an SBUF tile of the Vector engine: for engine.vector, or when
    data is in PSUM and at most [32, 32]. Vector takes larger data in blocks of that size, as the
    chip was seen to (rule EN-T32-OLD). `dtype` adds a cast.
    """
    if kwargs:
        refuse("nc_transpose", kwargs)
    rows, columns = data.shape[0], data.size // data.shape[0]
    limit = current().target.limits.vector_transpose
    fits = rows <= limit and columns <= limit
    vector = engine == engines.vector or (
        engine == engines.unknown and data.memory == "psum" and fits
    )
    if not vector:
        current().allocation.check_transpose("nisa.nc_transpose() with TensorEngine")
    made = dtype_of("float32") if not vector and nc_generation() == 2 else data.dtype
    wanted = data.dtype if dtype is None else dtype_of(dtype)
    chosen = engines.vector if vector else engines.tensor
    memory = "sbuf" if vector else "psum"
    cut = None if mask is None else boxes(mask, tuple(data.shape))

    word = named(chosen, engines, "engine")

    def transpose(dst):
        for box in (None,) if cut is None else cut:
            to = dst if box is None else dst.narrow((_flat(box, data), box[0]))
            part = data if box is None else data.narrow(box)
            if not vector or fits or len(part.shape) != 2:
                current().builder.nc_transpose(to.access, part.access, word)
                continue
            note("EN-T32-OLD", f"[{rows}, {columns}]")
            for r, c in itertools.product(*(_blocks(size, limit) for size in part.shape)):
                block, turned = part.narrow((r, c)), to.narrow((c, r))
                current().builder.nc_transpose(turned.access, block.access, word)

    padded = not vector and made.itemsize == 1 and not current().widens
    if made is wanted and not padded:
        return current().result((columns, rows), wanted, memory, transpose)
    if padded:  # the Tensor engine writes bytes as 16-bit elements whose upper byte is zero
        transposed = current().tile((columns, rows, 2), made, memory)[:, :, 0]
    else:
        transposed = current().tile((columns, rows), made, memory)
    transpose(transposed)
    if made is wanted:
        return transposed
    return result((columns, rows), wanted, wanted, None, elementwise.tensor_copy, transposed)


def _blocks(size, limit):
    """(start, size) of blocks that make up a dimension."""
    return [(start, min(limit, size - start)) for start in range(0, size, limit)]


def _flat(box, data):
    """The box of the flattened free dimensions. ValueError when it has gaps."""
    if len(box) == 2:
        return box[1]
    if all(
        start == 0 and size == whole
        for (start, size), whole in zip(box[2:], data.shape[2:], strict=True)
    ):
        inner = data.size // (data.shape[0] * data.shape[1])
        return (box[1][0] * inner, box[1][1] * inner)
    raise ValueError("the mask of 'nc_transpose' leaves free dimensions that are not contiguous.")


def dma_transpose(src, *, axes=None, mask=None, dtype=None, **kwargs):
    """src with its dimensions reversed (2-D, 3-D) or in the order (3, 1, 2, 0), in SBUF."""
    if kwargs:
        kwargs.pop("dge_mode", None)
        refuse("dma_transpose", kwargs)
    order = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}.get(len(src.shape))
    order = tuple(axes) if axes is not None else order
    if order is None:
        raise ValueError(
            f"parameter '{src.describe()}' of 'dma_transpose' exceed max supported number of "
            "dimensions of 4."
        )
    shape = tuple(src.shape[axis] for axis in order)
    cut = None if mask is None else boxes(mask, tuple(src.shape))

    def emit(dst):
        if cut is None:
            dma.dma_transpose(dst, src, order)
            return
        for box in cut:
            dma.dma_transpose(dst.narrow(tuple(box[a] for a in order)), src.narrow(box), order)

    if dtype is None or dtype_of(dtype) is src.dtype:
        return current().result(shape, src.dtype, "sbuf", emit)
    transposed = current().tile(shape, src.dtype)
    in_parts(None, emit, transposed)
    return result(shape, dtype, src.dtype, None, elementwise.tensor_copy, transposed)
