"""The sanitizer: finds undefined behaviour, or errors on some machine, in kernels and operators.

    with neuron_sim.sanitize():  # the first kernel or operator with a finding raises SanitizeError
        kernel(a, b)
    with neuron_sim.sanitize(raise_error=False) as findings:
        model(x)
    print(*findings, sep="\\n\\n")

`NEURON_SIM_SANITIZE=1`, and `neuron-sim run --sanitize`, do the same as the first for a whole
process, and print notes on stderr. `rules()` lists the rules.
"""

from __future__ import annotations

import linecache
import sys
import threading
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Finding:
    """One place where a program does something undefined.

    rule: a name of rules(). severity: "error", or "note" for what is only worth a look. kernel: the
    program. operator: PyTorch's, where one ran it. message: one sentence. instruction, operand,
    tile: where it happens, in the model's names, or "". bytes: [first, end) of the tile, per
    partition on chip; partitions: [first, end); index: loop indices, outermost first. source_line,
    other_line: "file:line" of the place and of the other one involved, or "". remedy: how to
    fix it.
    """

    rule: str
    severity: str
    kernel: str
    message: str
    instruction: str = ""
    operand: str = ""
    tile: str = ""
    bytes: tuple[int, int] | None = None
    partitions: tuple[int, int] | None = None
    index: tuple[int, ...] = ()
    source_line: str = ""
    other_line: str = ""
    remedy: str = ""
    operator: str = ""

    def place(self) -> str:
        """The source line with a caret under it; "" without one."""
        return line_with_caret(self.source_line)

    def details(self) -> str:
        """Tile, bytes, partitions, loop indices, the other line and the remedy."""
        parts = [f"operator {self.operator}"] if self.operator else []
        parts += [f"tile '{self.tile}'"] if self.tile else []
        if self.bytes is not None:
            parts.append(f"bytes [{self.bytes[0]}, {self.bytes[1]})")
        if self.partitions is not None:
            parts.append(f"partitions [{self.partitions[0]}, {self.partitions[1]})")
        if self.index:
            parts.append(f"loop index {list(self.index)}")
        lines = [f"  rule {self.rule}" + "".join(f", {part}" for part in parts)]
        if self.other_line:
            lines.append("  the other access:\n" + line_with_caret(self.other_line))
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join(part for part in (self.message, self.place(), self.details()) if part)


class SanitizeError(ValueError):
    """A kernel or operator has findings: `findings`, errors first. The notes have all of them."""

    def __init__(self, findings: list[Finding]):
        super().__init__(findings[0].message)
        self.findings = findings
        if findings[0].place():
            self.add_note(findings[0].place())
        self.add_note(findings[0].details())
        for each in findings[1:]:
            self.add_note(f"also: {each}")
        self._neuron_sim_located = True


def line_with_caret(line: str) -> str:
    """`file:line` as in Python's tracebacks, with the whole line underlined."""
    file, _, number = line.rpartition(":")
    if not file or not number.isdigit():
        return ""
    text = linecache.getline(file, int(number)).strip()
    shown = f"\n    {text}\n    {'^' * len(text)}" if text else ""
    return f'  File "{file}", line {number}{shown}'


class sanitize:
    """A block in which NKI kernels and operators on the device are checked.

    raise_error: SanitizeError after the first kernel or operator with a finding of severity
    "error"; else all findings of the block are collected in the block's list, each once, and
    programs continue where they can. first_non_finite: a note where the first NaN or infinity
    arises from finite values. precision: a note per tile that loses much of its values' precision.
    Blocks
    may be nested: the innermost one gets the findings. Bytes and simulated times do not change.
    """

    def __init__(
        self, raise_error: bool = True, first_non_finite: bool = False, precision: bool = False
    ):
        self.raise_error = raise_error
        self.first_non_finite = first_non_finite
        self.precision = precision
        self.findings: list[Finding] = []
        self._known: set = set()
        self._mode: Any = None

    def __enter__(self) -> list[Finding]:
        with _lock:
            if not _open:
                taken()  # findings of launches before the block
            _set_checking(True)
            _open.append(self)
        self._mode = _watch_operators()
        return self.findings

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self._mode is not None:
            self._mode.__exit__(None, None, None)
            self._mode = None
        try:
            left = taken()
        finally:
            with _lock:
                _open.remove(self)
                _set_checking(bool(_open) or _is_wanted_by_environment())
        self.add(left, may_raise=kind is None)

    def add(self, findings: list[Finding], may_raise: bool = True) -> None:
        """Collects findings, or raises SanitizeError for them."""
        new = []
        for each in findings:
            if _identity(each) not in self._known:
                self._known.add(_identity(each))
                new.append(each)
        self.findings.extend(new)
        if self in _of_environment:  # nobody reads its list
            for finding in new:
                if finding.severity == "note" and _identity(finding) not in _told:
                    _told.add(_identity(finding))
                    print(f"note: {finding}", file=sys.stderr)
        new.sort(key=lambda each: each.severity != "error")
        if self.raise_error and may_raise and new and new[0].severity == "error":
            raise SanitizeError(new)


_open: list[sanitize] = []  # the blocks that are open, the innermost last
_lock = threading.RLock()
_of_environment: list[sanitize] = []  # the one for NEURON_SIM_SANITIZE=1
_told: set[tuple] = set()  # notes on stderr


def _identity(finding: Finding) -> tuple:
    """Repeats at one line, in other iterations, tiles of a ring or launches, are one finding."""
    tile = finding.tile.partition("[")[0]
    place = (finding.source_line, finding.other_line) if finding.source_line else finding.index
    return (finding.rule, finding.kernel, finding.operator, finding.instruction, finding.operand,
            tile, place)  # fmt: skip


def _is_wanted_by_environment() -> bool:
    return _core().setting("NEURON_SIM_SANITIZE") == "1"


def active() -> sanitize | None:
    """The innermost open block, or the environment's; None when nothing is checked."""
    if _open:
        return _open[-1]
    if not _is_wanted_by_environment():
        if _of_environment:
            with _lock:
                _of_environment.clear()
                _set_checking(False)
        return None
    with _lock:
        if not _of_environment:
            _of_environment.append(sanitize())
            _set_checking(True)
        block = _of_environment[0]
        block._known.clear()  # every call raises separately
        block.findings.clear()
    return block


def made(entries: list[dict], **changes: Any) -> list[Finding]:
    """Findings from neuron_sim._core's dicts; `changes` replace fields that are empty."""
    findings = []
    for entry in entries:
        fields = dict(entry, index=tuple(entry["index"]))
        fields.update({name: value for name, value in changes.items() if not fields.get(name)})
        findings.append(Finding(**fields))
    return findings


def taken(**changes: Any) -> list[Finding]:
    """The findings of the launches on devices since the last call."""
    return made(_core().take_findings(), **changes)


def rules() -> list[dict[str, str]]:
    """The rules: dicts of rule, severity, meaning and remedy."""
    return _core().check_rules()


def _core() -> Any:
    from neuron_sim import _core  # loaded when it is needed: findings work without

    return _core


def _set_checking(wanted: bool) -> None:
    _core().set_checking(wanted)


def watch_process() -> None:
    """Checks the operators of a process whose environment enables it, on the thread that imports
    torch."""
    block = None if _open else active()
    if block is not None and block._mode is None:
        block._mode = _watch_operators()


def _watch_operators() -> Any:
    """A mode of PyTorch that names operators and lines, entered; None without the device."""
    if "neuron_sim._C" not in sys.modules:
        return None
    from neuron_sim.sanitizer.operator_findings import OperatorFindings  # needs torch

    return OperatorFindings(active, taken).__enter__()
