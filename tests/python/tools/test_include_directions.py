"""tools/checks: check_include_directions.py and check_files.py, from both sides of each rule."""

import subprocess
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).resolve().parents[3] / "tools" / "checks"


def run_checker(tool: str, root: Path) -> tuple[int, str]:
    answer = subprocess.run(
        [sys.executable, str(TOOLS / tool), str(root)], capture_output=True, text=True
    )
    assert answer.stderr == ""
    return answer.returncode, answer.stdout


@pytest.fixture
def tree(tmp_path):
    """A function that writes files of a tree and returns the include checker's answer."""
    headers = ["device/base.h", "ops/kernel.h"]
    headers += [
        "device/compiler/passes.h",
        "csrc/guard.h",
        "csrc/neuron_sim.h",
        "csrc/public/backend.h",
        "device/written.h.in",
    ]
    for header in headers:
        (tmp_path / header).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / header).write_text("#pragma once\n#include <vector>\n")

    def check(files: dict[str, str]) -> tuple[int, str]:
        for name, content in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        return run_checker("check_include_directions.py", tmp_path)

    return check


ALLOWED = [
    ("device/a.h", "<sys/mman.h>"), ("device/a.h", "<cstdint>"), ("device/a.h", '"device/base.h"'),
    ("device/a.h", '"device/written.h"'), ("device/a.cpp", "<fmt/format.h>"),
    ("device/a.cpp", "<toml++/toml.h>"),
    ("device/compiler/a.cpp", '"device/compiler/passes.h"'),
    ("python_bindings/core_module/a.cpp", '"device/compiler/passes.h"'),
    ("ops/a.h", '"device/base.h"'), ("ops/a.cpp", "<dnnl.hpp>"),
    ("ops/a.cpp", "<oneapi/dnnl/dnnl.hpp>"), ("ops/a.cpp", '"dnnl.h"'),
    ("csrc/a.h", '"ops/kernel.h"'), ("csrc/a.h", "<ATen/ATen.h>"),
    ("csrc/a.cpp", "<torch/library.h>"), ("models/cpp/a.cpp", '"csrc/public/backend.h"'),
    ("models/cpp/a.cpp", '"csrc/neuron_sim.h"'), ("models/cpp/a.cpp", "<torch/torch.h>"),
    ("python_bindings/torch_module/a.cpp", "<torch/extension.h>"),
    ("python_bindings/torch_module/a.cpp", '"csrc/guard.h"'),
    ("python_bindings/core_module/a.cpp", "<nanobind/nanobind.h>"),
    ("tests/device/a.cpp", "<gtest/gtest.h>"), ("tests/csrc/a.cpp", '"csrc/guard.h"'),
    ("tests/csrc/a.cpp", "<torch/torch.h>"), ("benchmarks/a.cpp", '"ops/kernel.h"'),
]  # fmt: skip

FORBIDDEN = [
    ("device/a.h", "<fmt/format.h>", "may be included in .cpp files only"),
    ("ops/a.h", "<dnnl.hpp>", "may be included in .cpp files only"),
    ("device/a.cpp", "<dnnl.hpp>", "device/ must not include dnnl.hpp"),
    ("device/a.cpp", "<omp.h>", "device/ must not include omp.h"),
    ("device/a.cpp", '"ops/kernel.h"', "device/ must not include ops/kernel.h"),
    ("device/a.cpp", "<torch/torch.h>", "device/ must not include torch/torch.h"),
    ("device/a.cpp", '"device/compiler/passes.h"', "must not include device/compiler/passes.h"),
    ("device/a.cpp", "<boost/any.hpp>", "device/ must not include boost/any.hpp"),
    ("device/a.cpp", '"base.h"', "base.h is not a full path from the repository root"),
    ("device/a.cpp", '"device/absent.h"', "device/absent.h does not exist"),
    ("device/a.cpp", "<device/base.h>", 'device/base.h is ours: write "device/base.h"'),
    ("ops/a.h", '"csrc/guard.h"', "ops/ must not include csrc/guard.h"),
    ("ops/a.cpp", "<c10/core/Device.h>", "ops/ must not include c10/core/Device.h"),
    ("csrc/a.cpp", "<fmt/format.h>", "csrc/ must not include fmt/format.h"),
    ("csrc/a.cpp", "<dnnl.h>", "csrc/ must not include dnnl.h"),
    ("csrc/a.cpp", "<torch/extension.h>", "csrc/ must not include torch/extension.h"),
    ("csrc/a.cpp", "<torch/csrc/utils/pybind.h>", "csrc/ must not include torch/csrc/utils/pybind"),
    ("csrc/a.cpp", "<Python.h>", "csrc/ must not include Python.h"),
    ("models/cpp/a.cpp", '"csrc/guard.h"', "models/ must not include csrc/guard.h"),
    ("models/cpp/a.cpp", '"device/base.h"', "models/ must not include device/base.h"),
    ("python_bindings/core_module/a.cpp", "<torch/torch.h>", "must not include torch/torch.h"),
    ("python_bindings/core_module/a.cpp", '"csrc/guard.h"', "must not include csrc/guard.h"),
    ("tests/device/a.cpp", '"ops/kernel.h"', "tests/device/ must not include ops/kernel.h"),
    ("tests/ops/a.cpp", "<torch/torch.h>", "tests/ops/ must not include torch/torch.h"),
    ("csrc/a.cpp", '"tests/csrc/helper.h"', "csrc/ must not include tests/csrc/helper.h"),
]


