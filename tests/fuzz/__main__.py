"""Random cases against an oracle: `python tests/fuzz --class NAME --cases N --seed S`.

A case is made from its seed alone, so a finding is repeated by its seed. Classes:

  operators  operators of torch on the device against the CPU, with wrong arguments too
  nki        functions of both NKI languages, with wrong arguments too
  programs   programs against an interpreter in NumPy, and what time may depend on
  files      damaged architecture, profile, measurement and trace files
  commands   command lines of neuron-sim

The exit status is 1 when a case found something wrong that known.toml does not name.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from findings import Finding, load_known, unknown
from worker import CLASSES, run_batch, serve

# Findings of one kind that are shown whole.
SHOWN = 2
BATCH = 1000


def show(findings: list[Finding]) -> None:
    """Each kind with its number, its first texts and the commands that repeat them."""
    kinds: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        kinds[finding.kind].append(finding)
    for kind, group in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"\n{len(group)} x {kind}")
        for finding in group[:SHOWN]:
            print(f"  {finding.repeat()}")
            print("    " + finding.text.strip().replace("\n", "\n    "))


def fuzz(
    fuzz_class: str, first: int, cases: int, minutes: float, record: Path | None
) -> list[Finding]:
    """Runs the cases, at most so long, and prints how many ended how."""
    started, end, seed = time.monotonic(), first + cases, first
    findings: list[Finding] = []
    words: Counter[str] = Counter()
    while seed < end and time.monotonic() - started < minutes * 60:
        batch = min(BATCH if minutes < float("inf") else cases, end - seed)
        for result in run_batch(fuzz_class, seed, batch):
            if isinstance(result, Finding):
                findings.append(result)
                if record is not None:
                    with record.open("a") as file:
                        file.write(json.dumps(result.record()) + "\n")
            else:
                words.update(result)
        seed += batch
    counts = ", ".join(f"{count} {word}" for word, count in words.most_common())
    found = unknown(findings, load_known())
    kinds = len({finding.kind for finding in found})
    print(
        f"{fuzz_class}: {seed - first} cases from seed {first} in {time.monotonic() - started:.0f} "
        f"s: {len(found)} findings of {kinds} kinds, {len(findings) - len(found)} known ({counts})"
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--class", dest="classes", choices=CLASSES, action="append",
                        help="one of them, repeatable; all by default")  # fmt: skip
    parser.add_argument("--cases", type=int, default=1000, help="of each class")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="of each class, about")
    parser.add_argument("--findings", type=Path, help="append them to this file, known ones too")
    parser.add_argument("--serve", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        first, count, progress, results = given.serve
        serve(given.classes[0], int(first), int(count), progress, int(results))
        return 0
    found: list[Finding] = []
    for fuzz_class in given.classes or CLASSES:
        findings = fuzz(fuzz_class, given.seed, given.cases, given.minutes, given.findings)
        show(findings)
        sys.stdout.flush()
        found += findings
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
