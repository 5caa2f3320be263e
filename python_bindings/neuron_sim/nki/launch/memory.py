"""Kernels whose tiles do not fit SBUF or PSUM: what is refused, what is spilled, who is told."""

import sys
import warnings
from typing import Any

from neuron_sim import _core

from ..measurement.generations import GENERATIONS


def pass_objection(source: Any) -> str:
    """Why a program stays as it is written, one clause; empty when the compiler's passes run."""
    if source.generation not in GENERATIONS:
        return "no compiler of its generation has been measured"
    return _core.pass_objection(source)


def check_fits(source: Any) -> None:
    """MemoryError for tiles that do not fit the chip where the compiler cannot spill any."""
    if source.overflow and (objection := pass_objection(source)):
        sentence, _, tiles = source.overflow.partition("\n")
        raise MemoryError(f"{sentence} None is spilled to HBM: {objection}.\n{tiles}")


def warn_of_spills(program: Any) -> None:
    """Says what the compiler added to a program so that its tiles fit, if anything."""
    spills = program.spills
    added = [
        f"{spills[number]} {what} ({spills[size]} bytes)"
        for number, size, what in (
            ("saves", "save_bytes", "saves to HBM"),
            ("reloads", "reload_bytes", "reloads"),
            ("repeated_loads", "repeated_bytes", "repeated loads"),
            ("psum_copies", "psum_bytes", "copies out of PSUM and back"),
        )
        if spills[number]
    ]
    if added:
        warnings.warn(
            f"kernel '{program.kernel}' does not fit SBUF and PSUM of {program.architecture}: the "
            f"compiler adds {', '.join(added)}.",
            stacklevel=3,
        )


def explain(kernel: Any) -> None:
    """Writes what fills SBUF and PSUM to stderr where the environment asks for it; not again for
    the program with the copies that a kernel prints, nor for what ran eagerly."""
    if kernel.printed or kernel.contents is not None:
        return
    if _core.setting("NEURON_SIM_EXPLAIN_MEMORY"):
        print(kernel.program.memory_listing(), end="", file=sys.stderr)
