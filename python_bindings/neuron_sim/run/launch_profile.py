"""Profiles and timelines of what torch launches: operators and graphs, program by program."""

from __future__ import annotations

import os
import sys
from typing import Any

from neuron_sim import _core, settings

MOST_PROFILED = 64
MOST_SHOWN = 16
"""Programs of a process with the most time, which get files in a profile folder, or pages and
advice; a training step may launch hundreds of small ones."""


class LaunchedProgram:
    """A program that was launched, as the writers of profiles take kernels."""

    def __init__(self, kernel: Any, operator: str) -> None:
        self.program = _core.program_of_kernel(kernel)
        self.operator = operator
        self.launches = 0

    def time(self) -> dict[str, Any]:
        """Simulated times, as TracedKernel.time()."""
        return self.program.time(log=[])


class LaunchProfile:
    """Writes the programs that torch launches between start and stop() to a profile folder.

        profile = LaunchProfile("out")
        model(x)
        profile.stop()  # out/index.html

    OSError for a folder that cannot be made.
    """

    def __init__(self, folder: str) -> None:
        from neuron_sim import _C  # needs torch

        os.makedirs(folder, exist_ok=True)
        self._folder = folder
        self._extension = _C
        self._tally: int | None = _C.start_tally(True)

    def stop(self) -> int:
        """Writes the files and returns how many programs were left out, those with the least time.

        The second call writes nothing. OSError; ValueError for a folder whose index is not ours."""
        if self._tally is None:
            return 0
        tally, self._tally = self._extension.finish_tally(self._tally), None
        return write_profile(self._folder, tally)


def write_profile(folder: str, tally: dict[str, Any]) -> int:
    """LaunchProfile.stop() for a tally that keeps programs."""
    from neuron_sim.nki.measurement import folder as profile_folder  # slow to import

    chosen, left_out = longest(tally, MOST_PROFILED)
    for launched in chosen:
        profile_folder.add(launched, folder)
    return left_out


def longest(tally: dict[str, Any], most: int) -> tuple[list[LaunchedProgram], int]:
    """The programs of a tally with the most time, in the order of their first launch, and how many
    others there are. Kernels that differ in constants only are one program. Those whose time data
    decides are among the others: NKI's kernels are shown when they run."""
    from neuron_sim.nki.measurement.recorded import digest_of  # slow to import

    ranked = sorted(enumerate(tally["kept"]), key=lambda item: -item[1][3])
    chosen: dict[str, tuple[int, LaunchedProgram]] = {}
    left_out = tally["programs"] - len(ranked)
    for number, (kernel, operator, launches, _) in ranked:
        launched = LaunchedProgram(kernel, operator)
        digest = digest_of(launched.program)
        is_new = digest not in chosen
        if is_new and (len(chosen) == most or launched.program.has_dynamic_loops):
            left_out += 1
            continue
        _, kept = chosen.setdefault(digest, (number, launched))
        kept.launches += launches
    return [launched for _, launched in sorted(chosen.values(), key=lambda item: item[0])], left_out


def write_wanted(tally: dict[str, Any], pages: bool) -> None:
    """Writes what `--profile` and, where `pages`, `--timeline` and `--advice` ask for, and says
    what is left out."""
    if folder := _core.setting(settings.PROFILE):
        _say_rest("--profile", write_profile(folder, tally), MOST_PROFILED)
    options = {"--timeline": settings.TIMELINE, "--advice": settings.ADVICE}
    wanted = [option for option, setting in options.items() if _core.setting(setting)]
    if pages and wanted:
        from neuron_sim.nki.measurement.views import show_views  # slow to import

        chosen, left_out = longest(tally, MOST_SHOWN)
        for launched in chosen:
            show_views(launched)
        _say_rest(" and ".join(wanted), left_out, MOST_SHOWN)


def _say_rest(option: str, left_out: int, most: int) -> None:
    if left_out:
        print(
            f"neuron-sim run: {option}: the {most} programs with the most time; {left_out} others "
            "are left out.",
            file=sys.stderr,
        )
