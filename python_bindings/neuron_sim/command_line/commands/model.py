"""Time a whole model on one simulated NeuronCore, before renting one.

  neuron-sim model bert-base-uncased --arch trn1 --sequence 128
  neuron-sim model resnet50 --batch 1 8 --json
  neuron-sim model my_network:build --dtype float32
  neuron-sim model llama-2-7b --tp 8 24 --batch 1 8 --context 4096 --instance inf2.48xlarge
  neuron-sim model resnet50 --layers --instance inf2.xlarge --price 0.76
  neuron-sim model --published

MODEL is a name (see --list), a configuration file of transformers (config.json), or
module:function. Weights are random. The model runs once to compile it, and is timed in a second
run; times are simulated. With --tp or --context a decoder of text generates: one of the ranks that
share it is timed, for a prompt and for one token, without values. Answers are kept on disk.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable
from typing import Any

from neuron_sim import _core
from neuron_sim.fidelity.published_models import PUBLISHED_ARCHITECTURE
from neuron_sim.model import (
    DEFAULT_CONTEXT,
    DEFAULT_INPUT,
    answers,
    report,
)
from neuron_sim.model.configurations import configuration_of
from neuron_sim.model.instances import instance, with_instance
from neuron_sim.model.options import (
    DEFAULT_SEQUENCE,
    add_model_arguments,
    choose_architecture,
    faults_of,
)
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import SUCCESS

SUMMARY = "time a whole model"
FAILS = "the model fails, or does what the device refuses"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS. ProgramError with the sentence of whatever the model, its operators, or the memory
    of the device refuse; ValueError for options, sizes and models that cannot be."""
    _choose_architecture(arguments)
    with faults_of(arguments.model or "a published model"):
        return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        from neuron_sim.model import workload  # imports torch

        names = workload.names()
        print_result(arguments, names, lambda: print("\n".join(names)))
        return SUCCESS
    _check_price(arguments)
    if arguments.host_overhead and not arguments.published:
        raise ValueError("--host-overhead goes with --published.")
    if arguments.published:
        from neuron_sim.fidelity.published_models import command  # imports torch

        return command.run(arguments)
    if arguments.model is None:
        raise ValueError("MODEL is missing; `neuron-sim model --list` prints names.")
    generates = arguments.tp is not None or arguments.context is not None
    _check_options(arguments, generates)
    if generates:
        ranks = arguments.tp or [1]
        _check_timeline(arguments, len(ranks))
        rows = [_generated(arguments, n, batch) for n in ranks for batch in arguments.batch]
    else:
        _check_timeline(arguments, 1)
        rows = [_inferred(arguments, batch) for batch in arguments.batch]
    as_text = report.generations_as_text if generates else report.as_text
    if arguments.instance is not None:
        rows = [with_instance(row, arguments.instance, arguments.price) for row in rows]
    print_result(arguments, rows, lambda: print(as_text(rows)))
    return SUCCESS


def _check_options(arguments: argparse.Namespace, generates: bool) -> None:
    """ValueError for an option that would have no effect."""
    decoder = {
        "--lnc": arguments.lnc,
        "--input": arguments.input,
        "--weight-dtype": arguments.weight_dtype,
    }
    others = {
        "--sequence": arguments.sequence != DEFAULT_SEQUENCE,
        "--image": arguments.image is not None,
        "--auto-cast": arguments.auto_cast != "none",
        "--eager": arguments.eager,
    }
    if generates:
        for option, given in others.items():
            if given:
                raise ValueError(
                    f"{option} has no effect on generation, which --tp and --context ask for."
                )
    else:
        for option, value in decoder.items():
            if value is not None:
                raise ValueError(
                    f"{option} is of a decoder that generates; give --tp or --context."
                )


def _check_timeline(arguments: argparse.Namespace, ranks: int) -> None:
    """ValueError for pages of several runs in one file, and where none can be written."""
    if arguments.timeline is None:
        return
    if ranks * len(arguments.batch) > 1:
        raise ValueError("--timeline is the page of one run; give one size of --batch and --tp.")
    if not os.path.isdir(os.path.dirname(arguments.timeline) or "."):
        raise ValueError(f"--timeline {arguments.timeline}: no file can be written there.")


def _check_price(arguments: argparse.Namespace) -> None:
    if arguments.price is None:
        return
    if arguments.instance is None:
        raise ValueError("--price is that of an instance; name one with --instance.")
    if not (0 < arguments.price < math.inf):
        raise ValueError(f"--price is {arguments.price}; it must be a positive number.")


def _answer(
    arguments: argparse.Namespace, question: dict[str, Any], compute: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """`compute()`, or what it returned earlier."""
    if not arguments.cache or arguments.timeline is not None:
        return compute()
    model = arguments.model
    configuration: Any = configuration_of(model)
    if configuration is None and ":" in model:
        configuration = [os.getcwd(), sys.path]  # where the module is looked for
    chosen = _core.environment_architecture()  # the library's own are part of its files
    facts = _core.architecture_facts(chosen) if chosen else None
    return answers.recall({**question, "configuration": configuration, "facts": facts}, compute)


def _inferred(arguments: argparse.Namespace, batch: int) -> dict[str, Any]:
    sizes = {"batch": batch, "sequence": arguments.sequence, "image": arguments.image}
    setting = {
        "dtype": arguments.dtype,
        "compiled": not arguments.eager,
        "auto_cast": arguments.auto_cast,
    }

    def compute() -> dict[str, Any]:
        from neuron_sim.model import estimate, rows, workload  # import torch

        request = workload.Request(arguments.model, **sizes)
        return rows.inference(
            request, estimate.Setting(**setting), arguments.layers, arguments.timeline
        )

    question = {"model": arguments.model, "layers": arguments.layers, **sizes, **setting}
    return _answer(arguments, question, compute)


def _generated(arguments: argparse.Namespace, ranks: int, batch: int) -> dict[str, Any]:
    if arguments.instance is not None:
        # Before the simulation.
        instance(arguments.instance).groups(ranks, max(1, arguments.lnc or 1))
    sizes = {
        "ranks": ranks,
        "logical_core": 1 if arguments.lnc is None else arguments.lnc,
        "batch": batch,
        "context": DEFAULT_CONTEXT if arguments.context is None else arguments.context,
        "input": DEFAULT_INPUT if arguments.input is None else arguments.input,
        "dtype": arguments.dtype,
        "weight_dtype": arguments.weight_dtype,
        "by_layer": arguments.layers,
    }

    def compute() -> dict[str, Any]:
        from neuron_sim.model import generation, rows, workload  # import torch

        model = workload.language_model(arguments.model)
        request = generation.GenerationRequest(**sizes)
        return rows.generation(arguments.model, model, request, arguments.timeline)

    return _answer(arguments, {"model": arguments.model, **sizes}, compute)


def _choose_architecture(arguments: argparse.Namespace) -> None:
    """That of --arch, of the published latencies of one core, or of --instance."""
    chosen = arguments.arch or (PUBLISHED_ARCHITECTURE if arguments.published else None)
    if arguments.instance is not None:
        chosen = chosen or instance(arguments.instance).architecture
    choose_architecture(chosen)
