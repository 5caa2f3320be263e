"""Which published compiler stack a measurement's source used."""

from __future__ import annotations

import re

from neuron_sim.fidelity.measurement import Measurement
from neuron_sim.nki.measurement.generations import GENERATIONS, STATIC_DESCRIPTORS
from neuron_sim.nki.tracing.architecture import architecture_at


def published_stack(
    measurement: Measurement, *, direct: bool = False, static: bool | None = None
) -> str:
    """Name of the stack in `_core.published_stacks()`: compiler, target, flags.

    `direct`: the kernel skips the compiler's middle end (direct allocation or
    skip_middle_end_transformations). `static`: compiled with --disable-dge (static DMA
    descriptors); None: if the texts of the measurement say so. NeuronCore-v2 has no others.
    """
    if static is None:
        static = says_static(measurement)
    generation = GENERATIONS[architecture_at(measurement.architecture).queries["get_nc_version"]]
    return generation.stack(direct, (STATIC_DESCRIPTORS,) if static else ())


def says_static(measurement: Measurement) -> bool:
    """True if the texts of the measurement say that it ran without descriptor generation."""
    texts = (measurement.description, measurement.caveats, *map(str, measurement.extra.values()))
    return any(
        re.search(r"(?<!no )--disable-dge|static descriptors", text, re.IGNORECASE)
        for text in texts
    )
