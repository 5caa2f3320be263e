"""The device-generic tests of one of PyTorch's test files, for the device or for the CPU."""

from __future__ import annotations

import functools
import importlib
import os
import sys
import traceback
import unittest
from typing import Any

from cases import Case, Outcome
from neuron_sim.settings import device_name
from observation import observe
from source_package import FOLDER

DEVICE, HOST = device_name(), "cpu"
EXPECTED = "torch expects that it fails"
"""The detail of a test that passed because it failed."""
Tests = dict[Case, tuple[type[unittest.TestCase], str]]


def case_of(file: str, class_name: str, method: str, kind: str) -> Case:
    """The case of an instantiated test, the same for both kinds of devices: the file, class and
    test without the kind, and what is after it: dtypes, if any."""
    test, _, dtypes = method.rpartition(f"_{kind}")
    return Case(file, f"{class_name.removesuffix(kind.upper())}.{test}", dtypes.removeprefix("_"))


@functools.cache
def load(file: str, kind: str) -> Tests:
    """Imports a file in this process, with its generic classes made for one kind of device only,
    and returns its tests."""
    os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"] = kind
    os.chdir(FOLDER / "test")
    sys.path.insert(0, str(FOLDER / "test"))
    sys.argv = [file]  # torch.testing reads its options from here
    _write_output_to(FOLDER / "logs" / f"{file}.{kind}.log")
    import older_names
    from torch.testing._internal.common_device_type import DeviceTypeTestBase, PrivateUse1TestBase

    older_names.provide()
    PrivateUse1TestBase.setUpClass()  # from here on its tests are named after the device
    module = importlib.import_module(file)
    return {
        case_of(file, class_.__name__, method, kind): (class_, method)
        for class_ in vars(module).values()
        if isinstance(class_, type) and issubclass(class_, DeviceTypeTestBase)
        if class_.__module__ == file
        for method in dir(class_)
        if method.startswith("test") and callable(getattr(class_, method))
    }


def _write_output_to(log: Any) -> None:
    """What tests print, and the traces of those that fail, go to a file."""
    log.parent.mkdir(exist_ok=True)
    sys.stdout.flush()
    with open(log, "a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def cases_in(file: str) -> list[Case]:
    """The tests that the file has for the device."""
    return sorted(load(file, DEVICE), key=str)


class _Result(unittest.TestResult):
    """The outcome of one test with all its subtests."""

    def __init__(self) -> None:
        super().__init__()
        self.outcome = Outcome("passed")

    def _failed(self, text: str) -> None:
        self.outcome.status, self.outcome.detail = "failed", text

    def _raised(self, error: Any) -> None:
        text = " ".join(str(error[1]).split("To execute this test")[0].split())[:300]
        self._failed(f"{error[0].__name__}: {text}")
        traceback.print_exception(*error)

    def addError(self, test: Any, err: Any) -> None:
        self._raised(err)

    def addFailure(self, test: Any, err: Any) -> None:
        self._raised(err)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._raised(err)

    def addSkip(self, test: Any, reason: str) -> None:
        if self.outcome.status == "passed":
            self.outcome.status, self.outcome.detail = "skipped", reason

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.outcome.detail = EXPECTED

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._failed("it passes though torch expects that it fails")


def _run(case: Case, kind: str) -> Outcome:
    found = load(case.suite, kind).get(case)
    if found is None:
        return Outcome("skipped", "there is no such test for this device")
    class_, method = found
    print(f"=== {case}", flush=True)
    result = _Result()
    with observe(result.outcome.activity):
        unittest.TestSuite([class_(method)]).run(result)
    return result.outcome


def run_on_device(case: Case) -> Outcome:
    """Runs a test on the device."""
    return _run(case, DEVICE)


def run_on_host(case: Case) -> Outcome:
    """Runs the same test on the CPU."""
    return _run(case, HOST)
