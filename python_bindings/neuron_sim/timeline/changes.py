"""Changes of a kernel that were tried: made in its program, which is timed again."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuron_sim.terminal.tables import cell

_MANUAL = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/"
LEAST_SAVED = 0.01
"""Share of the body's time from which a change is worth a line."""
MOST_SHOWN = 5
_SAME = 1e-3
"""Relative distance of times up to which two changes count as one."""
MOST_INSTANCES = 400_000
"""Executed instructions of all programs that are tried for one kernel: some ten seconds. No clock
ends the trial, so that the list of changes is the same on every host."""


@dataclass(frozen=True)
class Trial:
    """A change before it is tried."""

    title: str
    write: str
    """What to write in the kernel: a sentence, which may name {line}."""
    lesson: str
    """Where the vendor or a course teaches it."""
    program: Callable[[], Any] = field(repr=False)
    """The changed `_core.Program`; None where the kernel does not admit the change."""
    line: str = ""
    """The "file:line" to change; empty: where the change removes most of the work."""
    holds: Callable[[], bool] = field(default=lambda: True, repr=False)
    """Whether results stay the same; asked of changes that are worth a line."""
    is_for_callers: bool = False
    """Whether callers of the kernel must pass something else: such a change is told last."""


@dataclass(frozen=True)
class Change:
    """A change that makes a kernel faster."""

    title: str
    write: str
    line: str
    """As "file:line"; empty for the kernel as a whole."""
    body_us: float
    """Of the changed program, simulated."""
    saved: float
    """Share of the body's time, 0 to 1."""
    next_wall: str
    """What most of the changed program's critical path is spent on."""
    lesson: str
    link: str
    """The page of the lesson."""

    def __str__(self) -> str:
        return (
            f"{self.title} (saves {self.saved:.1%}, to {cell(self.body_us)} us): {self.write} "
            f"Then the wall is {self.next_wall}."
        )


def changes_of(program: Any, trials: Iterable[Trial]) -> list[Change]:
    """The trials that save at least LEAST_SAVED of a program's time, most first, then those for
    callers; of those with one title the best. Later trials are left out once the others had
    MOST_INSTANCES; one that fails counts as many as the program itself has."""
    own = program.time()
    body, left = own["body_us"], MOST_INSTANCES
    best: dict[str, tuple[float, Trial, Any]] = {}
    for trial in trials:
        if left <= 0:
            break
        try:
            changed = _made(trial)
        except Exception:  # of the kernel's own checks, or of the chip's limits
            left -= own["instructions"]
            continue
        if changed is None:
            continue
        timing = changed.time()
        left -= timing["instructions"]
        time = timing["body_us"]
        if time <= body * (1 - LEAST_SAVED) and time < best.get(trial.title, (body,))[0]:
            if trial.holds():
                best[trial.title] = time, trial, changed
    ranked = _apart(sorted(best.values(), key=lambda each: each[0]))
    shown = [each for each in ranked if not each[1].is_for_callers][:MOST_SHOWN]
    shown += [each for each in ranked if each[1].is_for_callers]
    before = program.shares_by_source() if shown else []
    return [_change(before, body, *each) for each in shown]


def _apart(ranked: Sequence[tuple[float, Trial, Any]]) -> list[tuple[float, Trial, Any]]:
    """Without those that only repeat the one before: the same work saved in another way."""
    return [
        each
        for number, each in enumerate(ranked)
        if number == 0 or each[0] > ranked[number - 1][0] * (1 + _SAME)
    ]


def _made(trial: Trial) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of spills, say: whoever wrote the kernel did not ask
        return trial.program()


def _change(before: Sequence[Any], body: float, time: float, trial: Trial, changed: Any) -> Change:
    after = changed.shares_by_source()
    line = trial.line or _most_relieved(before, after)
    return Change(
        title=trial.title,
        write=trial.write.format(line=place(line) if line else "the kernel"),
        line=line,
        body_us=time,
        saved=1 - time / body,
        next_wall=longest_wait(after),
        lesson=trial.lesson,
        link=_MANUAL + trial.lesson.partition(".rst")[0] + ".html",
    )


def place(line: str) -> str:
    """A "file:line" as "line 12 of kernel.py"."""
    file, _, number = line.rpartition(":")
    return f"line {number} of {file.rpartition('/')[2]}"


def longest_wait(shares: Sequence[Any]) -> str:
    """Where most of a critical path is spent: "DMA transfer, line 12 of kernel.py, 40 %"."""
    spent = {
        (name, share["source"]): time for share in shares for name, time in share["path_us"].items()
    }
    if not any(spent.values()):
        return "none"
    name, source = max(spent, key=lambda key: spent[key])
    share = f"{spent[name, source] / sum(spent.values()):.0%} of the critical path"
    return ", ".join([name, *([place(source)] if source else []), share])


def _most_relieved(before: Sequence[Any], after: Sequence[Any]) -> str:
    """The line of which most bytes of transfers disappear; where none do, most instructions, and
    where none do, most of the critical path."""
    for amount in ("dma_bytes", "instructions", "path_us"):
        left = {share["source"]: _amount(share[amount]) for share in after}
        fewer = {each["source"]: _amount(each[amount]) - left.get(each["source"], 0)
                 for each in before if each["source"]}  # fmt: skip
        if fewer and max(fewer.values()) > 0:
            return max(fewer, key=lambda source: fewer[source])
    return ""


def _amount(value: Any) -> float:
    return float(sum(value.values()) if isinstance(value, dict) else value)
