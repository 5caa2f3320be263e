"""tools/checks/check_hardware_literals.py, from both sides of its rule."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
CHECKER = ROOT / "tools" / "checks" / "check_hardware_literals.py"


def complaints(root):
    answer = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True)
    assert answer.stderr == ""
    return answer.stdout.splitlines() if answer.returncode else []


@pytest.mark.parametrize("line, number", [
    ("QUADRANT = 32", 32), ("fits = rows <= 128", 128), ("columns = min(size, 512)", 512),
    ("bank = 2 * 1024", 2048), ("sbuf = 24 * 1024 * 1024", 24 * 2**20),
    ("sbuf = 24 << 20", 24 * 2**20), ("sbuf = 24 * 2**20", 24 * 2**20),
])  # fmt: skip
@pytest.mark.parametrize("folder", ["nki/tracing", "neuronxcc/nki/isa"])
def test_sizes_of_the_hardware_are_refused(tmp_path, folder, line, number):
    file = tmp_path / "python_bindings/neuron_sim" / folder / "it.py"
    file.parent.mkdir(parents=True)
    file.write_text(f'"""Up to 128 partitions."""\n{line}\n')
    (complaint,) = complaints(tmp_path)
    assert complaint.startswith(f"python_bindings/neuron_sim/{folder}/it.py:2: {number} (")


def test_other_numbers_texts_and_excused_numbers_are_not(tmp_path):
    file = tmp_path / "python_bindings/neuron_sim/nki/it.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        '"""Tiles of 128 partitions."""\nx = 31 + 64\n'
        "y = limits.partitions\nz = 32  # no size of the hardware: bits of a word\n"
    )
    assert complaints(tmp_path) == []


def test_this_repository_has_none():
    assert complaints(ROOT) == []
