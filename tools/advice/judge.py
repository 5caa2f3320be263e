#!/usr/bin/env python3
"""Judges advice by public kernels: what it names first, and what the change really saves.

  python tools/advice/judge.py --sources DIR [--only WORD] [--write]

DIR has the checkouts that `neuron-sim fidelity --sources DIR` reads. A kernel of kernels.toml with
a better version by its author is judged by that version: what it saves beside what was promised.
Where that version changes more than the line says, `change` makes the line's change alone, and both
times are told. Of the others, the change of the first line is made in the source, the arguments or
the flags, and timed; a line that asks for more than a number there is counted and not timed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import linecache
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from neuron_sim.fidelity.published.sources import PublishedKernel, published_kernels
from neuron_sim.fidelity.published.variant_order import published_variants
from neuron_sim.fidelity.published.worker import traced
from neuron_sim.run.environment import script_environment

FOLDER = Path(__file__).resolve().parent
KERNELS, JUDGED = FOLDER / "kernels.toml", FOLDER / "judged.json"
SIZE = re.compile(r"(?P<name>\w+) = (?P<value>\d+) instead of (?P<old>\d+)")
ENGINE = re.compile(r"engine=nki\.isa\.(\w+)")
_NOTHING: dict[str, Any] = {"title": "", "write": "", "text": "", "body_us": None}


def read(path: Path) -> list[dict[str, Any]]:
    """The kernels of a TOML file. ValueError for keys that it may not or must have."""
    kernels: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["kernel"]
    for each in kernels:
        keys = {"name", "like", "arch"}
        of_pairs = {"better", "names"}
        allowed = keys | {"now"} | (of_pairs | {"change"} if of_pairs <= each.keys() else set())
        if not keys <= each.keys() <= allowed:
            raise ValueError(f"'{path.name}': kernel {each} has other keys than {sorted(allowed)}.")
    return kernels


def known() -> dict[str, PublishedKernel]:
    """The kernels that fidelity times, by their measurements."""
    variants = {each.measurement.id: each.kernel for each in published_variants()}
    return published_kernels() | variants


def request(like: PublishedKernel, checkouts: Path, *changes: Mapping[str, Any]) -> dict[str, Any]:
    """The launch of a kernel with other fields, as the process that times it reads it."""
    (launch, *_) = like.launches
    for each in changes:
        launch = dataclasses.replace(launch, **each)
    return dataclasses.asdict(launch) | {"folder": str(like.source.folder(checkouts))}


def timed(launch: Mapping[str, Any], arch: str, has_changes: bool) -> dict[str, Any]:
    """Times a launch in a separate process: `body_us` and, with `has_changes`, the advised
    `changes`. RuntimeError with the last line of its output if the process fails."""
    asked = json.dumps({**launch, "has_changes": has_changes})
    done = subprocess.run(
        [sys.executable, "-B", __file__, "--worker", asked],
        env=script_environment(os.environ, architecture=arch) | {"NEURON_SIM_FULL_TRACEBACK": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{launch['file']}: {done.stderr.strip().rpartition(chr(10))[2]}")
    reply: dict[str, Any] = json.loads(done.stdout.rpartition("@")[2])
    return reply


def work(launch: dict[str, Any]) -> None:
    """Prints the reply to one request."""
    kernel = traced(launch)
    reply: dict[str, Any] = {"body_us": kernel.time()["body_us"]}
    if launch["has_changes"]:
        reply["changes"] = [
            dataclasses.asdict(each) | {"text": _line(each.line)} for each in kernel.changes
        ]
    print(f"@{json.dumps(reply)}")


def _line(place: str) -> str:
    file, _, number = place.rpartition(":")
    return linecache.getline(file, int(number)).strip("\n") if file else ""


def made(change: Mapping[str, Any], launch: Mapping[str, Any]) -> dict[str, Any] | None:
    """The fields of a launch in which a change is made: a number of its source or its arguments, an
    engine of a call on one line, or a flag; None for other changes."""
    text = change["text"]
    if "--disable-dge" in change["write"]:
        return {"flags": f"{launch['flags']} --disable-dge".strip()}
    if engine := ENGINE.search(change["write"]):
        is_whole = "nisa." in text and "engine=" not in text and text.count("(") == text.count(")")
        changed = f"{text.rstrip()[:-1]}, engine=nisa.{engine[1]})"
        return {"edits": {**launch["edits"], text: changed}} if is_whole else None
    if (size := SIZE.match(change["write"])) is None:
        return None
    if not text:
        return {"keywords": {**launch["keywords"], size["name"]: int(size["value"])}}
    place = rf"(\b{size['name']}\b.*?=.*?)\b{size['old']}\b"
    changed, count = re.subn(place, rf"\g<1>{size['value']}", text, count=1)
    return {"edits": {**launch["edits"], text: changed}} if count else None


def judged(entry: Mapping[str, Any], checkouts: Path) -> dict[str, Any]:
    """A kernel's row: what advice names first, what it promises and what the change takes."""
    like, arch = known()[entry["like"]], entry["arch"]
    launch = request(like, checkouts, entry.get("now", {}))
    own = timed(launch, arch, True)
    first = next(iter(own["changes"]), _NOTHING)
    row = {
        "kernel": entry["name"],
        "arch": arch,
        "body_us": own["body_us"],
        "first": first["title"],
    }
    changed: dict[str, Any] | None
    if "better" in entry:
        better = request(like, checkouts, entry.get("now", {}), entry["better"])
        changed = better
        if "change" in entry:
            changed = request(like, checkouts, entry.get("now", {}), entry["change"])
        row["better_us"] = timed(better, arch, False)["body_us"]
        row["named"] = first["title"] in entry["names"]
        first = next((each for each in own["changes"] if each["title"] in entry["names"]), _NOTHING)
    else:
        fields = made(first, launch)
        changed = None if fields is None else {**launch, **fields}
    row["promised_us"] = first["body_us"]
    row["changed_us"] = changed and timed(changed, arch, False)["body_us"]
    return row


