"""The device under test: `make test` runs a sample of the tests under its other name too."""

from neuron_sim.settings import DEVICE, DEVICE_NAMES, device_name

DEVICE_TYPE = device_name()

OWN_NAME = {DEVICE: DEVICE_NAMES[0]}
"""The environment of a program whose text says neuron_sim."""
