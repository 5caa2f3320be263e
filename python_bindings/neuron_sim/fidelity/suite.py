"""Which kernel reproduces a measurement."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Sequence

from neuron_sim.fidelity import kernels
from neuron_sim.fidelity.case import Case
from neuron_sim.fidelity.measurement import Measurement

Match = Callable[[Measurement], Case | None]


@functools.cache
def matchers() -> tuple[Match, ...]:
    """`match` of every module of neuron_sim.fidelity.kernels, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(kernels.__path__))
    modules = [importlib.import_module(f"{kernels.__name__}.{name}") for name in names]
    return tuple(module.match for module in modules if hasattr(module, "match"))


def find_case(measurement: Measurement, asked: Sequence[Match] | None = None) -> Case | None:
    """The case of the first module that knows the measurement's kernel, else None.

    `asked` replaces the modules of the suite.
    """
    for match in matchers() if asked is None else asked:
        case = match(measurement)
        if case is not None:
            return case
    return None
