"""nki.isa: joint operations of the two cores of a logical core. `name` is for with_schedule."""

from ..tracing.active import note
from ..tracing.grid import num_programs
from .constants import engine as engines
from .constants import named
from .declared import declared
from .instruction import builder, emitted


def core_barrier(data, cores, engine=engines.gpsimd, name=None):
    """Both cores wait for each other; what either wrote to `data` before, both see afterwards.

    data: a tensor in shared HBM, or a tile in SBUF, which each core has for itself; cores: (0, 1).
    Blocks `engine` only. Trn2 and later. Of a kernel that runs on one core, cores is 0 or (0,):
    it waits for no other core, and nothing is emitted.
    """
    chosen = [int(core) for core in (cores if isinstance(cores, (tuple, list)) else (cores,))]
    if chosen != [0] or num_programs() != 1:
        builder().core_barrier(data.access, cores=chosen, engine=named(engine, engines, "engine"))
    else:
        note("LN-BARRIER", "")
    return emitted(name)


@declared("src dst send_to_rank recv_from_rank pipe_id! dma_engine")
def sendrecv():
    """dst = src of the other core, and dst there = src here.

    src, dst: SBUF, one shape and dtype on both cores. send_to_rank, recv_from_rank: the other core.
    dma_engine.gpsimd_dma: at most 256 elements per partition, with less latency.
    """
