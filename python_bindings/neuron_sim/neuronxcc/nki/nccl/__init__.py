"""neuronxcc.nki.nccl: communication between the ranks that run a kernel together.

As nki.collectives, which describes how several ranks are simulated: nki.simulate(kernel, ranks=n).
"""

from . import collectives
from .collectives import (
    all_gather,
    all_reduce,
    all_to_all,
    collective_permute,
    collective_permute_implicit,
    reduce_scatter,
)

__all__ = [
    "all_gather",
    "all_reduce",
    "all_to_all",
    "collective_permute",
    "collective_permute_implicit",
    "collectives",
    "reduce_scatter",
]
