"""neuronxcc.nki.nccl.collectives. The vendor does not document it; parameters are those of public
kernels.

srcs, dsts: lists of HBM tensors. replica_groups: lists of ranks, or one list. op: np.add,
np.minimum or np.maximum; pure data movement takes and ignores one. dtype: the tensors'.
"""

from neuron_sim.nki.collectives.groups import ranks_of
from neuron_sim.nki.collectives.operands import emit, one_pair, pairs
from neuron_sim.nki.tracing import dtype_of


def all_reduce(op, srcs, dsts, replica_groups, dtype=None, **options):
    """dst = src of all ranks of a group reduced by op."""
    found = _pairs("all_reduce", srcs, dsts, dtype, options)
    emit("all_reduce", _groups("all_reduce", replica_groups), found, op=op)


def all_gather(op, srcs, dsts, replica_groups, all_gather_dim, dtype=None, **options):
    """dst = the srcs of all ranks of a group, one after the other in all_gather_dim (0 or 1)."""
    found = _pairs("all_gather", srcs, dsts, dtype, options)
    groups = _groups("all_gather", replica_groups)
    emit("all_gather", groups, found, dimension=int(all_gather_dim))


def reduce_scatter(op, srcs, dsts, replica_groups, reduce_scatter_dim, dtype=None, **options):
    """dst = the rank's part, in reduce_scatter_dim (0 or 1), of all_reduce's result."""
    found = _pairs("reduce_scatter", srcs, dsts, dtype, options)
    groups = _groups("reduce_scatter", replica_groups)
    emit("reduce_scatter", groups, found, op=op, dimension=int(reduce_scatter_dim))


def all_to_all(
    op, srcs, dsts, replica_groups, split_dimension, concat_dimension, dtype=None, **options
):
    """Part k of dst = the part of rank k's src that is for this rank; both dimensions are equal."""
    if split_dimension != concat_dimension:
        raise ValueError(
            f"split_dimension {split_dimension} of 'all_to_all' must be concat_dimension "
            f"{concat_dimension}."
        )
    found = _pairs("all_to_all", srcs, dsts, dtype, options)
    groups = _groups("all_to_all", replica_groups)
    emit("all_to_all", groups, found, dimension=int(split_dimension))


def collective_permute(dst, src, source_target_pairs, dtype=None, **options):
    """dst = src of the rank that has this one as its target; every sender also receives."""
    found = _pairs("collective_permute", [src], [dst], dtype, options)
    groups = ranks_of(source_target_pairs, "source_target_pairs of 'collective_permute'")
    emit("collective_permute", groups, found)


def collective_permute_implicit(
    dst, src, replica_groups, channel_id=0, num_channels=1, dtype=None, **options
):
    """dst = src of the rank before this one in the list of its group."""
    name = "collective_permute_implicit"
    if not 0 <= channel_id < num_channels:
        raise ValueError(f"channel_id {channel_id} of '{name}' is not one of {num_channels}.")
    _check(name, [(dst, src)], dtype, options)
    found = one_pair(name, [src], [dst])
    emit(name, _groups(name, replica_groups), [found], channel=int(channel_id))


def _groups(collective: str, replica_groups) -> list:
    groups = list(replica_groups)
    nested = groups if groups and isinstance(groups[0], (list, tuple, range)) else [groups]
    return ranks_of(nested, f"replica_groups of '{collective}'")


def _pairs(collective: str, srcs, dsts, dtype, options: dict) -> list:
    found = pairs(collective, srcs, dsts)
    _check(collective, found, dtype, options)
    return found


def _check(collective: str, found: list, dtype, options: dict) -> None:
    """TypeError for options that no collective has, ValueError for another dtype."""
    for option, value in options.items():
        if option not in ("mask", "name", "dma_qos") or (option == "mask" and value is not None):
            raise TypeError(f"{collective}() got an unexpected keyword argument '{option}'")
    for dst, _ in found:
        if dtype is not None and dtype_of(dtype) is not dst.dtype:
            raise ValueError(
                f"dtype {dtype_of(dtype).name} of '{collective}' is not that of its tensors, "
                f"{dst.dtype.name}."
            )