@pytest.mark.parametrize("file, include", ALLOWED)
def test_allowed_include_passes(tree, file, include):
    code, output = tree({file: f"#include {include}\n"})
    assert (code, output) == (0, "include directions: all as the layers allow\n")


@pytest.mark.parametrize("file, include, reason", FORBIDDEN)
def test_forbidden_include_is_found(tree, file, include, reason):
    code, output = tree({file: f"#include <vector>\n#  include {include}  // text\n"})
    assert code == 1
    assert output.count("\n") == 1
    assert output.startswith(f"{file}:2: ") and reason in output


def test_include_in_a_comment_is_no_include(tree):
    assert tree({"device/a.h": "// #include <fmt/format.h>\n"})[0] == 0


def test_every_violation_is_listed(tree):
    content = '#include <fmt/core.h>\n#include "csrc/guard.h"\n'
    code, output = tree({"ops/a.h": content, "device/a.h": content})
    assert code == 1
    assert len(output.splitlines()) == 4


@pytest.mark.parametrize("statement, code", [
    ("import neuron_sim.nki", 0),
    ("from neuron_sim import nki", 0),
    ("from torch import _C", 0),
    ("import neuron_sim._core", 1),
    ("from neuron_sim import _C", 1),
    ("from neuron_sim._core import Program", 1),
])  # fmt: skip
def test_models_import_only_public_python_names(tree, statement, code):
    answer, output = tree({"models/a.py": f"{statement}\n"})
    assert answer == code
    assert ("models/ must not import" in output) == bool(code)


def test_an_empty_tree_passes(tmp_path):
    assert run_checker("check_include_directions.py", tmp_path)[0] == 0
    assert run_checker("check_files.py", tmp_path)[0] == 0


@pytest.mark.parametrize("lines, code", [(350, 0), (351, 1)])
def test_a_file_of_more_than_350_lines_is_found(tmp_path, lines, code):
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops/a.cpp").write_text("int a;\n" * lines)
    answer, output = run_checker("check_files.py", tmp_path)
    assert answer == code
    assert ("351 lines exceed the limit of 350" in output) == bool(code)


@pytest.mark.parametrize("line, code", [
    ("import dis", 1), ("from opcode import opmap", 1), ("f.co_code", 1), ("f.co_codes", 0),
    ("import display", 0), ("# import dis", 0),
])  # fmt: skip
def test_the_package_reads_no_opcodes(tmp_path, line, code):
    (tmp_path / "python_bindings").mkdir()
    (tmp_path / "python_bindings/a.py").write_text(f"if True:\n    pass\n    {line}\n")
    assert run_checker("check_files.py", tmp_path)[0] == code


@pytest.mark.parametrize("comment, code", [
    ("// NOLINT(bugprone-x): the loop ends at the sentinel", 0),
    ("// NOLINTNEXTLINE(bugprone-x) the loop ends at the sentinel", 0),
    ("// NOLINTEND(bugprone-x)", 0),
    ("// NOLINT", 1),
    ("// NOLINT(bugprone-x)", 1),
    ("// NOLINTBEGIN(bugprone-x)", 1),
    ("// NOLINT: it is fine", 1),
])  # fmt: skip
def test_a_suppressed_warning_needs_a_reason(tmp_path, comment, code):
    (tmp_path / "device").mkdir()
    (tmp_path / "device/a.h").write_text(f"int a;  {comment}\n")
    assert run_checker("check_files.py", tmp_path)[0] == code


@pytest.mark.parametrize("names, code", [
    ("Iota, CountsTo16", 0), ("Iota, DISABLED_Counts", 0), ("Iota, counts", 1),
    ("iota, Counts", 1), ("Iota, Counts_up", 1),
])  # fmt: skip
@pytest.mark.parametrize("macro", ["TEST", "TEST_F", "TYPED_TEST"])
def test_names_of_googletest_are_pascal_case(tmp_path, macro, names, code):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/a.cpp").write_text(f"int a;\n{macro}({names}) {{\n}}\n")
    answer, output = run_checker("check_files.py", tmp_path)
    assert answer == code
    assert output.startswith("tests/a.cpp:2: write the test ") == bool(code)


@pytest.mark.parametrize("columns, code", [(100, 0), (101, 1)])
def test_a_line_of_more_than_100_columns_is_found(tmp_path, columns, code):
    (tmp_path / "ops").mkdir()
    (tmp_path / "ops/a.cpp").write_text("/" * columns + "\n")
    answer, output = run_checker("check_files.py", tmp_path)
    assert answer == code
    assert ("ops/a.cpp:1: 101 columns exceed the limit of 100" in output) == bool(code)


@pytest.mark.parametrize("lines, code", [(60, 0), (61, 1)])
def test_a_python_function_of_more_than_60_lines_is_found(tmp_path, lines, code):
    (tmp_path / "models").mkdir()
    body = "    pass\n" * (lines - 1)
    (tmp_path / "models/a.py").write_text(f"x = 1\nclass A:\n  def f(self):\n{body}")
    answer, output = run_checker("check_files.py", tmp_path)
    assert answer == code
    assert ("models/a.py:3: 61 lines of f exceed the limit of 60" in output) == bool(code)
