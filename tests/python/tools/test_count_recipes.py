"""tools/checks/count_recipes.py, on a small tree in which every count is at its limit."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parents[3] / "tools" / "checks" / "count_recipes.py"
PACKAGE = "python_bindings/neuron_sim"
TREE = {
    "device/arch/trn1.toml": 'base = "trn2"\n' + "#\n" * 159,
    "device/arch/trn2.toml": "[rates]\ntwo_inputs = 1\n[limits]\npsum_banks = 8\n",
    "device/arch/trn3.toml": 'base = "trn2"\n' + "#\n" * 99,
    "device/arch/rates.h": "X(kTwoInputs, two_inputs)  // two_inputs\n",
    "device/arch/architecture.h": "int psum_banks;\n",
    "device/arch/fields.cpp": '"psum_banks"\n',
    "device/timeline/ports.cpp": "RateClass::kTwoInputs\n",
    "device/isa/search/topk.h": "extern const InstructionType kTopk;\n",
    "device/isa/search/topk.cpp": 'kName = "topk"; demand(kTwoInputs);\n',
    "device/isa/search/max8.h": "extern const InstructionType kMax8;\n",
    "tests/device/isa/search/test_topk.cpp": 'EXPECT_EQ(name, "topk");\n',
    "tests/python/nki/isa/isa_functions/search.py": '"topk", "max8"\n',
    "device/check/some.toml": 'one = "topk"\n',
    "ops/graph/fields.h": 'fields = {"topk"};\n',
    f"{PACKAGE}/nki/launch.py": "from ..files import place\n",
    **{f"{PACKAGE}/{name}.py": "" for name in ("__init__", *"abcdefghij")},
    f"{PACKAGE}/files.py": "",
    **{f"{PACKAGE}/room{number}/a.py": "" for number in range(10)},
    "python_bindings/core_module/module.cpp": "",
    "python_bindings/core_module/tracing/trace.cpp": "",
    "python_bindings/torch_module/graphs/graph.cpp": "",
}


@pytest.fixture
def violations(tmp_path):
    """A function that writes the tree, changed by a dict of files, and counts in it."""

    def count(changes: dict[str, str]) -> dict[str, int]:
        for name, content in (TREE | changes).items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        answer = subprocess.run([sys.executable, CHECKER, tmp_path], capture_output=True, text=True)
        assert answer.stderr == ""
        lines = answer.stdout.splitlines()[1:]
        counts = [line.rsplit(maxsplit=2) for line in lines if not line.startswith("    ")]
        assert len(counts) == 11
        exceeded = {name: int(now) for name, now, limit in counts if int(now) > int(limit)}
        assert answer.returncode == bool(exceeded)
        return exceeded

    return count


def test_a_tree_with_every_count_at_its_limit_passes(violations):
    assert violations({}) == {}


EXCEEDING = [
    ("device/execute/engine.cpp", "rates.two_inputs", "lines of code of a rate", 3),
    ("device/arch/reader.cpp", "architecture.psum_banks\n", "lines of code of a fact", 4),
    ("device/arch/trn4.toml", "generation = 5", "lines of TOML", 2),
    ("device/arch/trn1.toml", 'base = "trn2"\n' + "#\n" * 160, "lines of trn1.toml", 161),
    ("device/arch/trn3.toml", 'base = "trn2"\n' + "#\n" * 100, "lines of trn3.toml", 101),
    ("device/check/lists.toml", 'passes_on = ["topk", "max8"]', "files of an instruction", 5),
    (f"{PACKAGE}/l.py", "", "files in the root", 13),
    ("python_bindings/torch_module/tensors/tensor.cpp", "", "rooms", 25),
    (f"{PACKAGE}/files.py", "def f():\n    from .nki import launch  # why", "arrows", 2),
]


@pytest.mark.parametrize("file, content, name, now", EXCEEDING)
def test_one_more_than_the_limit_is_a_complaint(violations, file, content, name, now):
    exceeded = violations({file: content})
    assert [value for key, value in exceeded.items() if key.startswith(name)] == [now]


@pytest.mark.parametrize(
    "file, line", [("device/check/sums.cpp", 'Source{"topk", "src"},'),
        ("device/isa/search/max8.cpp", 'if (name == "topk") return;'),
        ("ops/graph/fields.h", 'if (type.name != "topk") return;'),
        ("csrc/launch/call.cpp", 'type->name.starts_with("topk")')],
)  # fmt: skip
def test_a_comparison_with_an_instructions_name_outside_its_files_is_found(violations, file, line):
    assert violations({file: line})["comparisons with the name of an instruction"] == 1


def test_a_folder_of_more_files_than_rooms_allow_is_found(violations):
    assert violations({f"docs/page{number}.md": "" for number in range(41)}) == {
        "files of the largest folder": 41
    }
