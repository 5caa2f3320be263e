"""The table of the rules, and which of them a level refuses."""

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from neuron_sim import settings

_BUILD_TOOLS = frozenset(("front end", "verifier", "instruction check", "allocator"))
_NEWEST_GENERATION = 4  # of which rules are known


class Rule(NamedTuple):
    """A row of rules.toml, whose head says what the fields mean."""

    id: str
    summary: str
    languages: list[str]
    generations: list[int]
    enforced_by: str
    seen: bool
    source: str
    judged: str
    versions: str = ""
    remedy: str = ""
    message: str = ""
    finding: str = ""
    why: str = ""

    def holds(self, language: str, generation: int) -> bool:
        """For a kernel of a language, of settings.nki_version(), on that generation; a later one
        has the newest rules."""
        known = language in self.languages and (
            min(generation, _NEWEST_GENERATION) in self.generations
        )
        return known and (language == "old" or self._has(settings.nki_version()))

    def _has(self, version: str) -> bool:
        """Whether a version of the new language has it, as `versions` says."""
        first, is_range, last = self.versions.partition("-")
        if self.versions.endswith("+"):
            return first[:-1] <= version
        return not is_range or first <= version <= last

    def is_refused(self, level: str) -> bool:
        """Whether a kernel that breaks it is an error at a level, else a line on stderr."""
        if self.judged == "note":
            return False
        by_build = self.seen and self.enforced_by in _BUILD_TOOLS
        is_documented = level == "documented" and self.enforced_by != "nobody"
        return is_documented or (level == "compiler" and by_build)


@cache
def rules() -> dict[str, Rule]:
    """All rules by id, in the order of the table."""
    text = files(__package__).joinpath("rules.toml").read_text(encoding="utf-8")
    return {name: Rule(id=name, **fields) for name, fields in tomllib.loads(text).items()}


def rule_of_error(text: str, language: str, generation: int) -> Rule | None:
    """The rule whose breach is an error of that text at every level; None where none is."""
    told = [
        rule
        for rule in rules().values()
        if rule.message and re.search(rule.message, text) and rule.holds(language, generation)
    ]
    return max(told, key=lambda rule: len(rule.message), default=None)
