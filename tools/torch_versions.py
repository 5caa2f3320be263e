#!/usr/bin/env python3
"""Builds and tests neuron_sim with each pair of Python and torch, and stores what the tests gave.

Usage: torch_versions.py [--pair 3.12+2.14.1]... [--failed]; without --pair all of PAIRS, one after
another; with --failed only the files in which tests failed before.
Environment and build of each pair are in build/pairs, where a second run reuses them. Results
go to tests/python/torch_versions.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

from build_wheels import ROOT, interpreter

sys.path.insert(0, str(ROOT / "benchmarks"))
from speed.host import processor

PAIRS = ("3.11+2.13.0", "3.12+2.14.1", "3.13+2.15.0")
"""Python and torch: every minor version of torch that is built for, with its newest release."""
STORED = ROOT / "tests/python/torch_versions.json"
PROGRAMS = ("model_digits_cnn", "model_custom_ops")
"""What the tests run of models/cpp."""


def test(pair: str, failed_only: bool) -> dict[str, int]:
    """Tests by outcome in the environment of a pair, which is made and built before."""
    python, torch = pair.split("+")
    folder = ROOT / "build/pairs" / pair.replace("+", "-")
    folder.mkdir(parents=True, exist_ok=True)
    reports = sorted(folder.glob("results*.xml"))
    chosen = ["tests/python"]
    if failed_only:
        before = merged(reports).items()
        chosen = sorted({file_of(name) for name, outcome in before if outcome == "failed"})
        if not chosen:
            raise SystemExit(f"torch_versions: no test of {pair} failed before")
    else:
        for report in reports:
            report.unlink()
        reports.clear()
    reports.append(folder / f"results{len(reports):03}.xml")
    environment = {
        "PATH": f"{folder / 'venv/bin'}:{os.environ['PATH']}",
        "VENV": str(folder / "venv"),
        "VIRTUAL_ENV": str(folder / "venv"),
        "BUILD": str(folder / "build"),
        "PYTHON": str(interpreter(python)),
        "TORCH": torch,
        "NEURON_SIM_MODELS_DIR": str(folder / "build/models"),
    }

    def run(*command: str | Path, check: bool = True) -> None:
        subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=check)

    run("tools/setup.sh")
    run("tools/build.sh", "package")
    run("cmake", "--build", folder / "build", "--target", *PROGRAMS)
    # The notebooks of the tutorials: minutes, so that a failure ends the hours before they begin.
    site = ("-q", "-W", "--keep-going", "-b", "html", "-c", "tools/site", ".", folder / "site")
    run(folder / "venv/bin/python", "-m", "sphinx", *site)
    workers = ("-n", str(os.cpu_count()), "--dist", "loadfile", f"--junit-xml={reports[-1]}")
    pytest = (folder / "venv/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider")
    run(*pytest, *workers, *chosen, check=False)
    tests = Counter(merged(reports).values())
    return {name: tests[name] for name in ("passed", "skipped", "failed")}


def file_of(test: str) -> str:
    return test.partition("::")[0]


def merged(reports: list[Path]) -> dict[str, str]:
    """The last outcome of each test of several reports, of which later ones hold whole files."""
    tests: dict[str, str] = {}
    for report in reports:
        new = outcomes(report)
        files = {file_of(name) for name in new}
        tests = {name: tests[name] for name in tests if file_of(name) not in files} | new
    return tests


def outcomes(report: Path) -> dict[str, str]:
    """The outcome of each test, from pytest's JUnit report; an error counts as failed."""
    outcome = {"failure": "failed", "error": "failed", "skipped": "skipped"}
    return {
        f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}": next(
            (outcome[child.tag] for child in case if child.tag in outcome), "passed"
        )
        for case in ElementTree.parse(report).iter("testcase")
    }


def main() -> int:
    """Tests the chosen pairs; the end is 1 if a test failed."""
    parser = argparse.ArgumentParser(description="Tests pairs of Python and torch.")
    parser.add_argument("--pair", choices=PAIRS, action="append")
    parser.add_argument("--failed", action="store_true", help="only what failed before")
    parsed = parser.parse_args()
    chosen = parsed.pair or PAIRS
    rows = {}
    if STORED.exists():
        rows = {row["pair"]: row for row in json.loads(STORED.read_text(encoding="utf-8"))}
    for pair in chosen:
        today = datetime.date.today().isoformat()
        rows[pair] = {
            "pair": pair,
            **test(pair, parsed.failed),
            "date": today,
            "processor": processor(),
        }
        print(f"torch_versions: {rows[pair]}", flush=True)
        lines = ",\n".join(json.dumps(rows[name]) for name in PAIRS if name in rows)
        STORED.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    return int(any(rows[pair]["failed"] for pair in chosen))


if __name__ == "__main__":
    raise SystemExit(main())
