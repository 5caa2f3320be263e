"""How many entries of op_db run on the device in float32 without a fallback.

An entry passes forward when every sample runs in strict mode, its values equal the CPU's and at
least one device program ran; backward likewise for the gradients, forward included.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import torch
from observation import Activity
from workers import run_all

SAMPLES = {"forward": 24, "backward": 8}
TARGETS = {"forward": 350, "backward": 200}


@dataclass
class Entry:
    """One entry of op_db in one direction."""

    direction: str
    name: str
    status: str = "passed"
    """passed, no program (all host-side or views), fallback, different, error or skipped."""
    detail: str = ""
    samples: int = 0
    strict_samples: int = 0
    """Samples that ran in strict mode with right values."""
    activity: Activity = field(default_factory=Activity)


def _lost(reason: str) -> Entry:
    return Entry("", "", "error", reason)


def cover(key: tuple[str, str]) -> Entry:
    """Runs one entry in strict mode; a sample that falls back runs again to see all of them."""
    from operators import calls, find

    direction, name = key
    entry = Entry(direction, name)
    backward = direction == "backward"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = calls(find("op_db", name), torch.float32, SAMPLES[direction], backward)
            for call in made:
                _cover_call(entry, call, backward)
    except Exception as error:
        _worse(entry, "error", error)
    if entry.status == "passed" and entry.samples == 0:
        entry.status = "skipped"
    if entry.status == "passed" and entry.activity.programs == 0:
        entry.status = "no program"
    return entry


def _cover_call(entry: Entry, call: object, backward: bool) -> None:
    from comparison import DifferenceError
    from operators import NothingToCompareError, check_backward, check_forward
    from placement import UnsupportedLayoutError

    check = check_backward if backward else check_forward
    try:
        check(call, entry.activity, strict=True)
        entry.strict_samples += 1
    except (NothingToCompareError, UnsupportedLayoutError):
        return
    except DifferenceError as error:
        _worse(entry, "different", error)
    except NotImplementedError as error:
        _worse(entry, "fallback" if "strict mode" in str(error) else "error", error)
        if "strict mode" in str(error):
            try:
                check(call, entry.activity, strict=False)
            except Exception as second:
                _worse(entry, "different", second)
    except Exception as error:
        _worse(entry, "error", error)
    entry.samples += 1


def _worse(entry: Entry, status: str, error: Exception) -> None:
    """A wrong value weighs more than a fallback; the first of a kind is kept."""
    order = ["passed", "fallback", "different", "error"]
    if order.index(status) > order.index(entry.status):
        text = " ".join(str(error).split())[:300]
        entry.status, entry.detail = status, f"{type(error).__name__}: {text}"


def keys(directions: Iterable[str]) -> list[tuple[str, str]]:
    """The entries with a float32 sample, by direction."""
    from operators import databases, full_name

    found = []
    for direction in directions:
        for op in databases()["op_db"]:
            supported = op.supported_dtypes("cpu")
            if direction == "backward":
                supported = op.supported_backward_dtypes("cpu") if op.supports_autograd else ()
            if torch.float32 in supported:
                found.append((direction, full_name(op)))
    return found


def _fallback_table(entries: list[Entry]) -> list[str]:
    """Operators that fell back, those in most entries first."""
    users: dict[str, set[str]] = defaultdict(set)
    alone: Counter[str] = Counter()
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in entries:
        ops = {op for op, _ in entry.activity.fallbacks}
        for op, reason in entry.activity.fallbacks:
            users[op].add(entry.name)
            reasons[op][reason] += 1
        if len(ops) == 1 and entry.status == "fallback":
            alone.update(ops)
    lines = ["| operator | entries | only obstacle of | reasons | entries (first) |",
             "|---|---|---|---|---|"]  # fmt: skip
    for op in sorted(users, key=lambda op: (-alone[op], -len(users[op]), op)):
        why = "; ".join(f"{reason} ({n})" for reason, n in reasons[op].most_common(3))
        first = ", ".join(sorted(users[op])[:6])
        lines.append(f"| {op} | {len(users[op])} | {alone[op]} | {why} | {first} |")
    return lines


def report(entries: list[Entry]) -> str:
    """The report in Markdown."""
    lines = ["# op_db in float32 on the device, strict mode", ""]
    for direction in SAMPLES:
        group = [entry for entry in entries if entry.direction == direction]
        if not group:
            continue
        counts = Counter(entry.status for entry in group)
        lines += [
            f"## {direction.capitalize()}: {counts['passed']} entries pass and run a program "
            f"(target {TARGETS[direction]}, {len(group)} of 702 have float32 samples)",
            "",
            ", ".join(f"{status}: {n}" for status, n in counts.most_common()),
            "",
            *_fallback_table(group),
            "",
            "Entries that do not pass (samples that run in strict mode / samples):",
            "",
        ]
        for entry in sorted(group, key=lambda e: (e.status, e.name)):
            if entry.status in ("passed", "skipped"):
                continue
            ops = ", ".join(sorted({op for op, _ in entry.activity.fallbacks}))
            why = entry.detail if entry.status in ("different", "error") else ops
            lines.append(f"- {entry.status}: {entry.name} "
                         f"({entry.strict_samples}/{entry.samples}) {why}")  # fmt: skip
        lines += ["", "Pass: " + ", ".join(e.name for e in group if e.status == "passed"), ""]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--direction", choices=SAMPLES, action="append")
    parser.add_argument("--only", help="entries whose name contains this")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=120.0, help="per entry")
    parser.add_argument("--write", type=Path, help="write the report to this file")
    given = parser.parse_args()
    wanted = keys(given.direction or SAMPLES)
    if given.only:
        wanted = [key for key in wanted if given.only in key[1]]
    entries = []
    for key, entry in run_all(wanted, cover, _lost, given.processes, given.seconds):
        entry.direction, entry.name = key
        entries.append(entry)
        if sys.stderr.isatty():
            print(f"\r{len(entries)} / {len(wanted)}", end="", file=sys.stderr)
    order = {key: index for index, key in enumerate(wanted)}
    entries.sort(key=lambda entry: order[(entry.direction, entry.name)])
    text = report(entries)
    if given.write:
        given.write.write_text(text)
        print("\n".join(line for line in text.splitlines() if line.startswith("## ")))
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
