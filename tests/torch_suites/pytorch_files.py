"""PyTorch's own device-generic test files on the device.

`python tests/torch_suites/pytorch_files.py` downloads the files (source_package.py) and runs those
tests of them that PyTorch makes for every kind of device, unchanged. The result is right when
each test passes or is skipped by torch, fails on the CPU as well, or has a reason in
generic_exclusions.toml, and every entry there still has a test that fails.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import exclusions
from cases import Case, Outcome
from generic_tests import EXPECTED, cases_in, run_on_device, run_on_host
from source_package import FILES, FOLDER, UnavailableError, obtain
from workers import Run, run_all

LIST = Path(__file__).with_name("generic_exclusions.toml")
BY_CPU = "the CPU fails as well: the test is of PyTorch 2.6, or needs what this machine lacks"
"""Why a case may fail that fails on the CPU, or that torch expects to fail there."""
GIGABYTES = 6.0  # per process
Results = dict[Case, Outcome]


def _lost(reason: str) -> Outcome:
    return Outcome("failed", f"lost: {reason}")


def run_cases(
    cases: Sequence[Case], run: Run, processes: int, seconds: float, end: float = float("inf")
) -> Results:
    """The outcome of each case; those that have not ended at the time `end` are lost."""
    results: Results = {}
    for case, outcome in run_all(cases, run, _lost, processes, seconds, GIGABYTES):
        results[case] = outcome
        if sys.stderr.isatty():
            print(f"\r{len(results)} / {len(cases)} ", end="", file=sys.stderr)
        if time.monotonic() > end:
            break
    for case in cases:
        results.setdefault(case, _lost("the file took too long"))
    return results


def reasons(
    results: Results, known: Sequence[exclusions.Exclusion], processes: int, seconds: float
) -> dict[Case, str | None]:
    """Why each failed case may fail, or None. Those that no entry names are run on the CPU."""
    found = {
        case: exclusions.reason(case, known)
        for case, outcome in results.items()
        if outcome.status == "failed"
    }
    unknown = [case for case, reason in found.items() if reason is None]
    on_host = run_cases(unknown, run_on_host, processes, seconds)
    alike = [
        case
        for case in unknown
        if on_host[case].status == "failed" or on_host[case].detail == EXPECTED
    ]
    return found | dict.fromkeys(alike, BY_CPU)


def row(
    file: str, tests: int, results: Results, why: dict[Case, str | None]
) -> dict[str, int | str]:
    """The figures of a file with so many tests, of which some or all were run."""
    counts = Counter(outcome.status for outcome in results.values())
    failed = sum(reason is None for reason in why.values())
    by_cpu = sum(reason == BY_CPU for reason in why.values())
    return {
        "file": file, "tests": tests, "run": len(results), "passed": counts["passed"],
        "skipped by torch": counts["skipped"], "fail on the CPU too": by_cpu,
        "excluded": len(why) - failed - by_cpu, "failed": failed,
        "device programs": sum(outcome.activity.programs for outcome in results.values()),
    }  # fmt: skip


def table(rows: Sequence[dict[str, int | str]]) -> str:
    """The figures as a table in Markdown."""
    lines = ["| " + " | ".join(rows[0]) + " |", "|---" * len(rows[0]) + "|"]
    for one in rows:
        cells = (f"{value:,}" if isinstance(value, int) else value for value in one.values())
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def listed(file: str, seconds: float) -> list[Case]:
    """The tests of a file; RuntimeError when it cannot be listed, or not in that time."""
    listing = dict(run_all([file], cases_in, str, 1, seconds, GIGABYTES))[file]
    if isinstance(listing, str):
        raise RuntimeError(f"{file} was not listed: {listing}; see {FOLDER / 'logs'}")
    return listing


def run_file(
    file: str, known: Sequence[exclusions.Exclusion], given: argparse.Namespace
) -> tuple[int, Results, dict[Case, str | None]]:
    """How many tests a file has, their outcomes and the reasons of those that failed."""
    listing = listed(file, given.seconds)
    cases = [
        case
        for case in listing
        if case.place % 100_000 < given.share * 100_000 and given.only in case.name
        if is_in(case, given.shard)
    ]
    end = time.monotonic() + 60 * given.minutes
    results = run_cases(cases, run_on_device, given.processes, given.seconds, end)
    why = reasons(results, known, given.processes, given.seconds)
    _record(file if given.shard[1] == 1 else "{}.{}of{}".format(file, *given.shard), results, why)
    return len(listing), results, why


def stale(
    known: Sequence[exclusions.Exclusion], files: Sequence[str], results: Results
) -> list[str]:
    """The entries that are for these files only and name no test that failed."""
    failed = [case for case, outcome in results.items() if outcome.status == "failed"]
    ours = [entry for entry in known if exclusions.only_in(entry, files, FILES)]
    return [
        f"stale exclusion: {entry.suite} {entry.name} {entry.dtype}: no such test fails"
        for entry in exclusions.stale(ours, results, failed)
    ]


def _record(name: str, results: Results, why: dict[Case, str | None]) -> None:
    """Writes each outcome that is not a pass to the file of this name in FOLDER/results."""
    folder = FOLDER / "results"
    folder.mkdir(exist_ok=True)
    listed = [
        [case.name, case.dtype, outcome.status, outcome.detail, why.get(case)]
        for case, outcome in results.items()
        if outcome.status != "passed"
    ]
    (folder / f"{name}.json").write_text(json.dumps(sorted(listed, key=str), indent=0))


def shard(text: str) -> tuple[int, int]:
    """The place and the number of shards that "3/10" names; ValueError for any other text."""
    place, number = (int(figure) for figure in text.split("/"))
    if not 1 <= place <= number:
        raise ValueError(f"shard {place} of {number}")
    return place, number


def is_in(case: Case, shard: tuple[int, int]) -> bool:
    """Whether a test is one of the shard: the place of a test spreads them evenly."""
    place, number = shard
    return case.place % number == place % number


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", choices=FILES, action="append", help="one of them; repeatable")
    parser.add_argument("--share", type=float, default=1.0, help="of each file, 0 to 1")
    parser.add_argument("--shard", type=shard, default=(1, 1), help="of each file: 3/10")
    parser.add_argument("--only", default="", help="tests whose name contains this")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120.0, help="per test")
    parser.add_argument("--minutes", type=float, default=90.0, help="per file")
    parser.add_argument("--without-exclusions", action="store_true", help="as if none were listed")
    given = parser.parse_args()
    try:
        obtain()
    except UnavailableError as reason:
        print(f"PyTorch's test files: skipped, {reason}")
        return 0
    known = [] if given.without_exclusions else exclusions.load(LIST, FILES)
    files = given.file or FILES
    rows, every, faults = [], {}, 0
    for file in files:
        tests, results, why = run_file(file, known, given)
        wrong = [f"failed: {case}: {results[case].detail}" for case in why if why[case] is None]
        for line in sorted(wrong):
            print(line, flush=True)
        faults += len(wrong)
        rows.append(row(file, tests, results, why))
        every |= results
    whole = given.share >= 1.0 and given.shard[1] == 1 and not given.only
    unneeded = stale(known, files, every) if whole else []
    print("\n".join([*unneeded, table(rows), time.strftime("%Y-%m-%d")]))
    return 1 if faults or unneeded else 0


if __name__ == "__main__":
    sys.exit(main())
