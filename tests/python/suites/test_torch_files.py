"""How PyTorch's own test files are downloaded, loaded and judged; `make test-torch` runs them."""

import hashlib
import io
import sys
import tarfile
import time
import unittest
from pathlib import Path

import pytest
from device_type import DEVICE_TYPE

FOLDER = Path(__file__).parents[2] / "torch_suites"


@pytest.fixture(autouse=True)
def _modules_of_the_suites(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def archive(folder, files):
    """A source package with these files; its path and SHA-256."""
    import source_package

    path = folder / source_package.ARCHIVE
    with tarfile.open(path, "w:xz") as package:
        for name, text in files.items():
            member = tarfile.TarInfo(f"pytorch-v2.6.0/{name}")
            member.size = len(text)
            package.addfile(member, io.BytesIO(text.encode()))
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


def test_only_the_test_files_are_extracted_and_once(tmp_path, monkeypatch):
    import source_package

    files = {
        "test/test_nn.py": "a = 1", "test/optim/test_x.py": "", "test/test_cuda.py": "",
        "test/optim/../../../outside.py": "", "aten/src/ATen/native/UnaryOps.cpp": "",
        "setup.py": "",
    }  # fmt: skip
    _, digest = archive(tmp_path, files)
    monkeypatch.setattr(source_package.check, "__defaults__", (digest,))
    tests = source_package.obtain(tmp_path)
    assert (tests / "test_nn.py").read_text() == "a = 1"
    found = sorted(str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file())
    assert found == [
        "aten/src/ATen/native/UnaryOps.cpp", "complete", source_package.ARCHIVE,
        "test/optim/test_x.py", "test/test_nn.py",
    ]  # fmt: skip
    assert not (tmp_path.parent / "outside.py").exists()
    (tmp_path / source_package.ARCHIVE).unlink()  # a second time needs no archive
    assert source_package.obtain(tmp_path) == tests


def test_an_archive_with_other_bytes_is_refused_and_removed(tmp_path):
    import source_package

    path, digest = archive(tmp_path, {"test/test_nn.py": ""})
    with pytest.raises(source_package.UnavailableError, match=f"{digest}, not {'0' * 64}"):
        source_package.check(path, "0" * 64)
    assert not path.exists()


def test_the_archive_is_debians_own_without_updates_and_other_vendors():
    from source_package import UnavailableError, archive_of

    others = "u:/a|Other|bookworm\nu:/b|Debian|bookworm-security\n"
    assert archive_of(others + "u:/c|Debian|bookworm\n") == "u:/c"
    with pytest.raises(UnavailableError, match="no Debian archive"):
        archive_of(others)


@pytest.mark.parametrize(
    ("command", "reason"), [(["no-such-command"], "no-such-command"), (["false"], "ended with 1")]
)
def test_a_download_that_cannot_be_had_skips_the_files_with_a_sentence(
    command, reason, tmp_path, monkeypatch, capsys
):
    import pytorch_files
    import source_package

    def obtain():
        return source_package._run(command, tmp_path)

    monkeypatch.setattr(pytorch_files, "obtain", obtain)
    monkeypatch.setattr(sys, "argv", ["pytorch_files.py"])
    assert pytorch_files.main() == 0
    printed = capsys.readouterr().out
    assert printed.startswith("PyTorch's test files: skipped, ") and reason in printed


def test_the_same_test_of_two_kinds_of_devices_is_one_case():
    from cases import Case
    from generic_tests import case_of

    expected = Case("test_x", "TestX.test_to_cpu_abs", "float32")
    assert case_of("test_x", "TestXCPU", "test_to_cpu_abs_cpu_float32", "cpu") == expected
    name = "test_to_cpu_abs_neuron_sim_float32"
    assert case_of("test_x", "TestXNEURON_SIM", name, DEVICE_TYPE) == expected
    assert case_of("f", "TCPU", "test_a_cpu", "cpu") == Case("f", "T.test_a", "")


class Sample(unittest.TestCase):
    def passes(self):
        pass

    def is_skipped(self):
        raise unittest.SkipTest("not here")

    def fails_in_a_part(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertEqual(part, 1)

    def raises(self):
        raise KeyError("key")

    @unittest.expectedFailure
    def fails_as_expected(self):
        raise KeyError("key")

    @unittest.expectedFailure
    def passes_unexpectedly(self):
        pass


@pytest.mark.parametrize(("method", "status", "detail"), [
    ("passes", "passed", ""),
    ("is_skipped", "skipped", "not here"),
    ("fails_in_a_part", "failed", "AssertionError: 2 != 1"),
    ("raises", "failed", "KeyError: 'key'"),
    ("fails_as_expected", "passed", "torch expects that it fails"),
    ("passes_unexpectedly", "failed", "it passes though torch expects that it fails"),
])  # fmt: skip
def test_the_outcome_of_a_test_is_that_of_all_its_parts(method, status, detail):
    from generic_tests import _Result

    result = _Result()
    unittest.TestSuite([Sample(method)]).run(result)
    assert (result.outcome.status, result.outcome.detail) == (status, detail)


def test_a_failure_is_explained_by_an_entry_or_else_by_the_cpu(monkeypatch):
    import pytorch_files
    from cases import Case, Outcome
    from exclusions import Exclusion
    from generic_tests import EXPECTED

    listed, as_cpu, as_expected, ours, fine = (Case("test_nn", f"T.test_{n}", "") for n in "abcde")
    results = {case: Outcome("failed") for case in (listed, as_cpu, as_expected, ours)}
    results[fine] = Outcome("passed")
    asked = []

    def run_cases(cases, run, processes, seconds):
        asked.extend(cases)
        on_host = {as_cpu: Outcome("failed"), as_expected: Outcome("passed", EXPECTED)}
        return {case: on_host.get(case, Outcome("passed")) for case in cases}

    monkeypatch.setattr(pytorch_files, "run_cases", run_cases)
    why = pytorch_files.reasons(results, [Exclusion("test_nn", "*_a", "*", "x")], 1, 1.0)
    by_cpu = dict.fromkeys((as_cpu, as_expected), pytorch_files.BY_CPU)
    assert why == {listed: "x", ours: None} | by_cpu
    assert asked == [as_cpu, as_expected, ours]
    figures = pytorch_files.row("test_nn", 9, results, why)
    assert list(figures.values()) == ["test_nn", 9, 5, 1, 0, 2, 1, 1, 0]


def test_a_file_whose_tests_are_not_listed_in_time_is_refused_with_the_reason(monkeypatch):
    import pytorch_files

    def run_all(cases, run, lost, *limits):
        yield cases[0], lost("it took more than 1 s")

    monkeypatch.setattr(pytorch_files, "run_all", run_all)
    with pytest.raises(RuntimeError, match="test_ops was not listed: it took more than 1 s"):
        pytorch_files.listed("test_ops", 1.0)


def test_shards_take_every_test_once():
    import pytorch_files
    from cases import Case

    cases = [Case("test_nn", f"TestNN.test_{n}", "float32") for n in range(200)]
    shards = [[c for c in cases if pytorch_files.is_in(c, (place, 7))] for place in range(1, 8)]
    assert sorted(map(str, sum(shards, []))) == sorted(map(str, cases))
    assert all(shards)
    assert pytorch_files.shard("7/7") == (7, 7)


@pytest.mark.parametrize("text", ["0/7", "8/7", "7", "a/b", ""])
def test_a_shard_that_does_not_exist_is_refused(text):
    import pytorch_files

    with pytest.raises(ValueError):
        pytorch_files.shard(text)


def test_an_entry_is_judged_when_all_its_files_were_run():
    import pytorch_files
    from cases import Case, Outcome
    from exclusions import Exclusion

    known = [Exclusion(file, "T.gone", "*", "x") for file in ("test_nn", "test_*", "test_ops")]
    results = {Case("test_nn", "T.test_a", ""): Outcome("failed")}
    assert len(pytorch_files.stale(known, ["test_nn"], results)) == 1
    assert "test_nn T.gone" in pytorch_files.stale(known, ["test_nn"], results)[0]


def test_every_entry_has_a_reason_and_a_file():
    import exclusions
    import pytorch_files
    from source_package import FILES

    exclusions.load(pytorch_files.LIST, FILES)


def _take(case):
    if case == "memory":
        held = bytearray(b"1") * 700_000_000
        time.sleep(60)
        return len(held)
    if case == "time":
        time.sleep(60)
    return case


@pytest.mark.parametrize(
    ("case", "expected"),
    [("memory", "it took more than 0.6 GB"), ("fine", "fine")],
)
def test_a_case_that_takes_too_much_memory_is_lost_alone(case, expected):
    from workers import run_all

    found = dict(run_all([case, "next"], _take, str, 1, 50.0, 0.6))
    assert found == {case: expected, "next": "next"}


def test_the_names_of_the_older_release_are_there():
    import older_names
    from torch.testing._internal import common_device_type, common_methods_invocations

    older_names.provide()
    entry = common_methods_invocations.xfail("add")
    assert entry == common_device_type.xfail("add")

    @common_methods_invocations.skipOps("TestX", "test_y", {entry})
    def test_y():
        pass

    assert list(test_y._op_overrides) == ["add"]
