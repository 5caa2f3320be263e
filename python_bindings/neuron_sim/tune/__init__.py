"""Tuning: a search of a kernel's parameters for the best simulated time, with optuna."""

from neuron_sim.tune.search import Tuned, tune

__all__ = ["Tuned", "tune"]
