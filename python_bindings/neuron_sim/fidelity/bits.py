"""Says what is known of the bits that a chip computes, and compares published ones.

  neuron-sim bits
  neuron-sim bits --data published.json --json

Without --data these are the results that come with the package. A FILE is JSON: {"schema":
"neuron-sim bits 1", "cases": [{"id": "...", "instruction": "tensor_reduce", "op": "add", "dtype":
"float32", "shape": [64, 8], "data": "...", "result": "..."}]}, where data and result are the bits
of the elements as hexadecimal digits, most significant first, in row-major order, and the last
dimension is reduced. Or it is an archive of NumPy (.npz) of a sum: `actual` is the result, the
other array is the data.
"""

from __future__ import annotations

import argparse
import textwrap
import tomllib
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuron_sim.files import parse_json, read_text
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import FAILURE, SUCCESS
from neuron_sim.terminal.json_output import add_json

SUMMARY = "compare published bits of real chips, and say what is known of them"
FAILS = "a result has other bits"

PUBLISHED = Path(__file__).parent / "data" / "published_bits.json"
"""The results that come with the package."""
SCHEMA = "neuron-sim bits 1"
OPERATORS = ("add", "subtract", "multiply", "maximum", "minimum")
DTYPES = {"float32": "4", "float16": "2"}
"""Bytes of an element of a case."""


@dataclass(frozen=True)
class Case:
    """A reduction over the last dimension of `data` [rows, elements], and its published result."""

    id: str
    op: str
    data: np.ndarray
    result: np.ndarray


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    parser.add_argument(
        "--data", metavar="FILE", nargs="+", type=Path, help="published results to compare"
    )
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Returns FAILURE if any published result differs. ValueError for a malformed file."""
    files = arguments.data or [PUBLISHED]
    result: dict[str, Any] = compared(case for file in files for case in read_cases(file))
    if arguments.data is None:
        result = {"operations": known_operations(), **result}
    print_result(arguments, result, lambda: _print(result))
    return SUCCESS if result["equal"] == result["results"] else FAILURE


def known_operations() -> list[dict[str, str]]:
    """What is known of the bits of each operation: its rows of data/bits.toml."""
    with (PUBLISHED.parent / "bits.toml").open("rb") as file:
        operations: list[dict[str, str]] = tomllib.load(file)["operation"]
    return operations


def read_cases(path: Path) -> list[Case]:
    """Reads the cases of a file. ValueError if it has none, or a malformed one."""
    if path.suffix == ".npz":
        return [_archived(path)]
    document = parse_json(read_text(path, "measurements"), str(path))
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise ValueError(f"{path} is no file of published bits: its schema is not '{SCHEMA}'.")
    cases = document.get("cases")
    if not isinstance(cases, list) or not cases:
        raise ValueError(f"{path} has no cases.")
    return [_parsed(case, f"case {index} of {path}") for index, case in enumerate(cases)]


def _archived(path: Path) -> Case:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is not an archive of NumPy: {error}.") from None
    result = arrays.pop("actual", None)
    if result is None or len(arrays) != 1:
        raise ValueError(f"{path} must have the array 'actual' and one more, not {sorted(arrays)}.")
    (data,) = arrays.values()
    return _case(str(path), "add", data, result, str(path))


def _parsed(case: Any, what: str) -> Case:
    if not isinstance(case, dict):
        raise ValueError(f"{what} is not an object.")
    for key, choices in {
        "instruction": ("tensor_reduce",),
        "op": OPERATORS,
        "dtype": tuple(DTYPES),
    }.items():
        if case.get(key) not in choices:
            raise ValueError(f"{what} has {key} {case.get(key)!r}, not {' or '.join(choices)}.")
    dtype, shape = np.dtype(f">f{DTYPES[case['dtype']]}"), case.get("shape")
    try:
        data = np.frombuffer(bytes.fromhex(case["data"]), dtype).reshape(shape)
        result = np.frombuffer(bytes.fromhex(case["result"]), dtype)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{what} has no data and result in hexadecimal digits for shape {shape}: {error}."
        ) from None
    return _case(str(case.get("id", what)), case["op"], data, result, what)


def _case(name: str, op: str, data: np.ndarray, result: np.ndarray, what: str) -> Case:
    if data.ndim < 2 or data.size == 0 or result.size != data.size // data.shape[-1]:
        raise ValueError(
            f"{what} has data of shape {list(data.shape)} and {result.size} results; data must "
            "have rows, and a result for each."
        )
    if data.dtype != result.dtype or data.dtype.name not in DTYPES:
        raise ValueError(f"{what} has dtypes {data.dtype} and {result.dtype}; expected one, of "
                         f"{' or '.join(DTYPES)}.")  # fmt: skip
    native = data.dtype.newbyteorder("=")
    rows = data.reshape(-1, data.shape[-1]).astype(native)
    return Case(name, op, rows, result.reshape(-1).astype(native))


def compared(cases: Iterable[Case]) -> dict[str, Any]:
    """How many results have the published bits, and the first that has not."""
    counts = {"cases": 0, "results": 0, "equal": 0}
    first = None
    for case in cases:
        words = f"u{case.data.dtype.itemsize}"
        got, expected = simulated(case.op, case.data).view(words), case.result.view(words)
        unequal = np.flatnonzero(got != expected)
        counts["cases"] += 1
        counts["results"] += expected.size
        counts["equal"] += expected.size - unequal.size
        if first is None and unequal.size:
            row, digits = int(unequal[0]), 2 * case.data.dtype.itemsize
            first = {
                "case": case.id,
                "row": row,
                "expected": f"{expected[row]:0{digits}x}",
                "got": f"{got[row]:0{digits}x}",
            }
    return {**counts, "first_unequal": first}


def simulated(op: str, data: np.ndarray) -> np.ndarray:
    """The result of tensor_reduce for each row of `data`, in its dtype."""
    from neuron_sim import nki  # takes longer to import than the command's help
    from neuron_sim.nki import isa as nisa  # likewise
    from neuron_sim.nki import language as nl  # likewise

    def reduce_rows(data, operator):
        rows, elements = data.shape
        tile = nl.ndarray((rows, elements), dtype=data.dtype, buffer=nl.sbuf)
        result = nl.ndarray((rows, 1), dtype=data.dtype, buffer=nl.sbuf)
        out = nl.ndarray((rows, 1), dtype=data.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=tile, src=data)
        nisa.tensor_reduce(dst=result, data=tile, op=operator, axis=1, keepdims=True)
        nisa.dma_copy(dst=out, src=result)
        return out

    kernel, operator, most = nki.jit(reduce_rows), getattr(nl, op), nl.tile_size.pmax
    parts = [kernel(data[at : at + most], operator) for at in range(0, len(data), most)]
    return np.concatenate(parts).reshape(-1)


def _print(result: dict[str, Any]) -> None:
    for row in result.get("operations", ()):
        heading = f"{row['known']}: {row['operation']} ({row['engine']})"
        for line in (heading, f"  {row['bits']}", f"  source: {row['source']}"):
            print(textwrap.fill(line, 100, subsequent_indent="    "))
    print(f"{result['equal']:,} of {result['results']:,} published results are equal in every bit.")
    if first := result["first_unequal"]:
        print(
            f"The first other one is row {first['row']} of {first['case']}: expected "
            f"{first['expected']}, got {first['got']}."
        )
