"""Judge an NKI kernel: would the vendor's tools take it, is it right, is it clean, how fast is it?

  neuron-sim check kernels.py --kernel add --reference numpy_add.py:add \\
      --shapes 'a=float32[128,512]' 'b=float32[128,512]'

Each --shapes is a set of the kernel's arguments, arrays by dtype and shape, numbers as they are; a
kernel should hold at the sizes around the edges of its tiles. The result is one object per set, of
`neuron_sim.check`, with --json as a list.
"""

from __future__ import annotations

import argparse
import os
from ast import literal_eval
from typing import Any

from neuron_sim import settings
from neuron_sim.nki.check.verdict import PARTS, check
from neuron_sim.sweep.inputs import declared_input
from neuron_sim.sweep.point import loaded_module
from neuron_sim.terminal.arguments import (
    add_architecture,
    add_nki_version,
    named_architecture,
    print_result,
)
from neuron_sim.terminal.exit_codes import FAILURE, SUCCESS
from neuron_sim.terminal.json_output import add_json
from neuron_sim.terminal.tables import cell

SUMMARY = "judge a kernel: legal, right, clean, how fast"

FAILS = "the kernel is not legal, or cannot run; 3 it is not right; 4 it is not clean"

_CODES = dict(zip(PARTS, (FAILURE, 3, 4), strict=True))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a Python file")
    parser.add_argument("--kernel", required=True, metavar="NAME", help="a kernel in it")
    parser.add_argument(
        "--shapes",
        required=True,
        action="append",
        nargs="+",
        metavar="A=T[S,...]",
        help="the kernel's arguments, such as 'a=bfloat16[128,512]' scale=2.0; several times for "
        "several sets",
    )
    parser.add_argument(
        "--reference", metavar="FILE:FUNCTION", help="returns the right result for NumPy arrays"
    )
    parser.add_argument(
        "--legality",
        choices=settings.LEGALITY_LEVELS,
        default="compiler",
        help="whose refusals count: what the vendor's build was seen to refuse, or what documents "
        "alone say is refused too",
    )
    parser.add_argument(
        "--seeds", type=int, nargs="+", default=[0, 1], metavar="N", help="of the random inputs"
    )
    parser.add_argument(
        "--tolerance", type=float, metavar="X", help="relative; default: by the dtype of the output"
    )
    add_architecture(parser)
    add_nki_version(parser)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """SUCCESS, or the code of the first part that fails. ValueError for what is not there."""
    if (chosen := named_architecture(arguments.arch)) is not None:
        os.environ[settings.ARCHITECTURE] = chosen
    if arguments.nki_version is not None:
        os.environ[settings.NKI_VERSION] = arguments.nki_version
    kernel = _function(arguments.file, arguments.kernel)
    reference = None
    if arguments.reference is not None:
        file, _, name = arguments.reference.rpartition(":")
        reference = _function(file or arguments.file, name)
    results = [
        check(
            kernel,
            dict(_argument(text) for text in given),
            reference,
            legality=arguments.legality,
            seeds=arguments.seeds,
            tolerance=arguments.tolerance,
        )
        for given in arguments.shapes
    ]
    print_result(arguments, results, lambda: print("\n\n".join(map(text_of, results))))
    failed = (part for result in results for part in PARTS if not _passes(result, part))
    return _CODES.get(next(failed, ""), SUCCESS)


def _passes(result: dict[str, Any], part: str) -> bool:
    return result[part] is None or result[part]["passed"]


def _function(file: str, name: str) -> Any:
    module = loaded_module(os.path.abspath(file), os.stat(file).st_mtime_ns)
    if not callable(function := getattr(module, name, None)):
        raise ValueError(f"'{file}' has no function '{name}'.")
    return function


def _argument(text: str) -> tuple[str, Any]:
    """(name, value) of NAME=DTYPE[SIZES] or NAME=VALUE."""
    name, is_given, value = text.partition("=")
    if not is_given:
        raise ValueError(f"--shapes '{text}' must be NAME=DTYPE[SIZE, ...] or NAME=VALUE.")
    if value.endswith("]") and not value.startswith("["):
        return name, declared_input(value, {})
    try:
        return name, literal_eval(value)
    except (SyntaxError, ValueError):
        return name, value


def text_of(result: dict[str, Any]) -> str:
    """A verdict for people: a line per part, and what is wrong below it."""
    lines = [f"{result['kernel']} on {result['architecture']}"]
    for part in PARTS:
        judged = result[part]
        word = "not judged" if judged is None else "yes" if judged["passed"] else "NO"
        lines.append(f"{part}: {word}")
        lines += [f"  {line}" for line in _DETAILS[part](judged or {})]
    if (speed := result["performance"]) is not None:
        low, high = speed["interval_us"]
        lines += [
            f"time: {cell(speed['latency_us'])} us, on a chip {cell(low)} to {cell(high)} us",
            f"HBM: {speed['hbm_bytes']} bytes, at least {speed['least_hbm_bytes']}",
            speed["bound"],
        ]
        lines += [speed["best_change"]] if speed["best_change"] else []
    return "\n".join(lines)


def _wrong(judged: dict[str, Any]) -> list[str]:
    wrong = judged.get("first_wrong")
    lines = list(judged.get("cheats", ()))
    if wrong is not None and "index" in wrong:
        lines.append(
            f"with inputs {wrong['inputs']}, output {wrong['output']} at {wrong['index']} is "
            f"{wrong['got']}, not {wrong['expected']} ({wrong['wrong_elements']} of "
            f"{wrong['elements']} elements are wrong); written at {', '.join(wrong['written_at'])}"
        )
    elif wrong is not None:
        lines.append(f"with inputs {wrong['inputs']}: {wrong['sentence']}")
    return lines


_DETAILS = {
    "legal": lambda judged: [
        f"{row['line']}: {row['sentence']}".removeprefix(": ") for row in judged["rules"]
    ],
    "correct": _wrong,
    "clean": lambda judged: [f"{row['line']}: {row['message']}" for row in judged["findings"]],
}
