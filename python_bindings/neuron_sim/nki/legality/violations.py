"""What breaks a rule, where, and what becomes of it: an error or a line on stderr."""

import sys
from collections.abc import Iterable
from typing import NamedTuple

from ..syntax.places import point_at_line
from .rules import Rule, rules

APPROXIMATIONS = frozenset(("VA-MM32", "VA-EXP", "VA-SIG", "VA-SUM"))
"""Notes on differences in the last digits, which a verdict has and a run does not print."""

_told: set[str] = set()  # lines on stderr, those of one place by rule and place


class Violation(NamedTuple):
    """`rule`: its id. `place`: "file:line", or "". `detail`: what breaks it here, a clause."""

    rule: str
    place: str
    detail: str


class LegalityError(ValueError):
    """A kernel that the vendor's tools refuse. `violations`: all that was found before it ran,
    the one of the message first."""

    def __init__(self, message: str, violations: list[Violation]):
        super().__init__(message)
        self.violations = violations


def sentence(kernel: str, violation: Violation) -> str:
    """Rule, who enforces it, what breaks it and how to mend that."""
    rule = rules()[violation.rule]
    who = {"chip": "the chip", "nobody": "nobody"}.get(
        rule.enforced_by, f"the vendor's {rule.enforced_by}"
    )
    detail = f" ({violation.detail})" if violation.detail else ""
    if rule.judged == "note":
        meets = f"kernel '{kernel}' meets {rule.id}: the chip computes otherwise"
        return f"{meets}: {rule.summary}{detail} [{rule.source}]."
    claim = "which" if rule.seen else "which, as documents say,"
    broken = f"kernel '{kernel}' breaks {rule.id}, {claim} {who} enforces"
    return f"{broken}: {rule.summary}{detail}; {rule.remedy}."


def holding(violations: Iterable[Violation], where: tuple[str, int]) -> list[Violation]:
    """Each once, without those of rules that do not hold for a (language, generation)."""
    return [violation for violation in dict.fromkeys(violations) if _rule(violation).holds(*where)]


def settle(kernel: str, violations: list[Violation], level: str) -> None:
    """LegalityError for the first violation that `level` refuses; else one line on stderr per rule
    and place."""
    refused = [violation for violation in violations if _rule(violation).is_refused(level)]
    if not refused:
        for violation in violations:
            if violation.rule not in APPROXIMATIONS:
                _tell(kernel, violation)
        return
    first, *others = refused
    error = LegalityError(sentence(kernel, first), refused)
    point_at_line(error, first.place)
    for violation in others:
        error.add_note(f"also: {violation.place}: {sentence(kernel, violation)}")
    raise error


def _rule(violation: Violation) -> Rule:
    return rules()[violation.rule]


def _tell(kernel: str, violation: Violation) -> None:
    kind = "note" if _rule(violation).judged == "note" else "warning"
    line = f"{kind}: {sentence(kernel, violation)}"
    key = f"{violation.place}: {violation.rule}" if violation.place else line
    if key not in _told:
        _told.add(key)
        print(f"{violation.place}: {line}" if violation.place else line, file=sys.stderr)
