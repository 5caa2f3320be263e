"""nki.isa: the target that a kernel is compiled for."""

from neuron_sim import _core

from ..tracing.active import running
from ..tracing.architecture import Architecture, architecture_at
from .constants import nc_version


def architecture_of(target: str | None = None) -> str:
    """The architecture to build for: the environment's, or `target`, or the default."""
    name = _core.environment_architecture() or target or _core.DEFAULT_ARCHITECTURE
    return _core.without_alias(name)


def target_architecture() -> Architecture:
    """The architecture of the kernel that is traced, else the one that would be built for."""
    return running[-1].target if running else architecture_at(architecture_of())


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
