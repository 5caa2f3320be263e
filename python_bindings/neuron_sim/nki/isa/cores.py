"""nki.isa: joint operations of the two cores of a logical core. `name` is for with_schedule."""

from .constants import dma_engine as dma_engines
from .constants import engine as engines
from .constants import named
from .instruction import builder, emitted


def core_barrier(data, cores, engine=engines.gpsimd, name=None):
    """Both cores wait for each other; what either wrote to `data` before, both see afterwards.

    data: a tensor in shared HBM; cores: (0, 1). Blocks `engine` only. Trn2 and later.
    """
    builder().core_barrier(
        data.access, cores=[int(core) for core in cores], engine=named(engine, engines, "engine")
    )
    return emitted(name)


def sendrecv(
    src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma_engines.dma, name=None
):
    """dst = src of the other core, and dst there = src here.

    src, dst: SBUF, one shape and dtype on both cores. send_to_rank, recv_from_rank: the other core.
    dma_engine.gpsimd_dma: at most 256 elements per partition, with less latency.
    """
    builder().sendrecv(
        src.access,
        dst.access,
        send_to_rank=int(send_to_rank),
        recv_from_rank=int(recv_from_rank),
        pipe_id=int(pipe_id),
        dma_engine=named(dma_engine, dma_engines, "dma_engine"),
    )
    return emitted(name)
