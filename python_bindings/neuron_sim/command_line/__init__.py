"""The command `neuron-sim`, also `python -m neuron_sim`; no other room imports this one.

`parser` has the table of subcommands; `commands` those that belong to no other room.
"""

from neuron_sim.command_line.entry import main

__all__ = ["main"]
