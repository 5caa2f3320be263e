"""Whole models beside the latencies that the vendor published: `neuron-sim model --published`.

`inference.json` and `generation.json` have the published rows with their sources.
"""

PUBLISHED_ARCHITECTURE = "trn1"
"""The architecture of the published latencies of one core: inf2 and trn1 have the same one."""
