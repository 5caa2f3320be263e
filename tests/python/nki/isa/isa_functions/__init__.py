"""One row per function of nki.isa: the vendor's signature, a limit, costs and examples.

The modules follow the folders of device/isa. The tests of signatures, limits, costs, examples and
coverage are parametrised over these rows: a new function is stated here once.
"""

from . import (
    activation,
    dma,
    elementwise,
    gathers,
    movement,
    random,
    reduction,
    scans,
    search,
    selections,
    sequencing,
    tensor,
)
from .function import Function

_MODULES = (
    activation, dma, elementwise, gathers, movement, random, reduction, scans, search, selections,
    sequencing, tensor,
)  # fmt: skip

FUNCTIONS = {
    name: row for each in _MODULES for name, row in vars(each).items() if isinstance(row, Function)
}


def by_suffix(entries):
    """A row's costs or examples by their suffixes."""
    return entries if isinstance(entries, dict) else {"": entries}


def entries(kind):
    """ "tensor_copy of bf16" -> its Cost or Example; kind: "costs" or "examples"."""
    return {
        f"{name} {suffix}".strip(): entry
        for name, row in FUNCTIONS.items()
        for suffix, entry in by_suffix(getattr(row, kind)).items()
    }
