"""Which ranks communicate with each other."""

from ..language.objects import NKIObject


def ranks_of(lists, name: str) -> list:
    """Lists of ranks as the builder takes them; TypeError for anything else."""
    try:
        return [[rank.__index__() for rank in group] for group in lists]
    except (TypeError, AttributeError):
        raise TypeError(
            f"{name} is {lists!r}, but must be a list of lists of ranks, as [[0, 1], [2, 3]]."
        ) from None


class ReplicaGroup(NKIObject):
    """Lists of ranks; the ranks of each list communicate among themselves, in that order.

    A rank is in one list at most. Ranks that are in none do not take part.
    """

    def __init__(self, groups):
        self.groups = tuple([tuple(ranks) for ranks in ranks_of(groups, "ReplicaGroup")])

    def __eq__(self, other):
        return isinstance(other, ReplicaGroup) and self.groups == other.groups

    def __hash__(self):
        return hash(self.groups)

    def __repr__(self):
        return f"ReplicaGroup({[list(ranks) for ranks in self.groups]})"


def group_of(collective: str, replica_group) -> list:
    """The lists of a ReplicaGroup; TypeError for anything else."""
    if not isinstance(replica_group, ReplicaGroup):
        raise TypeError(
            f"replica_group of '{collective}' is {replica_group!r}, not a "
            "nki.collectives.ReplicaGroup."
        )
    return [list(ranks) for ranks in replica_group.groups]
