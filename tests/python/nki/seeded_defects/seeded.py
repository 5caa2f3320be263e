"""Seeded defects: kernels with one defect each, and what a checker says about them.

A kernel takes its arrays and `broken`. With `broken` it has the defect, whose line ends in the
comment `# defect` (several where two places take part in a race); without, it is the corrected
twin.
"""

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import neuron_sim
import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.nki as new_nki
import neuron_sim.nki.collectives as ncc
import numpy as np

CASES: list["Seeded"] = []


@dataclass(frozen=True)
class Seeded:
    """`expects`: a pattern for the rule of the finding, or for the sentence of a refusal.

    Of several ranks the second one is broken.
    """

    name: str
    function: Callable
    language: str
    expects: str
    arrays: tuple
    grid: tuple
    ranks: int
    synchronises: bool

    def run(self, broken: bool) -> Any:
        """Traces and computes the kernel."""
        nki = old_nki if self.language == "old" else new_nki
        kernel = nki.jit(self.function)
        if self.grid:
            kernel = kernel[self.grid if self.language == "old" else self.grid[0]]
        if self.ranks == 1:
            return kernel(*[each.copy() for each in self.arrays], broken)
        ranks = range(self.ranks)
        arrays = [ncc.PerRank([each.copy() for _ in ranks]) for each in self.arrays]
        is_broken = ncc.PerRank([broken and rank == 1 for rank in ranks])
        return new_nki.simulate(kernel, ranks=self.ranks)(*arrays, is_broken)

    def lines(self) -> set[int]:
        """Numbers of the lines that are marked."""
        source, first = inspect.getsourcelines(self.function)
        return {first + i for i, line in enumerate(source) if "# defect" in line}


def seeded(
    language: str, expects: str, *arrays: np.ndarray, grid=(), ranks: int = 1, synchronises=False
):
    """Adds a kernel to the cases."""

    def add(function):
        name = f"{language}_{function.__name__}"
        assert all(case.name != name for case in CASES), f"two kernels are called {name}"
        case = Seeded(name, function, language, expects, arrays, grid, ranks, synchronises)
        CASES.append(case)
        return function

    return add


def places_of(error: BaseException) -> list[tuple[str, int]]:
    """The lines (file, number) that the message and the notes of an error name."""
    text = "\n".join([str(error), *getattr(error, "__notes__", [])])
    found = re.findall(r'File "([^"]+)", line (\d+)', text)
    found += re.findall(r"(/[^\s:]+\.py):(\d+)", text)
    return [(file, int(line)) for file, line in found]


def verdict(case: Seeded) -> tuple[str, str]:
    """("line", "unplaced", "elsewhere" or "silent", what was said) of the broken kernel.

    "line": a finding with the expected rule, or a refusal with the expected sentence, at a marked
    line; "elsewhere": one that is about something else or at another line.
    """
    said: list[tuple[bool, list, str]] = []  # (is as expected, places, text)
    findings: list = []
    try:
        with neuron_sim.sanitize(raise_error=False, first_non_finite=True) as findings:
            case.run(True)
    except Exception as error:
        expected = re.search(case.expects, str(error), re.I) is not None
        said.append((expected, places_of(error), f"{type(error).__name__}: {error}"))
    for finding in findings:
        places = [each for each in (finding.source_line, finding.other_line) if each]
        placed = [(file, int(line)) for file, _, line in (p.rpartition(":") for p in places)]
        said.append(
            (re.search(case.expects, finding.rule, re.I) is not None, placed,
                f"{finding.rule}: {finding.message}"),
        )  # fmt: skip
    if not said:
        return "silent", ""
    file = inspect.getsourcefile(case.function)
    marked = {(file, line) for line in case.lines()}
    text = "; ".join(each[2] for each in said)
    for expected, places, _ in said:
        if expected and marked & set(places):
            return "line", text
    is_placed = any(expected and places for expected, places, _ in said)
    return ("elsewhere" if is_placed or not any(e for e, *_ in said) else "unplaced"), text