def off(row: Mapping[str, Any]) -> float | None:
    """Promised against really saved time, a share; None where either is missing."""
    promised, real = row["promised_us"], row["changed_us"]
    if promised is None or real is None:
        return None
    saved = row["body_us"] - real
    return (row["body_us"] - promised) / saved - 1 if saved else float("inf")


def line(row: Mapping[str, Any]) -> str:
    """A row as text."""
    numbers = (row["body_us"], row["promised_us"], row["changed_us"], row.get("better_us"))
    cells = " ".join("         -" if each is None else f"{each:10,.1f}" for each in numbers)
    distance = off(row)
    named = {True: "named", False: "NOT NAMED", None: ""}[row.get("named")]
    share = "" if distance is None else f"{distance:+.1%}"
    return f"{row['kernel']:<44} {cells} {share:>7} {named:<9} {row['first']}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the rows; --write stores them. 1 when less than 7 of 10 first lines name the better
    version, or a promised saving is off by more than a fifth."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sources", type=Path, metavar="DIR")
    parser.add_argument("--only", default="", metavar="WORD", help="kernels whose name has it")
    parser.add_argument("--write", action="store_true", help=f"store them in {JUDGED.name}")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.worker:
        work(json.loads(options.worker))
        return 0
    if options.sources is None:
        parser.error("--sources DIR is missing")
    rows = []
    for entry in read(KERNELS):
        if options.only in entry["name"]:
            rows.append(judged(entry, options.sources))
            print(line(rows[-1]), flush=True)
    if options.write:
        JUDGED.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    pairs = [row["named"] for row in rows if "named" in row]
    distances = [abs(each) for row in rows if (each := off(row)) is not None]
    print(f"{sum(pairs)} of {len(pairs)} first lines name the better version; of {len(distances)} "
          f"promises the furthest is {max(distances, default=0):.0%} off.")  # fmt: skip
    return int(10 * sum(pairs) < 7 * len(pairs) or max(distances, default=0) > 0.2)


if __name__ == "__main__":
    sys.exit(main())
