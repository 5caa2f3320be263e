"""Tensors, operators and options of collectives, checked and handed to the builder."""

from ..isa.instruction import builder
from ..isa.operators import operator_name
from ..isa.versions import nc_generation
from ..tracing import Tensor
from ..tracing.methods import writable

LOWEST_PRIORITY = 3
FIRST_WITH_PRIORITY = 4  # NeuronCore-v4


def tensors(collective: str, parameter: str, value) -> list:
    """A list of tensors; TypeError for anything else, ValueError when it is empty."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"{parameter} of '{collective}' is a {type(value).__name__}, not a list of tensors."
        )
    for tensor in value:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"{parameter} of '{collective}' has a {type(tensor).__name__}, not a tensor."
            )
    if not value:
        raise ValueError(f"{parameter} of '{collective}' has no tensors.")
    return list(value)


def pairs(collective: str, srcs, dsts) -> list:
    """(dst, src) of one or, in HBM, several tensors that are communicated together."""
    sources, targets = tensors(collective, "srcs", srcs), tensors(collective, "dsts", dsts)
    if len(sources) != len(targets):
        raise ValueError(f"'{collective}' has {len(sources)} srcs, but {len(targets)} dsts.")
    if len(sources) > 1 and any(each.memory != "hbm" for each in (*sources, *targets)):
        raise ValueError(
            f"'{collective}' of {len(sources)} tensors: coalesced collective communication is only "
            "supported when tensors are on HBM."
        )
    return list(zip(targets, sources, strict=True))


def one_pair(collective: str, srcs, dsts) -> tuple:
    """(dst, src) of a collective that takes exactly one tensor."""
    found = pairs(collective, srcs, dsts)
    if len(found) > 1:
        raise ValueError(
            f"'{collective}' of {len(found)} tensors: each list parameter must contain exactly one "
            "tensor."
        )
    return found[0]


def check_dimension(collective: str, dimension: int, memory: str, in_sbuf: tuple) -> None:
    """collective_dim is 0, in SBUF one of `in_sbuf`."""
    allowed = in_sbuf if memory == "sbuf" else (0,)
    if dimension not in allowed:
        expected = " or ".join(str(each) for each in allowed)
        raise ValueError(
            f"collective_dim {dimension} of '{collective}' is not supported for tensors in "
            f"{memory}; expected {expected}."
        )


def check_priority(collective: str, priority) -> None:
    """A quality of service, which NeuronCore-v4 has; it does not change the simulated time."""
    if priority is None:
        return
    if nc_generation() < FIRST_WITH_PRIORITY:
        raise NotImplementedError(
            f"parameter 'priority' of '{collective}' needs NeuronCore-v4 or newer."
        )
    if not 0 <= priority <= LOWEST_PRIORITY:
        raise ValueError(
            f"parameter 'priority' of '{collective}' is {priority}, but must be 0 to "
            f"{LOWEST_PRIORITY}."
        )


def emit(
    collective: str, groups: list, found: list, priority=None, op=None, follows=False, **options
) -> None:
    """One call, or, if it `follows`, more of one: its tensors (dst, src) one after the other."""
    check_priority(collective, priority)
    if op is not None:
        options["op"] = operator_name(op, "op")
    for number, (dst, src) in enumerate(found):
        writable(dst)
        builder().collective(
            collective, dst.access, src.access, groups, follows=follows or number > 0, **options
        )
