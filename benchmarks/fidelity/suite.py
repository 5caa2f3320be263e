"""Which kernel reproduces a measurement."""

from __future__ import annotations

import importlib
from collections.abc import Sequence

from neuron_sim.fidelity import kernels
from neuron_sim.fidelity.case import Case
from neuron_sim.fidelity.measurement import Measurement


def find_case(measurement: Measurement, modules: Sequence[str] | None = None) -> Case | None:
    """The case of the first module of the suite that knows the measurement's kernel, else None.

    `modules` are names inside neuron_sim.fidelity.kernels; by default those of the suite.
    """
    for name in kernels.MODULES if modules is None else modules:
        module = importlib.import_module(f"{kernels.__name__}.{name}")
        case = module.match(measurement)
        if case is not None:
            return case
    return None
