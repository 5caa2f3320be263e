"""Subcommands of `neuron-sim` that belong to no other room."""
