"""The vendor's stack and instance of a generation of NeuronCores, also for a user's file."""

from typing import NamedTuple


class Generation(NamedTuple):
    """`compiler`: the stack whose passes its programs go through; `instance`: a profile's
    instance_type."""

    compiler: str
    instance: str


GENERATIONS = {
    2: Generation("neuronx-cc trn1", "trn1.2xlarge"),
    3: Generation("neuronx-cc trn2", "trn2.3xlarge"),
}
"""Those whose compiler has been measured."""
