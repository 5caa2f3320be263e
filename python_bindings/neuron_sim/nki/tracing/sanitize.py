"""Checks of a traced kernel that NEURON_SIM_SANITIZE=1 (neuron-sim run --sanitize) asks for."""

import os
from typing import Any

from .errors import point_at_line


def wanted() -> bool:
    """Whether kernels are checked."""
    return os.environ.get("NEURON_SIM_SANITIZE") == "1"


def check(program: Any) -> None:
    """ValueError for the first read of bytes on chip that nothing wrote; its line is pointed at."""
    reads = program.undefined_reads()
    if not reads:
        return
    first = reads[0]
    error = ValueError(
        f"'{first['instruction']}' reads bytes of operand '{first['operand']}' (tile "
        f"'{first['tile']}') that nothing wrote."
    )
    point_at_line(error, first["source_line"])
    for other in reads[1:]:
        error.add_note(f"  also tile '{other['tile']}' at {other['source_line']}")
    raise error


def check_overlaps(program: Any) -> None:
    """ValueError for the first read of a tile placed by hand whose bytes another tile took."""
    reads = program.overwritten_reads()
    if not reads:
        return
    first = reads[0]
    error = ValueError(
        f"'{first['instruction']}' reads operand '{first['operand']}' (tile '{first['tile']}', "
        f"written at {first['written']}) after tile '{first['other']}', which shares its bytes, "
        f"overwrote it at {first['overwritten']}."
    )
    point_at_line(error, first["source_line"])
    for other in reads[1:]:
        error.add_note(
            f"  also tile '{other['tile']}', overwritten by '{other['other']}' at "
            f"{other['overwritten']}, at {other['source_line']}"
        )
    raise error
