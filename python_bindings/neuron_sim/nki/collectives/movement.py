"""nki.collectives: reductions and exchanges in which every rank of a group talks to all others.

srcs, dsts: lists of tensors in HBM, or one each in SBUF. op: nl.add, nl.minimum or nl.maximum.
priority: 0 (highest) to 3 on Trn3.
"""

from ..isa.instruction import emitted
from .groups import group_of
from .operands import check_dimension, emit, pairs


def all_reduce(srcs, dsts, replica_group, op, priority=None, name=None):
    """dst = src of all ranks of a group reduced by op. Equal shapes."""
    emit("all_reduce", group_of("all_reduce", replica_group), pairs("all_reduce", srcs, dsts),
         priority, op)  # fmt: skip
    return emitted(name)


def all_gather(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """dst = the srcs of all ranks of a group, one after the other in collective_dim.

    collective_dim: 0, in SBUF also 1.
    """
    groups, found = group_of("all_gather", replica_group), pairs("all_gather", srcs, dsts)
    check_dimension("all_gather", collective_dim, found[0][0].memory, (0, 1))
    emit("all_gather", groups, found, priority, dimension=int(collective_dim))
    return emitted(name)


def reduce_scatter(srcs, dsts, replica_group, collective_dim, op, priority=None, name=None):
    """dst = the rank's part, in dimension 0, of src of all ranks reduced by op."""
    groups, found = group_of("reduce_scatter", replica_group), pairs("reduce_scatter", srcs, dsts)
    check_dimension("reduce_scatter", collective_dim, found[0][0].memory, (0,))
    emit("reduce_scatter", groups, found, priority, op, dimension=int(collective_dim))
    return emitted(name)


def all_to_all(srcs, dsts, replica_group, collective_dim, priority=None, name=None):
    """Part k of dst = the part of rank k's src that is for this rank, in dimension 0. HBM only."""
    groups, found = group_of("all_to_all", replica_group), pairs("all_to_all", srcs, dsts)
    check_dimension("all_to_all", collective_dim, found[0][0].memory, (0,))
    emit("all_to_all", groups, found, priority, dimension=int(collective_dim))
    return emitted(name)
