"""tools/checks/check_rooms.py, from both sides of each rule."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKER = Path(__file__).resolve().parents[3] / "tools" / "checks" / "check_rooms.py"
PACKAGE = "python_bindings/neuron_sim"


@pytest.fixture
def check(tmp_path):
    """A function that writes a tree, where every folder has a README.md, and checks it."""

    def run(files: dict[str, str]) -> list[str]:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
            for folder in path.parents[: len(path.relative_to(tmp_path).parts) - 1]:
                (folder / "README.md").write_text("# It\n")
        answer = subprocess.run(
            [sys.executable, str(CHECKER), str(tmp_path)], capture_output=True, text=True
        )
        assert answer.stderr == ""
        complaints = answer.stdout.splitlines() if answer.returncode else []
        assert complaints or "rooms: no circles" in answer.stdout
        return complaints

    return run


def test_folders_may_include_each_other_in_one_direction(check):
    assert check({"device/a/x.h": '#include "device/b/y.h"\n', "device/b/y.h": ""}) == []


def test_a_circle_of_folders_is_found_although_no_file_is_in_one(check):
    complaints = check(
        {"device/a/x.h": '#include "ops/b/y.h"\n', "ops/b/y.h": "",
            "ops/b/z.cpp": '#include "device/c/w.h"\n', "device/c/w.h": '#include "device/a/v.h"\n',
            "device/a/v.h": ""},
    )  # fmt: skip
    assert len(complaints) == 1 and complaints[0].startswith("circle of 3: ")
    assert "ops/b/z.cpp includes device/c/w.h" in complaints[0]


def test_modules_may_import_compiled_ones_and_types_in_any_direction(check):
    files = {
        f"{PACKAGE}/__init__.py": '"""It."""\nfrom . import a\n',
        f"{PACKAGE}/a.py": "from . import _core\n",
        f"{PACKAGE}/b.py": "if TYPE_CHECKING:\n    from .c import C\n",
        f"{PACKAGE}/c.py": "from . import b\n",
    }
    assert check(files) == []


@pytest.mark.parametrize(
    "statement", ["from .b import f", "import neuron_sim.b", "from . import b"]
)
def test_a_circle_of_modules_is_found(check, statement):
    complaints = check(
        {f"{PACKAGE}/a.py": f"{statement}\n", f"{PACKAGE}/b.py": "from neuron_sim import a\n"}
    )
    assert len(complaints) == 1 and complaints[0].startswith("circle of 2: ")


def test_a_circle_of_packages_is_found_although_no_module_is_in_one(check):
    complaints = check(
        {f"{PACKAGE}/p/a.py": "from ..q import b\n", f"{PACKAGE}/q/b.py": "",
            f"{PACKAGE}/q/c.py": "from ..p import d\n", f"{PACKAGE}/p/d.py": ""},
    )  # fmt: skip
    assert len(complaints) == 1 and complaints[0].startswith("circle of 2: ")


@pytest.mark.parametrize("comment, count", [("", 1), ("  # torch is optional", 0)])
def test_an_import_within_a_function_needs_a_reason(check, comment, count):
    source = f"def f():\n    import torch{comment}\n"
    assert len(check({f"{PACKAGE}/a.py": source})) == count


def test_an_arrow_back_up_is_found_although_modules_and_packages_have_no_circle(check):
    files = {
        f"{PACKAGE}/a/__init__.py": "from neuron_sim.b import x\n",
        f"{PACKAGE}/b/x.py": "",
        f"{PACKAGE}/b/inner/y.py": "def f():\n    from neuron_sim.a.deep import z  # rarely\n",
        f"{PACKAGE}/a/deep/z.py": "",
    }
    (complaint,) = check(files)
    assert complaint.startswith("circle of 2: ")
    assert f"{PACKAGE}/b/inner/y.py:2 imports {PACKAGE}/a/deep/z.py" in complaint


@pytest.mark.parametrize(
    "text, count",
    [('C = {"z": "neuron_sim.a.z"}', 1), ('"neuron_sim.a"', 0), ('"neuron_sim.c"', 0)],
)
def test_a_module_that_a_string_names_counts_as_imported(check, text, count):
    files = {
        f"{PACKAGE}/a/__init__.py": "", f"{PACKAGE}/a/x.py": "from neuron_sim.b import x\n",
        f"{PACKAGE}/a/z.py": "", f"{PACKAGE}/b/x.py": "", f"{PACKAGE}/b/y.py": f"{text}\n",
    }  # fmt: skip
    assert len(check(files)) == count


@pytest.mark.parametrize("statement, count", [
    ("import neuron_sim", 1),
    ("from neuron_sim import __version__", 1),
    ("from neuron_sim import _build, b", 0),
    ("from neuron_sim._build import VERSION", 0),
])  # fmt: skip
def test_no_module_imports_the_face_of_the_package(check, statement, count):
    complaints = check(
        {f"{PACKAGE}/__init__.py": "", f"{PACKAGE}/a.py": f"{statement}\n", f"{PACKAGE}/b.py": ""},
    )  # fmt: skip
    face = f"{PACKAGE}/a.py:1 imports {PACKAGE}/__init__.py, the face of the package"
    assert complaints == [face] * count


@pytest.mark.parametrize("files, count", [(11, 0), (12, 1)])
def test_more_than_12_files_beside_the_rooms_are_found(check, files, count):
    complaints = check({f"{PACKAGE}/{i}.json": "" for i in range(files)})  # and README.md
    assert complaints == [f"{PACKAGE}: 13 files beside its folders, more than 12"] * count


@pytest.mark.parametrize("packages, count", [(22, 0), (23, 1)])
def test_more_than_24_rooms_are_found(check, packages, count):
    files = {f"{PACKAGE}/p{i}/x.py": "" for i in range(packages)}
    modules = {f"python_bindings/{name}/y.h": "" for name in ("core_module/a", "torch_module/b")}
    complaints = check({f"{PACKAGE}/__init__.py": "", **files, **modules})
    assert len(complaints) == count
    assert all(each.startswith("python_bindings: 25 rooms, more than 24: ") for each in complaints)


@pytest.mark.parametrize("files, count", [(34, 0), (35, 1)])
def test_a_folder_of_more_than_35_files_is_found(check, files, count):
    complaints = check({f"ops/k/{i}.h": "" for i in range(files)})  # and README.md
    assert len(complaints) == count
    assert all(each == "ops/k: 36 files, more than 35" for each in complaints)


def test_a_folder_without_a_page_is_found(check, tmp_path):
    assert check({"ops/k/a.h": ""}) == []
    (tmp_path / "ops/k/README.md").unlink()
    (tmp_path / "ops/k/b.h").write_text("")
    answer = subprocess.run([sys.executable, str(CHECKER), str(tmp_path)], capture_output=True)
    assert answer.stdout.startswith(b"ops/k: neither README.md nor the docstring")
