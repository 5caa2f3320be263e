"""Calls functions when a module of another package is imported, if it ever is.

For packages that take seconds to import, which most programs never do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

Action = Callable[[ModuleType], None]


def after_import(name: str, action: Action) -> None:
    """Calls `action` with the module `name`: now if it has been imported, else after it has run."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    _finder.actions.setdefault(name, []).append(action)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


class _Finder(MetaPathFinder):
    """Finds the modules that are waited for where Python does, and acts after they have run."""

    def __init__(self) -> None:
        self.actions: dict[str, list[Action]] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self.actions:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_act(module: ModuleType) -> None:
            run(module)
            for action in self.actions.pop(fullname, []):
                action(sys.modules[fullname])  # a module may replace itself, as neuron_sim._C

        spec.loader.exec_module = run_and_act  # type: ignore[method-assign]
        return spec


_finder = _Finder()
