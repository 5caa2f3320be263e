"""tools/mutation_sample.py and tools/core_coverage.py: what they change, select and count."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"

SOURCE = """#include <a.h>  // 1 < 2
int clamp(int value) {
  const char* text = "1 < 2 && true";
  if (value < 7 && text != nullptr) value = 7;
  value += 3;
  return value - 1;
}
"""


@pytest.fixture
def mutation_sample(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import mutation_sample

    return mutation_sample


@pytest.fixture
def core_coverage(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import core_coverage

    return core_coverage


def test_code_is_changed_and_texts_comments_and_directives_are_not(mutation_sample):
    mutants = list(mutation_sample.mutants_of("device/isa/clamp.cpp", SOURCE))
    assert Counter(each.kind for each in mutants) == {
        "comparison": 2,
        "logic": 1,
        "arithmetic": 1,
        "constant": 8,
        "condition": 1,
        "statement": 1,
    }
    changed = {each.apply(SOURCE) for each in mutants}
    assert len(changed) == len(mutants) and SOURCE not in changed
    assert all(each.startswith("#include <a.h>  // 1 < 2\n") for each in changed)
    assert all('"1 < 2 && true"' in each for each in changed)
    assert SOURCE.replace("value < 7 &&", "value <= 7 &&") in changed
    assert SOURCE.replace(
        "if (value < 7 && text != nullptr)", "if (!(value < 7 && text != nullptr))"
    ) in changed  # fmt: skip
    assert SOURCE.replace("  value += 3;\n", "\n") in changed


def test_an_initialiser_in_a_condition_is_not_negated(mutation_sample):
    source = "void f() {\n  if (const auto found = g()) h(found);\n}\n"
    kinds = {each.kind for each in mutation_sample.mutants_of("device/isa/f.cpp", source)}
    assert "condition" not in kinds


def test_the_tests_of_the_file_come_before_those_of_its_folder(mutation_sample):
    named, others = mutation_sample.filters("device/isa/movement/iota.cpp")
    assert "Iota.*" in named and "Memset.*" not in named
    assert "Memset.*" in others and "Iota.*" not in others.split(":")


def test_a_line_ran_when_any_object_ran_it(core_coverage):
    lines = defaultdict(dict)
    for counts in ((0, 2), (0, 0), (1, 0)):
        entries = [{"line_number": i, "count": count} for i, count in enumerate(counts)]
        files = [{"file": str(core_coverage.ROOT / "ops" / "a.h"), "lines": entries}]
        files.append({"file": "/usr/include/b.h", "lines": entries})
        core_coverage.merge({"files": files, "current_working_directory": "/"}, lines)
    assert lines == {"ops/a.h": {0: True, 1: True}}
    assert core_coverage.share([{1: True, 2: False}, {7: True}]) == (2, 3, 200 / 3)
    assert core_coverage.share([])[2] == 0
