"""tools/build_wheels.py: which wheels it refuses."""

import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

sys.path.insert(0, str(ROOT / "tools"))
import build_wheels  # noqa: E402

TAGGED = "neuron_sim-0.1.0-cp311-cp311-manylinux_2_34_x86_64.whl"


def written(folder, name, *members):
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        for member in ("neuron_sim/__init__.py", *members):
            archive.writestr(member, "")
    return path


def test_a_wheel_of_the_limits_size_is_accepted_and_a_byte_more_is_not(tmp_path):
    path = written(tmp_path, TAGGED)
    size = path.stat().st_size
    assert build_wheels.objection(path, size) == ""
    assert "the limit is" in build_wheels.objection(path, size - 1)


def test_a_wheel_that_needs_a_newer_glibc_than_users_have_is_refused(tmp_path):
    path = written(tmp_path, TAGGED.replace("_2_34_", "_2_35_"))
    assert "needs a glibc newer than 2.34" in build_wheels.objection(path, 10**6)
    both = written(tmp_path, TAGGED.replace("2_34_x86_64", "2_28_x86_64.manylinux_2_35_x86_64"))
    assert build_wheels.objection(both, 10**6) == ""


def test_the_versions_are_those_that_the_build_and_the_package_name():
    assert build_wheels.python_versions() == ["3.11", "3.12", "3.13"]
    assert build_wheels.torch_versions()[0] == "2.13"


def test_modules_for_arm64_are_named_as_its_interpreter_looks_for_them():
    named = build_wheels.cross_environment(Path(sys.executable))["SETUPTOOLS_EXT_SUFFIX"]
    assert named == sysconfig.get_config_var("EXT_SUFFIX").replace("x86_64", "aarch64")


@pytest.mark.parametrize("name", ["neuron_sim-0.1.0-cp311-cp311-linux_x86_64.whl"])
def test_a_wheel_without_a_platform_that_others_have_is_refused(name, tmp_path):
    assert "has no manylinux tag" in build_wheels.objection(written(tmp_path, name), 10**6)


def test_a_second_copy_of_a_system_library_is_refused(tmp_path):
    path = written(tmp_path, TAGGED, "neuron_sim.libs/libgomp-a34b3233.so.1")
    assert "libgomp-a34b3233" in build_wheels.objection(path, 10**6)
