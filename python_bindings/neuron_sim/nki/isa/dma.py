"""nki.isa: copies, transposes and sums of the DMA engines.

`name` is for with_schedule. dge_mode: who writes the descriptors (unknown: the simulator chooses).
oob_mode: what an index out of bounds does when the kernel runs, an error or nothing. priority: 0
(highest) to 3 on Trn3; it does not change the simulated time.
"""

import numpy as np

from ..tracing.methods import writable
from .constants import dge_mode as dge_modes
from .constants import engine as engines
from .constants import named
from .constants import oob_mode as oob_modes
from .instruction import builder, emitted
from .operators import operator_name
from .splitting import NotOnePattern, in_parts

_UNKNOWN, _ERROR = dge_modes.unknown, oob_modes.error


def _options(index, oob_mode, priority):
    """The optional arguments of a DMA, for the builder."""
    options = {}
    if index is not None:
        options["index"] = index.access
    if named(oob_mode, oob_modes, "oob_mode") == "skip":
        options["oob_mode"] = "skip"
    if priority is not None:
        options["priority"] = int(priority)
    return options


def _index_of(instruction, dst, src):
    """The index tile of the side that is accessed through one; None when neither is.

    ValueError when both are, and when `dst` is an argument that must not be written.
    """
    writable(dst)
    if src.index is None:
        return dst.index
    if dst.index is not None:
        raise ValueError(
            f"operands 'dst' and 'src' of '{instruction}' are both indirect; at most one may be."
        )
    return src.index


def dma_copy(
    dst,
    src,
    priority=None,
    oob_mode=_ERROR,
    dge_mode=_UNKNOWN,
    engine=engines.unknown,
    name=None,
):
    """dst = src, element by element in row-major order, cast when the dtypes differ.

    dst, src: HBM or SBUF, with equal element counts. One side may be indirect (an index tile
    [P, 1] in an index, or `.ap(vector_offset=...)`): its rows are gathered or scattered.
    dge_mode.hwdge: Trn2 and later, equal dtypes, no index; `engine` (sync or scalar) triggers it.
    """
    index = _index_of("dma_copy", dst, src)
    try:
        if index is None and oob_mode is _ERROR and priority is None and dge_mode is _UNKNOWN:
            builder().dma_copy(dst.access, src.access, engine=named(engine, engines, "engine"))
        else:
            _copy(dst, src, priority, oob_mode, dge_mode, engine)
    except NotOnePattern as error:
        settings = (priority, oob_mode, dge_mode, engine)
        in_parts(lambda to, part: _copy(to, part, *settings), dst, src, otherwise=error)
    return emitted(name)


def _copy(dst, src, priority, oob_mode, dge_mode, engine):
    index = src.index if src.index is not None else dst.index
    builder().dma_copy(
        dst.access,
        src.access,
        engine=named(engine, engines, "engine"),
        descriptors=named(dge_mode, dge_modes, "dge_mode"),
        **_options(index, oob_mode, priority),
    )


def dma_copy_add(dst, src, dge_mode=_UNKNOWN):
    """dst = dst + src in fp32: dst_rmw_op=np.add of the older language's dma_copy."""
    builder().dma_copy(
        dst.access,
        src.access,
        descriptors=named(dge_mode, dge_modes, "dge_mode"),
        dst_rmw_add=True,
        **_options(_index_of("dma_copy", dst, src), _ERROR, None),
    )
    return emitted()


def dma_transpose(
    dst,
    src,
    axes=None,
    priority=None,
    dge_mode=_UNKNOWN,
    oob_mode=_ERROR,
    name=None,
):
    """dst = src with its dimensions in the order `axes`: (1, 0), (2, 1, 0) or (3, 1, 2, 0).

    src: HBM or SBUF; dst: SBUF, of the dtype of src. src may be indirect (Trn2 and later).
    """
    builder().dma_transpose(
        dst.access,
        src.access,
        axes=[int(axis) for axis in axes] if axes is not None else [],
        descriptors=named(dge_mode, dge_modes, "dge_mode"),
        **_options(_index_of("dma_transpose", dst, src), oob_mode, priority),
    )
    return emitted(name)


def dma_compute(dst, srcs, reduce_op, scales=None, unique_indices=True, oob_mode=_ERROR, name=None):
    """dst = the sum of up to 16 tensors in HBM or SBUF, in fp32, rounded once to dst.

    reduce_op: nl.add; scales: None, or 1.0 for every source. With an indirect dst that is also a
    source, or an indirect source and dst as the other, the rows an index tile names are read,
    added to and written (unique_indices: no row twice).
    """
    writable(dst)
    tensors = [dst, *srcs]
    index = next((tensor.index for tensor in tensors if tensor.index is not None), None)
    options = _options(index, oob_mode, None)
    if scales is not None:
        options["scales"] = [float(scale) for scale in scales]
    if not unique_indices:
        options["unique_indices"] = False
    builder().dma_compute(
        dst.access,
        [source.access for source in srcs],
        operator_name(np.add if reduce_op is None else reduce_op, "reduce_op"),
        **options,
    )
    return emitted(name)
