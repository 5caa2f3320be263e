"""The import hook: `neuronxcc` and `nki` are the simulator's packages of those names, torch_xla and
torch_neuronx small stand-ins.

A name and its alias are one module object, whichever is imported first. The real package wins
where it is installed, unless `override`. A folder without `__init__.py` of that name (a checkout
of the vendor's documentation has one) is not a package of the vendor.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import FrameType, ModuleType

ALIASED = {
    "neuronxcc": "neuron_sim.neuronxcc",
    "libtorch_neuronx_lite": "neuron_sim.run.libtorch_neuronx_lite",
    "nki": "neuron_sim.nki",
    "torch_neuronx": "neuron_sim.run.torch_neuronx",
    "torch_xla": "neuron_sim.run.torch_xla",
}
"""Packages that come with the vendor's compiler and their stand-ins."""

ASKING = ("accelerate", "diffusers", "peft", "transformers", "trl")
"""Libraries that work with device `neuron` where torch_xla is not installed, else with its device:
they find it once the script has imported it."""


class AliasFinder:
    """A meta path finder for the packages of ALIASED and all their submodules."""

    def __init__(self, override: bool = False) -> None:
        self.override = override

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of the simulator's module, or None where others must answer `name`.

        ModuleNotFoundError for a submodule of an aliased package that the simulator lacks.
        """
        top, _, rest = name.partition(".")
        if top == "neuron_sim":
            self._refuse_missing_name(name, path)
            return None
        if top not in ALIASED or (name == "torch_xla" and _asker() in ASKING):
            return None
        own_name = f"{ALIASED[top]}.{rest}" if rest else ALIASED[top]
        if rest and not _is_alias(name.rpartition(".")[0], own_name.rpartition(".")[0]):
            return self._below_a_real_package(name, own_name, path)
        if not rest and not self.override and _real_spec(name, self) is not None:
            return None
        if importlib.util.find_spec(own_name) is None:
            raise ModuleNotFoundError(
                f"No module named '{name}' in the simulator: it has the public modules of NKI; "
                f"'{name}' is {_reason(top)}.",
                name=name,
            )
        return _spec(name, own_name)

    def _refuse_missing_name(self, own_name: str, path: Sequence[str] | None) -> None:
        """`from neuronxcc.nki import missing` looks for a module of that name in the package.

        Without a name in the error: Python drops errors with the name that it looks for.
        """
        own_parent, _, last = own_name.rpartition(".")
        alias = _alias_of(own_parent)
        if alias and _in_from_import() and _real_spec(own_name, self, path) is None:
            raise ModuleNotFoundError(
                f"cannot import '{last}' from '{alias}': the simulator has neither a symbol nor a "
                f"module of that name; it is {_reason(alias.partition('.')[0])}."
            )

    def _below_a_real_package(
        self, name: str, own_name: str, path: Sequence[str] | None
    ) -> importlib.machinery.ModuleSpec | None:
        """An installed compiler without NKI: the simulator's NKI belongs to it."""
        if name != "neuronxcc.nki" or _real_spec(name, self, path) is not None:
            return None
        return _spec(name, own_name)


class _AliasLoader:
    """Loads the module under its own name and gives the same object to the alias."""

    def __init__(self, own_name: str) -> None:
        self._own_name = own_name
        self._own_spec: importlib.machinery.ModuleSpec | None = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self._own_name)
        self._own_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # It ran already; the import system has overwritten its spec with the alias's.
        module.__spec__ = self._own_spec


def install(override: bool = False) -> AliasFinder:
    """Puts the finder before all others; once per process; the last `override` holds."""
    for finder in sys.meta_path:
        if isinstance(finder, AliasFinder):
            finder.override = override
            return finder
    finder = AliasFinder(override)
    sys.meta_path.insert(0, finder)
    return finder


def _spec(name: str, own_name: str) -> importlib.machinery.ModuleSpec:
    loader = _AliasLoader(own_name)
    return importlib.machinery.ModuleSpec(name, loader)  # type: ignore[arg-type]


def _is_alias(parent: str, own_parent: str) -> bool:
    module = sys.modules.get(parent)
    return module is not None and module is sys.modules.get(own_parent)


def _real_spec(
    name: str, besides: AliasFinder, path: Sequence[str] | None = None
) -> importlib.machinery.ModuleSpec | None:
    """The other finders' spec; a namespace package (folders without code) does not count."""
    for finder in sys.meta_path:
        if finder is besides:
            continue
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec if spec.has_location else None
    return None


def _asker() -> str:
    """The package whose code looks for a module; empty without one."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        name = frame.f_globals.get("__name__") or ""
        if not name.startswith("importlib") and name not in (__name__, "_frozen_importlib"):
            return name.partition(".")[0]
        frame = frame.f_back
    return ""


def _reason(top: str) -> str:
    if top in ("neuronxcc", "nki"):
        return "private to the vendor's wheel or not there yet"
    return f"beyond the simulator's stand-in for {top}, which is not installed"


def _alias_of(own_name: str) -> str | None:
    for alias, own in ALIASED.items():
        if own_name == own or own_name.startswith(f"{own}."):
            return alias + own_name[len(own) :]
    return None


def _in_from_import() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_handle_fromlist" and "importlib._bootstrap" in code.co_filename:
            return True
        if not code.co_filename.startswith("<frozen importlib") and code.co_filename != __file__:
            return False
        frame = frame.f_back
    return False
