"""Rows of test suites, timed from checkouts; here from a suite that the tests write."""

import dataclasses
import re

import pytest
from neuron_sim import command_line
from neuron_sim.fidelity.coverage import is_covered, left_out_coverage
from neuron_sim.fidelity.held_out import evaluate as held_out
from neuron_sim.fidelity.held_out.rows import held_out_rows, read_rows
from neuron_sim.fidelity.measurement import load_measurements
from neuron_sim.timeline.interval import MeasuredError

SUITE = """
import not_public
import nki.language as nl
import numpy as np
from harness.manager import Orchestrator
from kernels.copy import copy

WIDTH = 512

class Arguments:
    def __init__(self, kernel_func, kernel_input, compiler_input):
        self.kernel_func = kernel_func
        self.kernel_input = kernel_input
        self.compiler_input = compiler_input

class CompilerArgs:
    def __init__(self, logical_nc_config):
        self.logical_nc_config = logical_nc_config

class TestCopy:
    def test_copy(self, test_manager: Orchestrator, collector, width, dtype, time):
        print("a line of the suite")
        x = not_public.static_cast(np.zeros((128, width)), dtype)
        given = {"x.must_alias_input": x}
        test_manager.execute(Arguments(copy, given, CompilerArgs(1)))
        raise AssertionError("the kernel was not handed over")

    def run_copy(self, test_manager, collector, compiler_args, width, dtype, lnc_degree):
        self.test_copy(test_manager, collector, width, dtype, None)

    def test_nothing(self, test_manager, collector):
        pass
"""

KERNEL = '''
"""A docstring that ends twice."""
    the rest"""
import nki
import nki.isa as nisa
import nki.language as nl

@nki.jit
def copy(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.dma_copy(dst=out, src=tile)
    return out
'''

ROWS = """
repository = "author/suite"
commit = "0000000000000000000000000000000000000000"
file = "tests/test_copy.py"
paths = ["", "tests"]
stand_ins = ["not_public", "harness"]
execution = 10
[repairs."kernels.copy"]
file = "kernels/copy.py"
edits = { '    the rest\"\"\"' = "" }
[measurement]
arch = "trn2"
family = "copies"
metric = "profile total"
[[test]]
method = "TestCopy.test_copy"
time = "time"
columns = ["width", "dtype", "time"]
[test.rows]
7 = "WIDTH, np.float32, 20000000.0"
8 = "4 * WIDTH, nl.bfloat16, 30e6"
[[test]]
method = "TestCopy.run_copy"
time = "time"
columns = ["lnc_degree", "width", "time"]
others = { dtype = "np.float32" }
[test.rows]
9 = "1, WIDTH, 20000000.0"
[[test]]
method = "TestCopy.test_nothing"
time = "time"
columns = ["time"]
[test.rows]
10 = "1e6"
"""


@pytest.fixture
def rows(tmp_path):
    checkout = tmp_path / "author+suite"
    for name, text in (("tests/test_copy.py", SUITE), ("kernels/copy.py", KERNEL)):
        path = checkout / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
    (checkout / "kernels" / "__init__.py").touch()
    path = tmp_path / "suite.toml"
    path.write_text(ROWS)
    return read_rows(path)


def test_rows_are_measurements_with_their_lines_as_names(rows):
    measured = [row.measurement for row in rows]
    assert [each.id for each in measured] == ["copies-7", "copies-8", "copies-9", "copies-10"]
    assert [each.value for each in measured] == [20.0, 30.0, 20.0, 1.0]
    assert measured[0].source == "author/suite tests/test_copy.py:7"
    assert measured[0].author == "author/suite"
    assert measured[0].time == "profile_us"
    assert {each.split for each in measured} == {"held_out"}
    assert {row.suite.execution for row in rows} == {10}


def test_a_row_is_timed_as_its_test_launches_the_kernel(rows, tmp_path):
    narrow, wide, run, nothing = held_out.evaluate(rows, tmp_path)
    assert narrow.reason is None and wide.reason is None and run.reason is None
    assert 0 < narrow.simulated["published"] < wide.simulated["published"]
    assert run.simulated == narrow.simulated
    assert narrow.kind == "latency"
    assert (
        nothing.reason
        == "ValueError: 'TestCopy.test_nothing' ended without a kernel for its harness"
    )
    assert nothing.has_kernel


def test_a_row_is_timed_on_the_cores_that_its_file_states(rows, tmp_path):
    on_one, *_ = held_out.evaluate(rows, tmp_path)
    path = tmp_path / "author+suite" / "tests" / "test_copy.py"
    path.write_text(SUITE.replace("CompilerArgs(1)", "CompilerArgs(2)"))
    stated = [dataclasses.replace(rows[0], cores=1), rows[0]]
    as_stated, as_launched = held_out.evaluate(stated, tmp_path)
    assert as_stated.simulated == on_one.simulated
    assert as_launched.simulated != on_one.simulated


