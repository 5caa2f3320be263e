"""Runs every simulator on every problem, and prints the report."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from speed.host import processor

from peers.problems import PROBLEMS, multiply_accumulates
from peers.simulators import SIMULATORS, Simulator

FOLDER = Path(__file__).resolve().parent
LIMIT = 1800
"""Seconds that one process may take."""
_VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"


def answer(python: Path | str, *arguments: str) -> str:
    """What a program prints. ValueError with the last line of its errors when it fails."""
    try:
        done = subprocess.run(
            [str(python), *arguments], capture_output=True, text=True, timeout=LIMIT
        )
    except FileNotFoundError:
        raise ValueError(f"there is no {python}") from None
    except subprocess.TimeoutExpired:
        raise ValueError(f"it takes more than {LIMIT} s") from None
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        raise ValueError(lines[-1] if lines else f"exit code {done.returncode}")
    return done.stdout.strip()


def row(simulator: Simulator, name: str, python: Path | str) -> dict[str, Any]:
    """A simulator on a problem: processor seconds of the first run and the least of later ones."""
    problem = PROBLEMS[name] | simulator.options | {"runs": simulator.runs}
    entry: dict[str, Any] = {
        "problem": name,
        "simulator": simulator.name,
        "multiply_accumulates": multiply_accumulates(problem),
        "first": None,
        "again": None,
        "found": {},
        "note": "",
    }
    try:
        told = json.loads(answer(python, str(FOLDER / simulator.program), json.dumps(problem)))
    except ValueError as error:
        return entry | {"note": str(error)}
    spent = told["seconds"]
    return entry | {
        "first": spent[0],
        "again": min(spent[1:], default=None),
        "found": told["found"],
    }


def report(peers: Path | str, simulators: Sequence[Simulator] = SIMULATORS) -> dict[str, Any]:
    """Of all rows; `peers` is the interpreter that has the others' packages."""
    versions, rows = {}, []
    for package in dict.fromkeys(each.package for each in simulators if each.package):
        try:
            versions[package] = answer(peers, "-c", _VERSION, package)
        except ValueError:
            versions[package] = None
    for name, problem in PROBLEMS.items():
        for simulator in simulators:
            if problem["kind"] not in simulator.kinds:
                continue
            python = peers if simulator.package else sys.executable
            rows.append(row(simulator, name, python))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
        "versions": versions,
        "computes": {each.name: each.computes for each in simulators},
        "rows": rows,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """0; a simulator that cannot run has a row that says why."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peers", help="the interpreter with the other simulators' packages")
    print(json.dumps(report(parser.parse_args(arguments).peers), indent=1))
    return 0
