"""The host's part of published latencies: one fitted constant per kind of instance.

A client that has at most one request per core in flight waits for the host's work on a request
(the runtime, the client itself); with more of them the host works while the cores do. That work is
not simulated, apart from the copies of inputs and results (host_copies.py). Here it is a constant
for each kind of instance, the one number that is fitted to published latencies of whole models, or
to published times to first token, which also have the switch from the prompt's program to that of a
token; nothing uses it unless it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from neuron_sim.fidelity.published_models.inference import Comparison


def fitted(rows: Sequence[Comparison]) -> dict[str, float]:
    """Milliseconds of the host per request, by instance, not negative: least squares of the
    relative errors of the rows that wait for the host. Instances without such rows have none."""
    found = {}
    for instance in dict.fromkeys(row.instance for row in rows if row.waits_for_host):
        own = [row for row in rows if row.waits_for_host and row.instance == instance]
        missing = sum((row.measured_ms - row.simulated_ms) / row.measured_ms**2 for row in own)
        found[instance] = max(0.0, missing / sum(row.measured_ms**-2 for row in own))
    return found


def added(rows: Sequence[Comparison], overheads: dict[str, float]) -> list[Comparison]:
    """The rows with these milliseconds where they wait for the host."""
    return [
        replace(row, simulated_ms=row.simulated_ms + overheads.get(row.instance, 0.0))
        if row.waits_for_host
        else row
        for row in rows
    ]


def left_out(rows: Sequence[Comparison]) -> list[Comparison]:
    """The rows of each model with overheads that were fitted to those of the other models."""
    found = []
    for model in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == model]
        found += added(own, fitted([row for row in rows if row.model != model]))
    return found