def test_a_checkout_is_left_as_it_was_fetched(rows, tmp_path, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    before = set(tmp_path.rglob("*"))
    timed, *_ = held_out.evaluate(rows, tmp_path)
    assert timed.reason is None
    assert set(tmp_path.rglob("*")) == before


def test_the_cores_of_a_test_are_those_of_its_rows(tmp_path):
    path = tmp_path / "suite.toml"
    path.write_text(
        ROWS.replace('method = "TestCopy.run_copy"', 'method = "TestCopy.run_copy"\ncores = 1')
    )
    assert [row.cores for row in read_rows(path)] == [None, None, 1, None]
    path.write_text(path.read_text().replace("cores = 1", 'cores = "lnc_degree"'))
    assert [row.cores for row in read_rows(path)] == [None, None, 1, None]
    path.write_text(path.read_text().replace('9 = "1, WIDTH', '9 = "2, WIDTH'))
    assert [row.cores for row in read_rows(path)] == [None, None, 2, None]


def test_a_suite_that_cannot_be_imported_fails_its_rows_with_one_reason(rows, tmp_path):
    (tmp_path / "author+suite" / "tests" / "test_copy.py").write_text("import not_installed_here")
    reasons = {each.reason for each in held_out.evaluate(rows, tmp_path)}
    assert reasons == {"ModuleNotFoundError: No module named 'not_installed_here'"}


def test_a_row_that_ends_the_process_or_takes_too_long_leaves_the_others(
    rows, tmp_path, monkeypatch
):
    path = tmp_path / "author+suite" / "tests" / "test_copy.py"
    hang = SUITE.replace('print("a line of the suite")', "import os; width == 512 or os._exit(3)")
    path.write_text(hang)
    narrow, wide, run, _ = held_out.evaluate(rows, tmp_path)
    assert wide.reason == "the process ended"
    assert narrow.reason is None and run.reason is None
    monkeypatch.setattr(held_out, "SECONDS", 10)
    path.write_text(hang.replace("os._exit(3)", "__import__('time').sleep(100)"))
    narrow, wide, run, _ = held_out.evaluate(rows, tmp_path)
    assert wide.reason == "not timed within 10 s"
    assert narrow.reason is None and run.reason is None


def test_rows_without_a_checkout_are_counted_as_such(rows, tmp_path):
    outcomes = list(held_out.evaluate(rows, tmp_path / "elsewhere"))
    assert len(outcomes) == 4
    assert all(each.reason.startswith("no checkout '") for each in outcomes)
    assert not any(each.has_kernel for each in outcomes)


def test_a_row_that_has_not_one_value_per_column_is_refused(tmp_path):
    path = tmp_path / "suite.toml"
    path.write_text(ROWS.replace("1, WIDTH, 20000000.0", "1, 20000000.0"))
    with pytest.raises(ValueError, match=r"^'suite.toml': row 9 has 2 values for 3 columns\.$"):
        read_rows(path)


def test_the_stored_rows_are_apart_from_the_measurements_of_the_suite():
    measured = [row.measurement for row in held_out_rows()]
    identifiers = [each.id for each in measured]
    assert len(measured) == 225 == len(set(identifiers))
    assert not set(identifiers) & {each.id for each in load_measurements()}
    for row in held_out_rows():
        assert re.fullmatch("[0-9a-f]{40}", row.suite.source.commit)
        generates_tokens = row.measurement.family == "nki_library_mlp_tkg"
        assert row.suite.execution == (10 if generates_tokens else 1)
        assert row.measurement.time == ("profile_us" if generates_tokens else "first_profile_us")


def test_held_out_rows_need_checkouts_and_known_families(tmp_path, capsys):
    with pytest.raises(SystemExit):
        command_line.main(["fidelity", "--held-out"])
    assert "--held-out needs --sources" in capsys.readouterr().err
    arguments = ["fidelity", "--held-out", "--sources", str(tmp_path), "--family", "none"]
    assert command_line.main(arguments) == 2
    assert "held-out rows have no family 'none'" in capsys.readouterr().err


def test_without_the_checkout_the_command_says_so_of_every_row(tmp_path, capsys):
    arguments = ["fidelity", "--held-out", "--sources", str(tmp_path)]
    family = "nki_library_rmsnorm_quant"
    assert command_line.main([*arguments, "--family", family]) == 0
    out = capsys.readouterr().out
    assert out.count("no checkout '") == 5
    assert "5 cases, 5 of them without a kernel." in out


def test_a_family_is_judged_by_the_errors_of_the_others():
    near = [MeasuredError("near", "latency", 1 + i / 1000) for i in range(100)]
    far = [MeasuredError("far", "latency", 3.0)]
    assert left_out_coverage(near + far) == {"far": (0, 1), "near": (0, 100)}
    assert is_covered(near[50], near)
    assert not is_covered(near[5], near)
    assert not is_covered(near[95], near)
