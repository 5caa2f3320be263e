"""What a test of a suite would run: its kernel, operands and cores, without its harness."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import MagicMock

import numpy as np

from neuron_sim.fidelity.published.loading import load_module


class _HandedOver(BaseException):
    """Ends a test where it hands its kernel to the harness; no test catches it."""


class _Harness:
    """The `test_manager` of a test: keeps what it is given."""

    def __init__(self) -> None:
        self.given: Any = None

    def execute(self, kernel_arguments: Any, *_: Any, **__: Any) -> None:
        self.given = kernel_arguments
        raise _HandedOver


@dataclass(frozen=True)
class SuiteCall:
    """A kernel as a test launches it."""

    kernel: Any
    operands: dict[str, Any]
    cores: int


def _cast(array: Any, dtype: Any) -> np.ndarray:
    return np.asarray(array).astype(dtype)


def prepare(
    checkout: Path,
    paths: list[str],
    stand_ins: list[str],
    repairs: Mapping[str, Mapping[str, Any]],
) -> None:
    """Makes the test files of a checkout importable in this process."""
    sys.path[:0] = [str(checkout / path) for path in paths]
    sys.meta_path.insert(0, _StandIns(tuple(stand_ins)))
    for name, repair in repairs.items():
        importlib.import_module(name.rpartition(".")[0])
        load_module(checkout / repair["file"], repair["edits"], name)


class _StandIn(ModuleType):
    """A module whose attributes are all stand-ins but for those that operands need."""

    static_cast = staticmethod(_cast)
    sizeinbytes = staticmethod(lambda dtype: np.dtype(dtype).itemsize)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock


class _StandIns(MetaPathFinder, Loader):
    """Finds modules of some names, and those below them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        known = any(name == each or name.startswith(f"{each}.") for each in self._names)
        return ModuleSpec(name, self, is_package=True) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def suite_call(module: ModuleType, method: str, parameters: Mapping[str, str]) -> SuiteCall:
    """The launch of a test with a row of parameters, expressions of its file."""
    class_name, _, name = method.partition(".")
    values = {key: eval(text, vars(module)) for key, text in parameters.items()}
    function = getattr(getattr(module, class_name)(), name)
    taken = inspect.signature(function).parameters
    values = {key: value for key, value in values.items() if key in taken}
    if "compiler_args" in taken:
        cores = values["lnc_degree"]
        values["compiler_args"] = module.CompilerArgs(logical_nc_config=cores)
    harness = _Harness()
    try:
        function(test_manager=harness, collector=MagicMock(), **values)
    except _HandedOver:
        pass
    else:
        raise ValueError(f"'{method}' ended without a kernel for its harness")
    given = harness.given
    alias = ".must_alias_input"  # a mark of the suite on names of operands
    operands = {key.removesuffix(alias): each for key, each in given.kernel_input.items()}
    return SuiteCall(given.kernel_func, operands, given.compiler_input.logical_nc_config)
