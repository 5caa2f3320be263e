"""What commands that run a whole model share: its options, and errors of its code. Imports no
torch."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from neuron_sim.settings import ARCHITECTURE
from neuron_sim.terminal.arguments import add_architecture, named_architecture
from neuron_sim.terminal.exit_codes import failures_of

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
