"""torch_xla.debug.metrics: a counter named aten::... is an operator that ran on the CPU."""

from __future__ import annotations

from neuron_sim.torch_backend.fallback import fallback_counts, reset_fallback_counts

__all__ = ["clear_all", "clear_counters", "counter_names", "counter_value", "metrics_report"]

clear_counters = clear_all = reset_fallback_counts


def counter_names() -> list[str]:
    """The operators that ran on the CPU."""
    return list(fallback_counts())


def counter_value(name: str) -> int | None:
    """How often that one ran on the CPU; None for never."""
    return fallback_counts().get(name)


def metrics_report() -> str:
    """The counters as text."""
    counters = fallback_counts().items()
    return "".join(f"Counter: {name}\n  Value: {value}\n" for name, value in counters)


short_metrics_report = metrics_report
