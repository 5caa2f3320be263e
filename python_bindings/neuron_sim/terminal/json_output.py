"""The result of a command as JSON: alone on standard output, and in a file."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from neuron_sim.files import check_writable, write_whole

_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2


def add_json(parser: argparse.ArgumentParser) -> None:
    """`--json` and `--output`."""
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the result as JSON; all else goes to standard error",
    )
    parser.add_argument("--output", metavar="FILE", help="write the result as JSON to this file")


@contextlib.contextmanager
def reserved_output(arguments: argparse.Namespace) -> Iterator[None]:
    """For the run of a command: with --json, standard output gets the result that
    give_json() was told, and what any code prints meanwhile goes to standard error. OSError before
    the run when the file of --output cannot be written."""
    if getattr(arguments, "output", None) is not None:
        check_writable(arguments.output)
    if not getattr(arguments, "json", False):
        yield
        return
    arguments.document = None
    try:
        with _output_to_errors():
            yield
    finally:
        if arguments.document is not None:
            print(arguments.document)


@contextlib.contextmanager
def _output_to_errors() -> Iterator[None]:
    """Also of child processes and of code in C, which know descriptors only."""
    sys.stdout.flush()
    kept = os.dup(_STANDARD_OUTPUT)
    os.dup2(_STANDARD_ERROR, _STANDARD_OUTPUT)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        ctypes.CDLL(None).fflush(None)  # what oneDNN prints, say, with ONEDNN_VERBOSE
        os.dup2(kept, _STANDARD_OUTPUT)
        os.close(kept)


def give_json(arguments: argparse.Namespace, result: Any) -> bool:
    """Writes the result to the file of --output, and keeps it for standard output with --json;
    returns whether that is asked for. Numbers that JSON lacks, such as infinity, are null. OSError
    for the file."""
    if not arguments.json and arguments.output is None:
        return False
    document = json.dumps(_finite(result), indent=2, allow_nan=False)
    if arguments.output is not None:
        write_whole(arguments.output, f"{document}\n")
    if arguments.json:
        arguments.document = document
    return arguments.json


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value
