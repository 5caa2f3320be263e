"""Cases in a child process: one that crashes, hangs or takes too much memory costs one case."""

from __future__ import annotations

import importlib
import json
import mmap
import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from findings import Finding, FoundError, unexpected

# The classes and their modules. A module has run_case(seed), which returns a word for the summary,
# raises FoundError, or lets an exception through that nobody expects.
CLASSES = {
    "operators": "operator_cases", "nki": "nki_cases", "programs": "program_cases",
    "files": "file_cases", "commands": "command_cases",
}  # fmt: skip
# A case takes milliseconds; this is for a machine with much else to do.
CASE_SECONDS = 120.0
START_SECONDS = 900.0
RESIDENT_BYTES = 3 << 30
# Caches of programs and of samples grow: a process ends after so many cases.
CASES_PER_PROCESS = 5000
_NOT_STARTED = -1


def serve(fuzz_class: str, first: int, count: int, progress: str, results: int) -> None:
    """The child: runs the cases and writes a line of JSON per finding, then the summary."""
    words: Counter[str] = Counter()
    with open(progress, "r+b") as file, os.fdopen(results, "w") as out:
        current = mmap.mmap(file.fileno(), 8)
        run_case = importlib.import_module(CLASSES[fuzz_class]).run_case
        for seed in range(first, first + count):
            current[:] = struct.pack("q", seed)
            finding = None
            try:
                words[run_case(seed)] += 1
            except FoundError as error:
                finding = Finding(fuzz_class, seed, error.kind, error.text, error.conditions)
            except Exception as error:
                finding = unexpected(fuzz_class, seed, error)
            if finding is not None:
                words["finding"] += 1
                out.write(json.dumps(finding.record()) + "\n")
                out.flush()
        out.write(json.dumps({"words": words}) + "\n")


class _Child:
    def __init__(self, fuzz_class: str, first: int, count: int, folder: Path) -> None:
        self.progress = folder / "progress"
        self.progress.write_bytes(struct.pack("q", _NOT_STARTED))
        self.errors = (folder / "stderr").open("w+b")
        ours, theirs = os.pipe()
        command = [sys.executable, str(Path(__file__).parent), "--class", fuzz_class]
        command += ["--serve", str(first), str(count), str(self.progress), str(theirs)]
        # Files that a case names without a folder are written here.
        self.process = subprocess.Popen(
            command, pass_fds=[theirs], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=self.errors, cwd=folder, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        os.close(theirs)
        self.results = ours
        self.buffered = b""

    def seed(self) -> int:
        return struct.unpack("q", self.progress.read_bytes())[0]

    def lines(self, seconds: float) -> Iterator[dict[str, Any]] | None:
        """What the child wrote within some seconds; None at its end."""
        if not select.select([self.results], [], [], seconds)[0]:
            return iter(())
        data = os.read(self.results, 1 << 16)
        if not data:
            return None
        *whole, self.buffered = (self.buffered + data).split(b"\n")
        return map(json.loads, whole)

    def resident(self) -> int:
        try:
            statistics = Path(f"/proc/{self.process.pid}/statm").read_text().split()
        except OSError:
            return 0
        return int(statistics[1]) * os.sysconf("SC_PAGESIZE")

    def end(self) -> int:
        self.process.wait()
        os.close(self.results)
        return self.process.returncode

    def last_errors(self) -> str:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")[-2000:]


def _watch(child: _Child) -> Iterator[dict[str, Any]]:
    """What the child writes until it ends; kills it when a case takes too long or too much."""
    seed, since = _NOT_STARTED, time.monotonic()
    while (lines := child.lines(0.5)) is not None:
        yield from lines
        if (now := child.seed()) != seed:
            seed, since = now, time.monotonic()
        allowed = START_SECONDS if seed == _NOT_STARTED else CASE_SECONDS
        if time.monotonic() - since > allowed:
            child.process.kill()
            yield {"lost": f"no end within {allowed:g} s"}
        elif child.resident() > RESIDENT_BYTES:
            child.process.kill()
            yield {"lost": f"more than {RESIDENT_BYTES >> 30} GiB of memory"}


def run_batch(fuzz_class: str, first: int, count: int) -> Iterator[Finding | Counter[str]]:
    """Findings of the cases, and how many cases ended with which word."""
    end = first + count
    while first < end:
        with tempfile.TemporaryDirectory(prefix="fuzz") as folder:
            batch = min(CASES_PER_PROCESS, end - first)
            child = _Child(fuzz_class, first, batch, Path(folder))
            lost, whole = None, False
            for line in _watch(child):
                if "words" in line:
                    whole = True
                    yield Counter(line["words"])
                elif "lost" in line:
                    lost = lost or line["lost"]
                else:
                    yield Finding(**line)
            status, seed = child.end(), child.seed()
            if whole:
                first += batch
                continue
            if seed == _NOT_STARTED:
                raise RuntimeError(f"the cases did not start:\n{child.last_errors()}")
            ending = signal.Signals(-status).name if status < 0 else f"exit status {status}"
            kind = lost or f"the process ended with {ending}"
            yield Finding(fuzz_class, seed, kind, child.last_errors())
            yield Counter({"finding": 1, "before it, not counted by word": seed - first})
            first = seed + 1
