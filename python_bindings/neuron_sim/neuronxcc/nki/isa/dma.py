"""neuronxcc.nki.isa.dma_copy."""

import numpy as np

from neuron_sim.nki.isa import dma as new
from neuron_sim.nki.isa.operators import operator_name

from .constants import dge_mode as dge_modes
from .constants import oob_mode as oob_modes
from .results import in_place, refuse


def dma_copy(
    *,
    dst,
    src,
    mask=None,
    dst_rmw_op=None,
    oob_mode=oob_modes.error,
    dge_mode=dge_modes.unknown,
    **kwargs,
):
    """dst = src by DMA, cast when the dtypes differ; dst = dst + src with dst_rmw_op=np.add.

    dst, src: HBM or SBUF, either of them indirect. ValueError for another dst_rmw_op, and for
    oob_mode.skip together with one.
    """
    if kwargs:
        refuse("dma_copy", kwargs)
    if dst_rmw_op is None:

        def emit(target, source):
            new.dma_copy(target, source, oob_mode=oob_mode, dge_mode=dge_mode)

        in_place(dst.shape, mask, emit, dst, src)
        return
    if operator_name(dst_rmw_op, "dst_rmw_op") != operator_name(np.add):
        raise ValueError("dst_rmw_op of 'dma_copy' must be np.add or None.")
    if oob_mode is not oob_modes.error:
        raise ValueError("'dma_copy' with dst_rmw_op takes oob_mode.error only.")

    def add(target, source):
        new.dma_copy_add(target, source, dge_mode)

    in_place(dst.shape, mask, add, dst, src)
