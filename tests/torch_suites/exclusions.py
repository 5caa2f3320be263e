"""Cases that are known not to pass, each with its reason."""

from __future__ import annotations

import fnmatch
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cases import SUITES, Case

FILE = Path(__file__).with_name("exclusions.toml")


@dataclass(frozen=True)
class Exclusion:
    """The cases that match all three patterns (as file names) fail for this reason."""

    suite: str
    name: str
    dtype: str
    reason: str

    def matches(self, case: Case) -> bool:
        return (
            fnmatch.fnmatchcase(case.suite, self.suite)
            and fnmatch.fnmatchcase(case.name, self.name)
            and fnmatch.fnmatchcase(case.dtype, self.dtype)
        )


def load(path: Path = FILE, suites: Sequence[str] = SUITES) -> list[Exclusion]:
    """The list; ValueError for an entry without a reason or of a suite that does not exist."""
    exclusions = []
    for entry in tomllib.loads(path.read_text())["exclusion"]:
        made = Exclusion(entry["suite"], entry["name"], entry.get("dtype", "*"), entry["reason"])
        if not made.reason.strip():
            raise ValueError(f"the exclusion of {made.suite} {made.name} has no reason")
        if not any(fnmatch.fnmatchcase(suite, made.suite) for suite in suites):
            raise ValueError(f"the exclusion of {made.name} is of no suite: {made.suite}")
        exclusions.append(made)
    return exclusions


def reason(case: Case, exclusions: Iterable[Exclusion]) -> str | None:
    """Why the case is excluded, or None."""
    return next((entry.reason for entry in exclusions if entry.matches(case)), None)


def stale(
    exclusions: Sequence[Exclusion], cases: Iterable[Case], failed: Iterable[Case]
) -> list[Exclusion]:
    """The exclusions that match some of `cases`, none of which failed, or no case at all of a
    suite that was run."""
    cases, failed = list(cases), list(failed)
    suites = {case.suite for case in cases}
    return [
        entry
        for entry in exclusions
        if any(fnmatch.fnmatchcase(suite, entry.suite) for suite in suites)
        and not any(entry.matches(case) for case in failed)
    ]


def only_in(exclusion: Exclusion, suites: Iterable[str], among: Iterable[str]) -> bool:
    """Whether every suite of `among` that the exclusion is for is one of `suites`."""
    suites = set(suites)
    return all(s in suites for s in among if fnmatch.fnmatchcase(s, exclusion.suite))
