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

_MODULES = (
    activation, dma, elementwise, gathers, movement, random, reduction, scans, search, selections,
    sequencing, tensor,
)  # fmt: skip

FUNCTIONS = {name: row for module in _MODULES for name, row in module.ROWS.items()}


def entries(kind):
    """ "tensor_copy of bf16" -> its Cost or Example; kind: "costs" or "examples"."""
    return {
        f"{name} {suffix}".strip(): entry
        for name, row in FUNCTIONS.items()
        for suffix, entry in getattr(row, kind).items()
    }
