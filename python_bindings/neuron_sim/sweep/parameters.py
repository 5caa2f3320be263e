"""Checks the parameters of a study before its first point is timed."""

from __future__ import annotations

import argparse
import inspect
import re
from typing import Any

from neuron_sim.model.options import add_model_arguments
from neuron_sim.sweep.point import accepted, arguments_of, target_of
from neuron_sim.sweep.study import ARCHITECTURE, MODEL, Study
from neuron_sim.terminal.suggestions import did_you_mean
from neuron_sim.timeline.hardware import architecture


def check_parameters(study: Study) -> None:
    """ValueError or TypeError for a parameter that every point would refuse: a fact that no
    architecture has, an option that `neuron-sim model` lacks, an argument that the function lacks.
    ValueError, OSError or ProgramError for a target that cannot be loaded."""
    given = {name: values[0] for name, values in study.parameters.items()}
    arguments = arguments_of(given)
    base = str(given.get(ARCHITECTURE, study.architecture))
    for name in given.keys() - arguments.keys() - {ARCHITECTURE}:
        _check_fact(base, name.removeprefix(f"{ARCHITECTURE}."), study.parameters[name])
    if study.is_model:
        _check_options(arguments)
        return
    function = target_of(study)
    if hasattr(function, "traced"):
        accepted(function, arguments, study.inputs)
        return
    names = inspect.signature(function).parameters
    unknown = [name for name in arguments if name not in names]
    if unknown and not any(each.kind is each.VAR_KEYWORD for each in names.values()):
        near = did_you_mean(unknown[0], names)
        raise ValueError(f"function '{function.__name__}' has no parameter '{unknown[0]}'{near}.")


def _check_fact(base: str, name: str, values: Any) -> None:
    """Raises the error of the first value if every value is wrong."""
    errors = []
    for value in values:
        try:
            architecture(base, {name: value})
            return
        except ValueError as error:
            errors.append(error)
    raise errors[0]


def _check_options(arguments: Any) -> None:
    parser = argparse.ArgumentParser()
    add_model_arguments(parser)
    options = set(re.findall(r"--([a-z][a-z-]*)", parser.format_help()))
    for name in arguments:
        if name not in options:
            near = did_you_mean(name, options)
            raise ValueError(f"`neuron-sim {MODEL[:-1]}` has no option '{name}'{near}.")
