"""tools/checks/line_budget.py, from both sides of each budget."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parents[3] / "tools" / "checks" / "line_budget.py"
HEAD = "# why\n[totals]\nsources = 10\ntests = 3\ndocs = 4\n"
ROOMS = {"device/isa": 5, "python_bindings/neuron_sim/nki": 5, "tests/ops": 3, "docs": 4}


@pytest.fixture
def tree(tmp_path):
    """A tree whose rooms and totals are exactly as large as their budgets."""
    for name, content in {
        "device/isa/search/topk.h": "int a;\n" * 3,
        "device/isa/list.cpp": "int a;\n" * 2,
        "device/isa/README.md": "# a page outside docs counts for nothing\n",
        "python_bindings/neuron_sim/nki/isa/dma.py": "a = 1\n" * 5,
        "tests/ops/graph/test_rows.cpp": "int a;\n" * 3,
        "docs/page.md": "# Two words\n\nmore\n",
        "tools/checks/line_budget.toml": HEAD
        + "\n[rooms]\n"
        + "".join(f'"{room}" = {lines}\n' for room, lines in ROOMS.items()),
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    return tmp_path


def run(root, *options):
    answer = subprocess.run(
        [sys.executable, CHECKER, *options, root], capture_output=True, text=True
    )
    assert answer.stderr == ""
    return answer.returncode, answer.stdout


def test_rooms_and_totals_as_large_as_their_budgets_pass(tree):
    code, output = run(tree)
    assert code == 0 and "exceeds" not in output
    assert [line.split()[:2] for line in output.splitlines()] == [
        *(["room", name] for name in sorted(ROOMS)),
        *(["total", name] for name in ("docs", "sources", "tests")),
    ]


@pytest.mark.parametrize(
    "file, room, total", [("device/isa/list.cpp", "device/isa", "sources"),
        ("python_bindings/neuron_sim/nki/isa/dma.py", "python_bindings/neuron_sim/nki", "sources"),
        ("tests/ops/graph/test_rows.cpp", "tests/ops", "tests"), ("docs/page.md", "docs", "docs")],
)  # fmt: skip
def test_a_line_or_word_more_exceeds_the_room_and_the_total(tree, file, room, total):
    (tree / file).write_text((tree / file).read_text() + "more\n")
    code, output = run(tree)
    assert code == 1
    exceeding = [line.split()[1] for line in output.splitlines() if "exceeds it by 1" in line]
    assert exceeding == [room, total]


def test_a_room_without_a_budget_and_a_budget_without_a_room_are_complaints(tree):
    (tree / "device/isa").rename(tree / "device/instructions")
    code, output = run(tree)
    assert code == 1
    assert "device/instructions" in output and "has no budget in" in output
    assert "is gone; delete its budget of 5" in output


def test_writing_rounds_the_rooms_up_and_keeps_the_head_and_the_totals(tree):
    (tree / "device/isa/list.cpp").write_text("int a;\n" * 48)
    code, output = run(tree, "--write")
    assert code == 1 and "exceeds it by 46" in output  # the total of the sources
    written = (tree / "tools/checks/line_budget.toml").read_text()
    assert written.startswith(HEAD)
    assert '"device/isa" = 100\n' in written and '"tests/ops" = 50\n' in written
