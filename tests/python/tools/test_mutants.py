"""tools/mutants.py: what it changes, and whose tests should notice."""

import random
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools"

CPP = """#include <a.h>  // 1 < 2
int clamp(int value) {
  const char* text = "1 < 2 && true";
  if (value < 7 && !is(text)) value = 7;
  note(value);
  return value - 1;
}
"""
PYTHON = '''"""1 < 2 and true."""
def clamp(value, text="1 < 2"):
    if value < 7 and not text:  # 1 < 2
        note(value)
    return value - 1
'''


@pytest.fixture
def mutants(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    import mutants

    return mutants


def changes(mutants, name, source):
    return {mutant.apply(source) for _, mutant in mutants.mutants_of(Path(name), source)}


def test_code_of_cpp_changes_and_texts_comments_and_directives_do_not(mutants):
    assert changes(mutants, "csrc/clamp.cpp", CPP) == {
        CPP.replace("value < 7", "value <= 7"),
        CPP.replace("7 && ", "7 || "),
        CPP.replace("!is", "is"),
        CPP.replace("value < 7", "value < 8"),
        CPP.replace("value = 7", "value = 8"),
        CPP.replace("  note(value);", ""),
        CPP.replace("value - 1", "value + 1"),
        CPP.replace("value - 1", "value - 2"),
    }


def test_code_of_python_changes_to_what_parses(mutants):
    assert changes(mutants, "python_bindings/neuron_sim/clamp.py", PYTHON) == {
        PYTHON.replace("value < 7", "value <= 7"),
        PYTHON.replace("7 and ", "7 or "),
        PYTHON.replace("not ", ""),
        PYTHON.replace("value < 7", "value < 8"),
        PYTHON.replace("note(value)", "pass"),
        PYTHON.replace("value - 1", "value + 1"),
        PYTHON.replace("value - 1", "value - 2"),
    }


@pytest.mark.parametrize("source, test", [
    ("csrc/aten/pointwise/remainders.cpp", "tests/python/ops/test_remainders.py"),
    ("csrc/custom_ops/rms_norm.cpp", "tests/python/custom_ops/test_rms_norm.py"),
    ("python_bindings/neuron_sim/nki/check/values.py", "tests/python/nki/check/test_check.py"),
    ("python_bindings/neuron_sim/nki/lowering/windows.py", "tests/python/nki/isa"),
    ("python_bindings/neuron_sim/settings.py", "tests/python/package"),
])  # fmt: skip
def test_the_tests_of_the_mirrored_folder_run_those_of_a_like_name_first(mutants, source, test):
    first = next(word for word in mutants.tests_of(Path(source)) if word.endswith(".py"))
    assert first.startswith(test)


def test_a_folder_may_have_tests_in_two_places(mutants):
    words = " ".join(mutants.tests_of(Path("python_bindings/neuron_sim/nki/launch/reads.py")))
    assert "tests/python/nki/launch/test_" in words
    assert "tests/python/nki/program_cache/test_" in words


def test_core_tests_run_the_suites_of_the_folder(mutants):
    suites = mutants.tests_of(Path("ops/vector_add/vector_add.cpp"))[-1]
    assert "VectorAdd.*" in suites and "Conv2d" not in suites


@pytest.mark.parametrize("room", ["csrc", "ops", "python_bindings"])
def test_a_seed_gives_the_same_changes_of_the_room(mutants, room):
    first, again = ([mutants.sample(room, random.Random(3)) for _ in range(4)] for _ in range(2))
    assert first == again and all(mutant.path.parts[0] == room for mutant in first)


@pytest.mark.parametrize("ending, name", [
    ("", None), ("print('FAILED'); exit(1)", "test_b.py"), ("os.abort()", "test_b.py"),
    ("time.sleep(600)", "test_b.py"),
])  # fmt: skip
def test_the_file_that_fails_crashes_or_hangs_is_named(mutants, monkeypatch, ending, name):
    """Of output as pytest -v writes it, a line before each test."""
    monkeypatch.setattr(mutants, "SECONDS", 8)
    begun = "".join(f"print('tests/test_{letter}.py::test_one ', flush=True);" for letter in "ab")
    files = [f"tests/test_{letter}.py" for letter in "abc"]
    command = mutants.failing([sys.executable, "-Sc", f"import os, time;{begun}{ending}", *files])
    assert (command and Path(command[-1]).name) == name
    assert command is None or sum(word.endswith(".py") for word in command) == 1
