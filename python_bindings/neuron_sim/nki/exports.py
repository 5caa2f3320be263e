"""What a module of the languages exports."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from .missing import missing_symbol


def public_names(namespace: Mapping[str, Any]) -> list[str]:
    """Those of `namespace` that are neither private nor modules, in alphabetical order."""
    return sorted(
        name
        for name, value in namespace.items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    )


def operators_on_first_use(
    package: str, language: str, names: Sequence[str], vendor: frozenset[str] = frozenset()
) -> Callable[[str], Any]:
    """The `__getattr__` of a `package` whose operators are imported when the first is used.

    An unknown name is an error that names it in `language`; `vendor`: names that only the vendor's
    module has.
    """

    def find(name: str) -> Any:
        known = names
        if not name.startswith("_"):
            operators = import_module(f"{package}.operators")
            if hasattr(operators, name):
                setattr(sys.modules[package], name, getattr(operators, name))
                return getattr(operators, name)
            known = [*names, *operators.__all__]
        raise missing_symbol(language, name, vendor, known)

    return find
