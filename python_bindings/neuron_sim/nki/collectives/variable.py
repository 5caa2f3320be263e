"""nki.collectives: exchanges whose sizes are in a tensor."""

from ..isa.instruction import emitted
from ..tracing import Tensor
from ..tracing.active import current
from ..tracing.methods import writable
from .groups import group_of
from .operands import emit, one_pair

_RANKS_OF_GATHER = 4


def all_gather_v(
    srcs,
    dsts,
    replica_group,
    metadata_tensor,
    recv_counts_known=False,
    has_rdispls=False,
    priority=None,
    name=None,
):
    """Part k of dst, dst.elements / ranks elements, starts with what rank k sends to everybody:
    src[displacement : displacement + count].

    metadata_tensor: uint32 [3, ranks] in HBM or [1, 3, ranks] in SBUF: row 0 the count, row 1 the
    displacement (first column each), row 2 what came from each rank, written unless
    recv_counts_known. Groups of four ranks; has_rdispls is not supported.
    """
    if has_rdispls:
        raise ValueError("has_rdispls=True of 'all_gather_v' is not supported.")
    groups = group_of("all_gather_v", replica_group)
    if any(len(group) != _RANKS_OF_GATHER for group in groups):
        raise ValueError(
            f"each rank-list of 'all_gather_v' must have exactly {_RANKS_OF_GATHER} ranks, but "
            f"replica_group is {replica_group}."
        )
    _emit("all_gather_v", groups, srcs, dsts, metadata_tensor, recv_counts_known, 3, priority)
    return emitted(name)


def all_to_all_v(
    srcs,
    dsts,
    replica_group,
    metadata_tensor,
    recv_counts_known=False,
    has_rdispls=False,
    priority=None,
    name=None,
):
    """Rank k sends src[displacements[r] : displacements[r] + counts[r]] to every rank r.

    metadata_tensor: uint32 [rows, ranks] in HBM or [1, rows, ranks] in SBUF: rows counts and
    displacements to send, counts received (written unless recv_counts_known) and, with has_rdispls,
    where in dst; without, what rank k sends starts at k * dst.elements / ranks.
    """
    groups = group_of("all_to_all_v", replica_group)
    rows = 4 if has_rdispls else 3
    _emit("all_to_all_v", groups, srcs, dsts, metadata_tensor, recv_counts_known, rows, priority)
    return emitted(name)


class Prepared:
    """What a prepare returns for its trigger: the collective, once it has its arguments."""

    def __init__(self, collective, *arguments):
        trace = current()
        self.collective, self.arguments = collective.__name__, arguments
        if trace.prepared is not None:
            raise ValueError(
                f"'{self.collective}_prepare' comes before the trigger of "
                f"'{trace.prepared.collective}_prepare': one prepare at a time has a slot."
            )
        trace.prepared = self

    def triggered(self, collective, name):
        """Emits the collective. ValueError for another prepare than the one that waits."""
        if current().prepared is not self or self.collective != collective.__name__:
            raise ValueError(
                f"'{collective.__name__}_trigger' needs the '{collective.__name__}_prepare' before "
                "it, once."
            )
        current().prepared = None
        return collective(*self.arguments, name=name)


def _split(collective) -> tuple:
    """The prepare and trigger of a collective (the vendor's pages on nki.collectives, SDK 2.33).
    The set-up of the metadata takes its time in the trigger; TypeError for a trigger of what no
    prepare returned."""

    def prepare(
        srcs,
        dsts,
        replica_group,
        metadata_tensor,
        recv_counts_known=False,
        has_rdispls=False,
        priority=None,
        name=None,
    ):
        return Prepared(collective, srcs, dsts, replica_group, metadata_tensor, recv_counts_known,
                        has_rdispls, priority)  # fmt: skip

    def trigger(prepare_instr, name=None):
        if not isinstance(prepare_instr, Prepared):
            kind = type(prepare_instr).__name__
            raise TypeError(
                f"'{collective.__name__}_trigger' takes what '{collective.__name__}_prepare' "
                f"returned, not a {kind}."
            )
        return prepare_instr.triggered(collective, name)

    for function, suffix in ((prepare, "prepare"), (trigger, "trigger")):
        function.__name__ = function.__qualname__ = f"{collective.__name__}_{suffix}"
        function.__doc__ = f"The {suffix} of {collective.__name__}, which it takes or completes."
    return prepare, trigger


all_gather_v_prepare, all_gather_v_trigger = _split(all_gather_v)
all_to_all_v_prepare, all_to_all_v_trigger = _split(all_to_all_v)


def _emit(collective, groups, srcs, dsts, metadata, recv_counts_known, rows, priority) -> None:
    pair = one_pair(collective, srcs, dsts)
    if not isinstance(metadata, Tensor):
        raise TypeError(f"metadata_tensor of '{collective}' is a {type(metadata).__name__}.")
    shape = (rows, len(groups[0]))
    expected = shape if metadata.memory == "hbm" else (1, *shape)
    if tuple(metadata.shape) != expected:
        raise ValueError(
            f"metadata_tensor of '{collective}' has shape {tuple(metadata.shape)}, but must have "
            f"{expected}."
        )
    if not recv_counts_known:
        writable(metadata)
    emit(collective, groups, [pair], priority, metadata=metadata.access,
         writes_counts=not recv_counts_known)  # fmt: skip
