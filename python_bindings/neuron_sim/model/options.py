"""What commands that run a whole model share: its options, and errors of its code. Imports no
torch."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from neuron_sim.model import DEFAULT_CONTEXT, DEFAULT_INPUT
from neuron_sim.settings import ARCHITECTURE
from neuron_sim.terminal.arguments import add_architecture, named_architecture
from neuron_sim.terminal.exit_codes import failures_of
from neuron_sim.terminal.json_output import add_json

DEFAULT_SEQUENCE = 128
"""Tokens per sequence, where none are asked for."""


def add_workload_arguments(parser: argparse.ArgumentParser) -> None:
    """Where a model runs, the sizes of its inputs but for the batch, and how it runs."""
    add_architecture(parser)
    parser.add_argument(
        "--sequence", type=int, default=DEFAULT_SEQUENCE, metavar="N", help="tokens per sequence"
    )
    parser.add_argument("--image", type=int, metavar="N", help="height and width of images")
    parser.add_argument(
        "--dtype",
        choices=("float32", "bfloat16", "float16"),
        default="bfloat16",
        help="dtype of weights and images",
    )
    parser.add_argument(
        "--auto-cast",
        choices=("none", "matmult"),
        default="none",
        help="matmult: products of float32 tensors multiply in bfloat16, as with the vendor's "
        "compiler option",
    )
    parser.add_argument("--eager", action="store_true", help="without torch.compile")


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything that `neuron-sim model` takes: what a sweep over a model may vary."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a name, a file or a function")
    parser.add_argument(
        "--batch", type=int, nargs="+", default=[1], metavar="N", help="batch sizes"
    )
    parser.add_argument(
        "--tp",
        type=int,
        nargs="+",
        metavar="N",
        help="cores that share a decoder (tensor parallelism)",
    )
    parser.add_argument(
        "--lnc",
        type=int,
        metavar="N",
        help="physical cores of each core of --tp, a logical core (2 on trn2); default: 1",
    )
    parser.add_argument(
        "--context",
        type=int,
        metavar="N",
        help=f"tokens in the caches of a decoder; default: {DEFAULT_CONTEXT}",
    )
    parser.add_argument(
        "--weight-dtype",
        choices=("int8",),
        help="dtype in HBM of the weights of a decoder's layers, which are cast on chip; default: "
        "as --dtype",
    )
    parser.add_argument(
        "--input", type=int, metavar="N", help=f"tokens of a prompt; default: {DEFAULT_INPUT}"
    )
    parser.add_argument(
        "--instance", metavar="I", help="its architecture, and figures of all its groups of --tp"
    )
    parser.add_argument(
        "--price", type=float, metavar="D", help="dollars per hour of --instance: cost per million"
    )
    add_workload_arguments(parser)
    _add_report_arguments(parser)


def _add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--layers", action="store_true", help="also time, traffic, MFU by module")
    parser.add_argument(
        "--timeline",
        metavar="FILE",
        help="write a page of its modules and operators, or of those of one token, for a browser",
    )
    parser.add_argument(
        "--no-cache",
        dest="cache",
        action="store_false",
        help="simulate also what was answered before, and keep nothing",
    )
    add_json(parser)
    parser.add_argument("--list", action="store_true", help="list the models that need no file")
    parser.add_argument(
        "--published",
        action="store_true",
        help="compare with the latencies that the vendor published, of MODEL or of all models",
    )
    parser.add_argument(
        "--host-overhead",
        action="store_true",
        help="with --published of all models: add a constant per kind of instance, fitted to the "
        "latencies that clients waited for, and leave each model out of the fit in turn",
    )


def choose_architecture(given: str | None) -> None:
    """Sets the environment to named_architecture(), before the device is loaded, which reads it."""
    chosen = named_architecture(given)
    if chosen is not None:
        os.environ[ARCHITECTURE] = chosen


@contextmanager
def faults_of(model: str) -> Iterator[None]:
    """Whatever the model, its operators, or the memory of the device refuse in the block is a
    ProgramError with that sentence. Errors of options, files, the host's memory and missing
    packages stay as they are."""
    log = logging.getLogger("torch._subclasses.fake_tensor")  # prints a trace of what it raises
    before, log.disabled = log.disabled, True
    try:
        with failures_of(model, ValueError, OSError, MemoryError):
            yield
    finally:
        log.disabled = before
