"""Changes of one place of a source, for mutants.py, which tells what they are."""

from __future__ import annotations

import ast
import contextlib
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mutant_tests import ROOT

# Texts, comments and directives, which stay.
_TEXTS = {
    ".cpp": r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\])+\'|//[^\n]*|/\*.*?\*/|^[ \t]*#[^\n]*',
    ".py": r'(""").*?\1|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*',
}
_STATEMENT = r"(?<=\n)[ \t]+[\w.\->\[\]]+(?:\([^;{}\n]*\)| [+\-*/|&]?= [^;{}\n]*)"
_ANY = {
    r"(?<= )<=(?= )": "<", r"(?<= )<(?= )": "<=", r"(?<= )>=(?= )": ">", r"(?<= )>(?= )": ">=",
    r"(?<= )==(?= )": "!=", r"(?<= )!=(?= )": "==", r"(?<= )\+(?= )": "-", r"(?<= )-(?= )": "+",
    r"(?<= )\*(?= )": "+", r"(?<= )//?(?= )": "*", r"(?<= )%(?= )": "+",
    r"(?<![\w.'])\d{1,4}(?![\w.'])": "one more",
}  # fmt: skip
_RULES = {
    ".cpp": _ANY | {r"(?<= )&&(?= )": "||", r"(?<= )\|\|(?= )": "&&", r"!(?=[a-z(])": "",
                    r"\btrue\b": "false", r"\bfalse\b": "true", _STATEMENT + r";(?=\n)": ""},
    ".py": _ANY | {r"(?<= )and(?= )": "or", r"(?<= )or(?= )": "and", r"\bnot (?!in\b)": "",
                   r"\bTrue\b": "False", r"\bFalse\b": "True", _STATEMENT + r"(?=\n)": "pass"},
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: [start, end) of the file, from the root, becomes `text`."""

    path: Path
    start: int
    end: int
    text: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def described(self, source: str) -> str:
        old, number = source[self.start : self.end].strip(), source.count("\n", 0, self.end)
        line = source.splitlines()[number].strip()
        return f"{self.path}:{number + 1}: '{old}' becomes '{self.text.strip()}' in: {line}"


def blanked(path: Path, source: str) -> str:
    """The source with other characters for its texts, comments and directives."""
    return re.sub(_TEXTS[path.suffix], lambda text: re.sub(r"[^\n]", "_", text[0]), source,
                  flags=re.DOTALL | re.MULTILINE)  # fmt: skip


def mutants_of(path: Path, source: str) -> Iterator[tuple[str, Mutant]]:
    """All changes of a file, with the pattern that each follows."""
    blank = blanked(path, source)
    for pattern, text in _RULES[path.suffix].items():
        for match in re.finditer(pattern, blank):
            new = str(int(match[0]) + 1) if text == "one more" else text
            if text == "pass":
                new = re.sub(r"\S.*", text, match[0])
            mutant = Mutant(path, *match.span(), new)
            with contextlib.suppress(SyntaxError):
                if path.suffix == ".py":
                    ast.parse(mutant.apply(source))
                yield pattern, mutant


def sample(room: str, source: random.Random) -> Mutant:
    """A change of a room: each file is as likely as another, and then each kind of change."""
    files = sorted(file for file in (ROOT / room).rglob("*") if file.suffix in _RULES)
    by_pattern: defaultdict[str, list[Mutant]] = defaultdict(list)
    while not by_pattern:
        path = source.choice(files)
        for pattern, mutant in mutants_of(path.relative_to(ROOT), path.read_text()):
            by_pattern[pattern].append(mutant)
    return source.choice(by_pattern[source.choice(list(by_pattern))])


# What an expression of C++ stands after, and before.
_BEFORE = re.compile(r"(?: [-+*/|&]?= |return | \? | : |[,;]|\A)\s*\Z")
_AFTER = re.compile(r" \? | : |[,;]| \{")


def expression_around(blank: str, start: int, end: int) -> tuple[int, int]:
    """Where the largest expression within the same brackets begins and ends."""
    depth = 0
    while depth > 0 or not _BEFORE.search(blank, max(0, start - 16), start):
        depth += (blank[start - 1] in ")]}") - (blank[start - 1] in "([{")
        if depth < 0:
            break
        start -= 1
    depth = 0
    while depth > 0 or not _AFTER.match(blank, end):
        depth += (blank[end] in "([{") - (blank[end] in ")]}")
        if depth < 0:
            break
        end += 1
    return start, end


class Switch(NamedTuple):
    """C++ that is changed while the environment's MUTANT is `number`: [start, end) is `text`."""

    number: int
    start: int
    end: int
    text: str

    @classmethod
    def of(cls, number: int, mutant: Mutant, source: str) -> Switch:
        old = source[mutant.start : mutant.end]
        if not mutant.text and old.endswith(";"):
            return cls(number, mutant.start, mutant.end, f"if (!is_mutant({number})) {{ {old} }}")
        start, end = expression_around(blanked(mutant.path, source), mutant.start, mutant.end)
        new = source[start : mutant.start] + mutant.text + source[mutant.end : end]
        text = f"(is_mutant({number}) ? ({new}) : ({source[start:end]}))"
        return cls(number, start, end, text)

    def overlaps(self, other: Switch) -> bool:
        return self.start < other.end and other.start < self.end


# Files may be compiled together. The lines of a source have their numbers after it.
_HEADER = """#ifndef HAS_MUTANTS
#define HAS_MUTANTS
#include <cstdlib>
inline bool is_mutant(int number) {
  static const char* const given = std::getenv("MUTANT");
  return given != nullptr && std::atoi(given) == number;
}
#endif
#line 1
"""


def switched(source: str, switches: list[Switch]) -> str:
    """The source with all of them, in which a line keeps its number or that of its expression."""
    for switch in sorted(switches, key=lambda each: -each.start):
        lines = "\n" * source.count("\n", switch.start, switch.end)
        text = re.sub(r"(//.*)?\n", " ", switch.text) + lines
        source = source[: switch.start] + text + source[switch.end :]
    return _HEADER + source
