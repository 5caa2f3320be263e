"""nki.collectives: communication between the ranks that run a kernel together.

    @nki.jit
    def sum_of_ranks(x, group):
        src = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        dst = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=src, src=x)
        ncc.all_reduce(srcs=[src], dsts=[dst], replica_group=group, op=nl.add)
        return dst

    nki.simulate(sum_of_ranks, ranks=2)(ncc.PerRank([x0, x1]), ncc.ReplicaGroup([[0, 1]]))

A kernel called directly runs on one rank, rank 0. `name` is for with_schedule.
"""

from ..exports import public_names as _public_names
from ..launch.ranks import PerRank
from .groups import ReplicaGroup
from .movement import all_gather, all_reduce, all_to_all, reduce_scatter
from .permutes import (
    collective_permute,
    collective_permute_implicit,
    collective_permute_implicit_current_processing_rank_id,
    collective_permute_implicit_reduce,
    rank_id,
)
from .variable import (
    all_gather_v,
    all_gather_v_prepare,
    all_gather_v_trigger,
    all_to_all_v,
    all_to_all_v_prepare,
    all_to_all_v_trigger,
)

__all__ = _public_names(globals())
