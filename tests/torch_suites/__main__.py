"""PyTorch's own databases against the CPU: `python tests/torch_suites` runs all of them.

The result is right when every case passes that exclusions.toml does not name, and every exclusion
there still has a case that fails.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import exclusions as listed
from cases import SUITES, Case, Outcome, cases_of, run_case
from workers import run_all


def lost(reason: str) -> Outcome:
    return Outcome("failed", f"lost: {reason}")


def chosen(suites: Sequence[str], share: float, only: str = "") -> list[Case]:
    """The cases of the suites; of each suite about `share` (0 to 1), always the same ones."""
    return [
        case
        for suite in suites
        for case in cases_of(suite)
        if case.place % 100_000 < share * 100_000 and only in case.name
    ]


def outcomes(
    cases: Sequence[Case], processes: int, seconds: float
) -> Iterator[tuple[Case, Outcome]]:
    """Runs the cases in worker processes."""
    done = 0
    for case, outcome in run_all(cases, run_case, lost, processes, seconds):
        done += 1
        if sys.stderr.isatty():
            print(f"\r{done} / {len(cases)}", end="", file=sys.stderr)
        yield case, outcome


def judge(results: dict[Case, Outcome], whole: bool) -> list[str]:
    """What is wrong with the results: unexplained failures and, of whole suites, exclusions that
    are no longer needed."""
    known = listed.load()
    failed = [case for case, outcome in results.items() if outcome.status == "failed"]
    wrong = [
        f"failed: {case}: {results[case].detail}"
        for case in failed
        if listed.reason(case, known) is None
    ]
    if whole:
        wrong += [
            f"stale exclusion: {entry.suite} {entry.name} {entry.dtype}: no such case fails"
            for entry in listed.stale(known, results, failed)
        ]
    return wrong


def summary(results: dict[Case, Outcome]) -> list[str]:
    """One line per suite."""
    known = listed.load()
    lines = []
    for suite in SUITES:
        group = {case: out for case, out in results.items() if case.suite == suite}
        if not group:
            continue
        counts = Counter(outcome.status for outcome in group.values())
        excluded = sum(
            outcome.status == "failed" and listed.reason(case, known) is not None
            for case, outcome in group.items()
        )
        values = sum(outcome.values for outcome in group.values())
        programs = sum(outcome.activity.programs for outcome in group.values())
        lines.append(
            f"{suite}: {len(group)} cases, {counts['passed']} passed, {counts['skipped']} with "
            f"nothing to compare, {excluded} excluded, {counts['failed'] - excluded} failed; "
            f"{values} values compared, {programs} device programs run"
        )
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=SUITES, action="append", help="one of them; repeatable")
    parser.add_argument("--share", type=float, default=1.0, help="of each suite, 0 to 1")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=300.0, help="per case")
    parser.add_argument("--failures", type=Path, help="write the failed cases to this file (JSON)")
    given = parser.parse_args()
    cases = chosen(given.suite or SUITES, given.share, given.only)
    results = dict(outcomes(cases, given.processes, given.seconds))
    if given.failures:
        failed = [
            [case.suite, case.name, case.dtype, outcome.detail]
            for case, outcome in results.items()
            if outcome.status == "failed"
        ]
        given.failures.write_text(json.dumps(sorted(failed), indent=1))
    wrong = judge(results, whole=given.share >= 1.0 and not given.only)
    print("\n".join([*sorted(wrong), *summary(results)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
