"""Subcommands of `neuron-sim` that are one module each."""
