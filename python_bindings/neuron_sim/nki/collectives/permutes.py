"""nki.collectives: every rank sends to one other, and the numbers of ranks."""

from ..isa.instruction import builder, emitted
from ..isa.registers import VirtualRegister
from .groups import group_of, ranks_of
from .operands import check_priority, emit, one_pair

MAXIMUM_CHANNELS = 4
_IMPLICIT, _REDUCE = "collective_permute_implicit", "collective_permute_implicit_reduce"


def collective_permute(srcs, dsts, source_target_pairs, priority=None, name=None):
    """dst = src of the rank that has this one as its target. HBM, one tensor.

    source_target_pairs: (source, target) ranks; every sender also receives, once each. Ranks in
    no pair do not take part.
    """
    found = one_pair("collective_permute", srcs, dsts)
    groups = ranks_of(source_target_pairs, "source_target_pairs of 'collective_permute'")
    emit("collective_permute", groups, [found], priority)
    return emitted(name)


def collective_permute_implicit(
    srcs_by_channel, dsts_by_channel, replica_group, channel_ids=(0,), priority=None, name=None
):
    """dst = src of the rank before this one in the list of its group, for every channel.

    srcs_by_channel, dsts_by_channel: a list of one tensor per channel; channel_ids: 0, 1, ...
    """
    groups = group_of(_IMPLICIT, replica_group)
    channels = _channels(_IMPLICIT, channel_ids, srcs_by_channel, dsts_by_channel)
    _emit_channels(_IMPLICIT, groups, channels, priority)
    return emitted(name)


def collective_permute_implicit_reduce(
    srcs0_by_channel,
    srcs1_by_channel,
    dsts_by_channel,
    replica_group,
    op,
    channel_ids=(0,),
    priority=None,
    name=None,
):
    """dst = op(src0, src1) of the rank before this one in its group, for every channel."""
    groups = group_of(_REDUCE, replica_group)
    channels = _channels(_REDUCE, channel_ids, srcs0_by_channel, dsts_by_channel)
    others = _channels(_REDUCE, channel_ids, srcs1_by_channel, dsts_by_channel)
    _emit_channels(_REDUCE, groups, channels, priority, op, [src for _, src in others])
    return emitted(name)


def collective_permute_implicit_current_processing_rank_id(
    iteration_id, replica_group, channel_id=0, name=None
):
    """A register with the place in its group of the rank whose data this one has after
    `iteration_id` steps of a ring: its own at 0, then that of the rank before it, and so on."""
    groups = group_of("collective_permute_implicit_current_processing_rank_id", replica_group)
    return VirtualRegister(builder().processing_rank_id(groups, int(iteration_id), int(channel_id)))


def rank_id(name=None):
    """A register with the number of the rank, for scalar_offset of an access pattern."""
    return VirtualRegister(builder().rank_id())


def _channels(collective: str, channel_ids, srcs_by_channel, dsts_by_channel) -> list:
    """(dst, src) per channel."""
    ids = list(channel_ids)
    if ids != list(range(len(ids))) or not 1 <= len(ids) <= MAXIMUM_CHANNELS:
        raise ValueError(
            f"channel_ids {ids} of '{collective}' must be consecutive integers from 0, at most "
            f"{MAXIMUM_CHANNELS} of them."
        )
    if len(srcs_by_channel) != len(ids) or len(dsts_by_channel) != len(ids):
        raise ValueError(
            f"'{collective}' of {len(ids)} channels has lists of {len(srcs_by_channel)} sources "
            f"and {len(dsts_by_channel)} destinations."
        )
    return [
        one_pair(collective, srcs, dsts)
        for srcs, dsts in zip(srcs_by_channel, dsts_by_channel, strict=True)
    ]


def _emit_channels(collective, groups, channels, priority, op=None, others=()) -> None:
    check_priority(collective, priority)
    for channel, pair in enumerate(channels):
        options = {"other": others[channel].access} if others else {}
        emit(collective, groups, [pair], None, op, follows=channel > 0, channel=channel, **options)
