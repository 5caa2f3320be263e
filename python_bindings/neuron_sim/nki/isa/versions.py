"""nki.isa: the target that a kernel is compiled for."""

import os

from neuron_sim import _core

from ..tracing import current, tracing
from .constants import nc_version

_TARGETS = {"gen2": "trn1", "gen3": "trn2", "gen4": "trn3", "inf2": "trn1"}
_DEFAULT = "trn2"

_answers: dict[str, dict] = {}


def get_nc_version():
    """The generation of the NeuronCore that the kernel is compiled for, a member of nc_version.

    Outside of a kernel: of the target in NEURON_PLATFORM_TARGET_OVERRIDE, trn2 without one.
    """
    return nc_version(nc_generation())


def get_nc_sub_version():
    """The revision of the NeuronCore within its generation: 0 or 1."""
    return _queries()["get_nc_sub_version"]


def nc_generation():
    """2, 3 or 4: the number of the generation."""
    return _queries()["get_nc_version"]


def _queries():
    architecture = current().architecture if tracing() else _override()
    found = _answers.get(architecture)
    if found is None:
        found = _answers[architecture] = _core.compile_time_queries(architecture)
    return found


def _override():
    target = os.environ.get("NEURON_PLATFORM_TARGET_OVERRIDE") or _DEFAULT
    return _TARGETS.get(target, target)
