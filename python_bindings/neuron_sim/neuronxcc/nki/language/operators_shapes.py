"""neuronxcc.nki.language: products, transposes, broadcasts, selections, reductions of loops."""

import sys

from neuron_sim.neuronxcc.nki.isa.elementwise import tensor_tensor
from neuron_sim.neuronxcc.nki.isa.matrix import nc_matmul
from neuron_sim.neuronxcc.nki.keywords import refuse
from neuron_sim.nki.isa.operators import operator_name
from neuron_sim.nki.launch.programs import meet
from neuron_sim.nki.lowering import elementwise as lowering
from neuron_sim.nki.lowering import shapes
from neuron_sim.nki.syntax.places import stored_name
from neuron_sim.nki.tracing import Tensor, Unroll, boxes, current, dtype_of


def matmul(x, y, *, transpose_x=False, mask=None, **kwargs):
    """x @ y, or x.T @ y with transpose_x: a PSUM tile of fp32; `psum += matmul(...)` accumulates.

    x: SBUF, up to [128, 128]; y: SBUF, up to [128, 512]. Without transpose_x the Tensor engine
    transposes x first.
    """
    if kwargs:
        refuse("matmul", kwargs)
    if not transpose_x:
        current().allocation.check_transpose("nl.matmul() without transpose_x=True")
        x = lowering.copy(shapes.transposed(x, "matmul"), x.dtype).settle()
    return nc_matmul(x, y, mask=mask)


def outer_product(x, y, *, dtype=None, **kwargs):
    """x[m] * y[n] of a row [1, M] or a column [M, 1], and a row [1, N]: a tile [M, N]."""
    if kwargs:
        refuse("outer_product", kwargs)
    return shapes.outer_product(x, y, dtype)


def transpose(x, *, dtype=None, mask=None, **kwargs):
    """x.T of a 2-D tile up to [128, 128]."""
    if kwargs:
        refuse("transpose", kwargs)
    current().allocation.check_transpose("nl.transpose()")
    return shapes.transpose(x, dtype, mask)


def broadcast_to(src, *, shape, **kwargs):
    """src with dimensions of size 1 repeated; free dimensions move no element."""
    if kwargs:
        refuse("broadcast_to", kwargs)
    return shapes.broadcast_to(src, shape)


def expand_dims(data, axis):
    """A view with dimensions of size 1 at `axis`, after the partition dimension."""
    return shapes.expand_dims(data, axis)


def where(condition, x, y, *, dtype=None, mask=None, **kwargs):
    """x where condition is not 0, else y."""
    if kwargs:
        refuse("where", kwargs)
    return shapes.where(condition, x, y, dtype, mask)


def dropout(x, rate, *, dtype=None, mask=None, **kwargs):
    """x with elements set to 0 with probability `rate`, a number or a tile [P, 1]; not rescaled."""
    if kwargs:
        refuse("dropout", kwargs)
    return shapes.dropout(x, rate, dtype, mask)


def gather_flattened(data, indices, *, mask=None, dtype=None, **kwargs):
    """[p, i...] = flat(data[p])[indices[p, i...]]."""
    if kwargs:
        refuse("gather_flattened", kwargs)
    return shapes.gather_flattened(data, indices, dtype, mask)


def _begins(storage, loop_indices) -> bool:
    """Whether a reduction over these loops is in its first iteration, into a tile that nothing
    wrote before it. Unroll where the variables of the loops are not numbers there."""
    reductions = current().reductions
    if storage.uses == 0:
        reductions.setdefault(storage, None)
    if storage not in reductions:
        return False
    loops = [term for each in loop_indices for term in getattr(each, "terms", ())]
    if loops:
        raise Unroll([loop.key for loop in loops])
    values = tuple([int(each) for each in loop_indices])
    if reductions[storage] is None:
        reductions[storage] = values
    return values == reductions[storage]


def loop_reduce(x, op, loop_indices, *, dtype=None, mask=None, **kwargs):
    """Accumulates over a loop: `b = loop_reduce(a, op, ...)` is b = b op a in every iteration.

    b was made before the loop; `b[...] = loop_reduce(...)` is the same. Where nothing was written
    to b before, the first iteration is b = a. ValueError when the result is not assigned to a tile
    of the shape of x.
    """
    if kwargs:
        refuse("loop_reduce", kwargs)
    word = operator_name(op)
    frame = sys._getframe(1)
    target = frame.f_locals.get(stored_name(frame))
    cut = None if mask is None else boxes(mask, x.shape)

    def emit(dst):
        if id(dst) in own:  # no reference: the trace counts those to a result
            raise ValueError(
                "the result of nl.loop_reduce must be assigned to the tile that accumulates it, "
                f"of shape {list(x.shape)}, made before the loop."
            )
        begins = _begins(dst.storage, loop_indices)
        for box in (None,) if cut is None else cut:
            to, part = (dst, x) if box is None else (dst.narrow(box), x.narrow(box))
            if begins:
                current().builder.tensor_copy(to.access, part.access)
            else:
                current().builder.tensor_tensor(to.access, to.access, part.access, word)

    own: list = []
    if isinstance(target, Tensor) and target.shape == x.shape:
        x = x.settle()
        emit(target)
        return target
    wanted = x.dtype if dtype is None else dtype_of(dtype)
    result = current().result(x.settle().shape, wanted, "sbuf", emit)
    own.append(id(result))
    return result


def all_reduce(
    x,
    op,
    program_axes,
    *,
    dtype=None,
    mask=None,
    parallel_reduce=True,
    asynchronous=False,
    **kwargs,
):
    """x reduced by `op` over the programs along `program_axes` of the launch grid, in all of them.

    program_axes: program ids, or dimensions of the grid. The programs run one after the other up
    to here, then continue. `parallel_reduce` and `asynchronous` change nothing.
    """
    if kwargs:
        refuse("all_reduce", kwargs)
    operator_name(op)

    def brought():
        own = lowering.copy(x, None, mask).settle()
        own.storage.scope = 0  # the other programs read it after this one has moved on
        return own

    tiles = meet("all_reduce", program_axes, brought)
    if tiles is None:
        return lowering.copy(x, dtype, mask)
    total = tiles[0]
    for number, tile in enumerate(tiles[1:], start=2):
        kind = dtype if number == len(tiles) else None
        total = tensor_tensor(total, tile, op, dtype=kind, mask=mask)
    return total


__all__ = [
    "all_reduce",
    "broadcast_to",
    "dropout",
    "expand_dims",
    "gather_flattened",
    "loop_reduce",
    "matmul",
    "outer_product",
    "transpose",
    "where",
]
