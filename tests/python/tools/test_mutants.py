"""tools/mutants: what it changes, and whose tests should notice."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools" / "mutants"

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


@pytest.fixture
def mutant_tests(mutants):
    return sys.modules["mutant_tests"]


@pytest.fixture
def mutant_changes(mutants):
    return sys.modules["mutant_changes"]


def changes(mutant_changes, name, source):
    return {mutant.apply(source) for _, mutant in mutant_changes.mutants_of(Path(name), source)}


def test_code_of_cpp_changes_and_texts_comments_and_directives_do_not(mutant_changes):
    assert changes(mutant_changes, "csrc/clamp.cpp", CPP) == {
        CPP.replace("value < 7", "value <= 7"),
        CPP.replace("7 && ", "7 || "),
        CPP.replace("!is", "is"),
        CPP.replace("value < 7", "value < 8"),
        CPP.replace("value = 7", "value = 8"),
        CPP.replace("  note(value);", ""),
        CPP.replace("value - 1", "value + 1"),
        CPP.replace("value - 1", "value - 2"),
    }


PROGRAM = """int bounded(int value, bool given) {
  if (given &&  // of two lines
      value < 0) value = -1;
  return value > 2 ? 1 : value + 0;
}
int main(int count, char**) {
  int value = count;
  value *= 2;
  return 10 + bounded(value, value != 6);
}
"""


def test_a_program_that_is_built_once_has_one_change_at_a_time(mutant_changes, tmp_path):
    """Of `count`, which is 1: 12 is 10 + 2 * 1."""
    changed = {"given ||": 9, "value >= 2": 11, "value + 1": 13, "count;\n\n": 11, "10 - b": 8}
    mutants = [mutant for _, mutant in mutant_changes.mutants_of(Path("a.cpp"), PROGRAM)]
    chosen = [next(mutant for mutant in mutants if text in mutant.apply(PROGRAM))
              for text in changed]  # fmt: skip
    switches = [mutant_changes.Switch.of(number, mutant, PROGRAM)
                for number, mutant in enumerate(chosen)]  # fmt: skip
    (tmp_path / "a.cpp").write_text(mutant_changes.switched(PROGRAM, switches))
    subprocess.run(["g++", "-Werror", "-o", tmp_path / "a", tmp_path / "a.cpp"], check=True)
    results = [subprocess.run([tmp_path / "a"], env={"MUTANT": str(number)}).returncode
               for number in range(len(chosen) + 1)]  # fmt: skip
    assert results == [*changed.values(), 12]


def test_code_of_python_changes_to_what_parses(mutant_changes):
    assert changes(mutant_changes, "python_bindings/neuron_sim/clamp.py", PYTHON) == {
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
def test_the_tests_of_the_mirrored_folder_run_those_of_a_like_name_first(
    mutant_tests, source, test
):
    [command, *_] = mutant_tests.tests_of(Path(source))
    first = next(word for word in command if word.endswith(".py"))
    assert first.startswith(test)


def test_a_folder_may_have_tests_in_two_places(mutant_tests):
    [command] = mutant_tests.tests_of(Path("python_bindings/neuron_sim/nki/launch/reads.py"))
    words = " ".join(command)
    assert "tests/python/nki/launch/test_" in words
    assert "tests/python/nki/program_cache/test_" in words


def test_core_tests_run_the_suites_of_the_folder(mutant_tests):
    [command] = mutant_tests.tests_of(Path("ops/vector_add/vector_add.cpp"))
    assert "VectorAdd.*" in command[-1] and "Conv2d" not in command[-1]


def test_a_folder_of_the_layer_may_have_suites_in_cpp_beside_those_in_python(mutant_tests):
    python, cpp = mutant_tests.tests_of(Path("csrc/launch/written_memory.cpp"))
    assert python[2] == "pytest" and "WrittenMemoryTest.*" in cpp[-1]


def test_the_tests_that_say_the_rarest_words_of_a_place_run(mutant_tests, tmp_path):
    """Also of a function whose other tests say less, and no more tests than are asked for."""
    (tmp_path / "test_rows.py").write_text(
        "import pytest\ndef test_sums(): ...\n"
        "@pytest.mark.parametrize('name', ['softmax', 'huber'])\ndef test_rows(name): ...\n"
        "def test_smooth(): 'huber'\n"
    )
    [command] = mutant_tests.tests_of(Path("csrc/aten/rows/losses.cpp"), "smoothHuber(names)", 2)
    options = [word for word in command if not word.startswith("tests/")]
    told = subprocess.run([*options, "--rootdir", tmp_path, tmp_path], cwd=TOOLS.parents[1],
                          capture_output=True, text=True, check=True).stdout  # fmt: skip
    assert "2 passed, 2 deselected" in told
    assert told.index("::test_smooth") < told.index("::test_rows[")


@pytest.mark.parametrize("room", ["csrc", "ops", "python_bindings"])
def test_a_seed_gives_the_same_changes_of_the_room(mutants, room):
    first, again = ([mutants.sample(room, random.Random(3)) for _ in range(4)] for _ in range(2))
    assert first == again and all(mutant.path.parts[0] == room for mutant in first)


@pytest.mark.parametrize("ending, name", [
    ("", None), ("os.abort()", "test_b.py"), ("time.sleep(600)", "test_b.py"),
    ("print('FAILED tests/test_b.py::test_[1 2] - 3'); os._exit(1)", "test_b.py::test_[1 2]"),
])  # fmt: skip
def test_a_test_that_fails_and_a_file_that_crashes_or_hangs_are_named(
    mutant_tests, monkeypatch, ending, name
):
    """Of output as pytest -v writes it, a line before each test."""
    monkeypatch.setattr(mutant_tests, "SECONDS", 8)
    begun = "".join(f"print('tests/test_{letter}.py::test_[1 2] ', flush=True);" for letter in "ab")
    files = [f"tests/test_{letter}.py" for letter in "abc"]
    command = mutant_tests.failing(
        [sys.executable, "-Sc", f"import os, time;{begun}{ending}", *files]
    )
    assert (command and Path(command[-1]).name) == name
    assert command is None or sum(word.startswith("tests/") for word in command) == 1


def test_what_noticed_has_to_pass_without_a_change(mutant_tests):
    passing, failing = ([sys.executable, "-Sc", f"raise SystemExit({status})"] for status in (0, 1))
    mutant_tests.check_unchanged([passing, [*passing, "tests/test_a.py"]])
    with pytest.raises(SystemExit, match=r"tests/test_a.py fails without a change"):
        mutant_tests.check_unchanged([passing, [*failing, "tests/test_a.py"]])
