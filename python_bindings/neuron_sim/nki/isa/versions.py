"""nki.isa: the target that a kernel is compiled for."""

from neuron_sim import _core

from ..launch.calls import target_architecture
from ..tracing.architecture import architecture_at
from .constants import nc_version


def get_nc_version():
    """The generation of the NeuronCore that the kernel is compiled for, a member of nc_version.

    Outside of a kernel: of the target in NEURON_SIM_ARCH or NEURON_PLATFORM_TARGET_OVERRIDE, trn2
    without one.
    """
    return nc_version(nc_generation())


def get_nc_sub_version():
    """The revision of the NeuronCore within its generation: 0 or 1."""
    return target_architecture().queries["get_nc_sub_version"]


def nc_generation():
    """The number of the generation: 2, 3, 4, or a later one of an architecture file."""
    return target_architecture().queries["get_nc_version"]


def generation_of(target: str) -> int:
    """The number of the generation of a target: trn1, gen2, inf2, ... ValueError for others."""
    return architecture_at(_core.without_alias(target)).queries["get_nc_version"]
