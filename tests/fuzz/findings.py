"""What a case of a fuzz class reports: a word for the summary, or a finding."""

from __future__ import annotations

import fnmatch
import random
import tomllib
import traceback
import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

KNOWN = Path(__file__).parent / "known.toml"


@dataclass(frozen=True)
class Finding:
    """Something wrong. `kind` is the same for all cases that show the same defect."""

    fuzz_class: str
    seed: int
    kind: str
    text: str
    conditions: Sequence[str] = ()
    """What holds for the arguments, by the names of conditions.py."""

    def record(self) -> dict[str, Any]:
        return asdict(self)

    def repeat(self) -> str:
        """The command that shows it again."""
        return f"python tests/fuzz --class {self.fuzz_class} --seed {self.seed} --cases 1"


@dataclass(frozen=True)
class Known:
    """Findings that stay for now: `kind` is a pattern as of file names, `when` a condition."""

    fuzz_class: str
    kind: str
    reason: str
    when: str = ""

    def covers(self, finding: Finding) -> bool:
        is_of_kind = self.fuzz_class == finding.fuzz_class and fnmatch.fnmatchcase(
            finding.kind, self.kind
        )
        return is_of_kind and (not self.when or self.when in finding.conditions)


def load_known(path: Path = KNOWN) -> list[Known]:
    """The entries of a file; ValueError for one without a reason."""
    entries = tomllib.loads(path.read_text()).get("known", [])
    known = [
        Known(each["class"], each["kind"], each["reason"].strip(), each.get("when", ""))
        for each in entries
    ]
    for each in known:
        if not each.reason:
            raise ValueError(f"{path.name}: '{each.kind}' has no reason.")
    return known


def unknown(findings: Sequence[Finding], known: Sequence[Known]) -> list[Finding]:
    """The findings that no entry covers."""
    return [each for each in findings if not any(entry.covers(each) for entry in known)]


class FoundError(Exception):
    """Raised by a case: the simulator did something wrong."""

    def __init__(self, kind: str, text: str, conditions: Sequence[str] = ()) -> None:
        super().__init__(f"{kind}: {text}")
        self.kind = kind
        self.text = text
        self.conditions = conditions


def source_of(fuzz_class: str, seed: int) -> random.Random:
    """The random numbers of a case; those of neighbouring seeds have nothing in common."""
    return random.Random(zlib.crc32(fuzz_class.encode()) << 64 | seed)


def unexpected(fuzz_class: str, seed: int, error: BaseException) -> Finding:
    """The finding of an exception that a case did not expect."""
    innermost = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{innermost.filename.rpartition('/')[2]}:{innermost.lineno}"
    text = "".join(traceback.format_exception(error))
    return Finding(fuzz_class, seed, f"{type(error).__name__} at {place}", text[-3000:])
