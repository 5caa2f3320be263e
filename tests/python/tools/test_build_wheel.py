"""tools/build_wheel.py: which wheels it refuses."""

import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

sys.path.insert(0, str(ROOT / "tools"))
import build_wheel  # noqa: E402

TAGGED = "neuron_sim-0.1.0-cp311-cp311-manylinux_2_35_x86_64.whl"


def written(folder, name, *members):
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for member in ("neuron_sim/__init__.py", *members):
            archive.writestr(member, "")
    return path


def test_a_wheel_of_the_limits_size_is_accepted_and_a_byte_more_is_not(monkeypatch, tmp_path):
    path = written(tmp_path, TAGGED)
    monkeypatch.setattr(build_wheel, "SIZE_LIMIT", path.stat().st_size)
    assert build_wheel.objection(path) == ""
    monkeypatch.setattr(build_wheel, "SIZE_LIMIT", path.stat().st_size - 1)
    assert "the limit is" in build_wheel.objection(path)


@pytest.mark.parametrize("name", ["neuron_sim-0.1.0-cp311-cp311-linux_x86_64.whl"])
def test_a_wheel_without_a_platform_that_others_have_is_refused(name, tmp_path):
    assert "has no manylinux tag" in build_wheel.objection(written(tmp_path, name))


def test_a_second_copy_of_a_system_library_is_refused(tmp_path):
    path = written(tmp_path, TAGGED, "neuron_sim.libs/libgomp-a34b3233.so.1")
    assert "libgomp-a34b3233" in build_wheel.objection(path)
