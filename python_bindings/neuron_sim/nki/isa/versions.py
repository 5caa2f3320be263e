"""nki.isa: the target that a kernel is compiled for."""

from neuron_sim import _core

from ..launch.calls import TARGETS, architecture_of
from ..tracing import current, tracing
from .constants import nc_version

_answers: dict[str, dict] = {}


def get_nc_version():
    """The generation of the NeuronCore that the kernel is compiled for, a member of nc_version.

    Outside of a kernel: of the target in NEURON_SIM_ARCH or NEURON_PLATFORM_TARGET_OVERRIDE, trn2
    without one.
    """
    return nc_version(nc_generation())


def get_nc_sub_version():
    """The revision of the NeuronCore within its generation: 0 or 1."""
    return _queries()["get_nc_sub_version"]


def nc_generation():
    """The number of the generation: 2, 3, 4, or a later one of an architecture file."""
    return _queries()["get_nc_version"]


def generation_of(target: str) -> int:
    """The number of the generation of a target: trn1, gen2, inf2, ... ValueError for others."""
    return _answer(TARGETS.get(target, target))["get_nc_version"]


def _queries():
    return _answer(current().architecture if tracing() else architecture_of())


def _answer(architecture):
    found = _answers.get(architecture)
    if found is None:
        found = _answers[architecture] = _core.compile_time_queries(architecture)
    return found
