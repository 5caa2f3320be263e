"""The table of the rules, and which of them a level refuses."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple

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

    def holds(self, language: str, generation: int) -> bool:
        """For a kernel of a language on that generation; a later one has the newest rules."""
        return language in self.languages and min(generation, _NEWEST_GENERATION) in (
            self.generations
        )

    def is_refused(self, level: str) -> bool:
        """Whether a kernel that breaks it is an error at a level, else a line on stderr."""
        by_build = self.seen and self.enforced_by in _BUILD_TOOLS
        is_documented = level == "documented" and self.enforced_by != "nobody"
        return is_documented or (level == "compiler" and by_build)


@cache
def rules() -> dict[str, Rule]:
    """All rules by id, in the order of the table."""
    text = files(__package__).joinpath("rules.toml").read_text(encoding="utf-8")
    return {name: Rule(id=name, **fields) for name, fields in tomllib.loads(text).items()}
