"""Runs the convolutions of Berkeley's CS152 lab 6.

  neuron-sim fleet --basic
  neuron-sim fleet --timing-only --test-case in128_out256_filter3x3_batch4_32x32_float32

A case is named by its sizes, for example in128_out128_filter3x3_batch16_256x256_float16. It is a
convolution without padding, with a bias, of random numbers in [0, 1). Its result is compared with
torch's; its time is the simulated latency as the vendor's benchmark reports it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuron_sim import _core
from neuron_sim.files import write_whole
from neuron_sim.settings import device_name
from neuron_sim.terminal.arguments import print_result
from neuron_sim.terminal.exit_codes import FAILURE, SUCCESS, ProgramError, sentence_of
from neuron_sim.terminal.json_output import add_json

SUMMARY = "check and time the convolutions of Berkeley's CS152 lab 6"
FAILS = "a result is wrong, or later than the course allows"

# Longest allowed latency in microseconds, for the lab's trn1: pass marks of the course, which are
# upper bounds and not measurements (ucb-152/lab6, nki_conv2d/utils.py).
FLEET: dict[str, float] = {
    "in128_out128_filter3x3_batch16_256x256_float16": 13000,
    "in128_out128_filter5x5_batch16_32x32_float16": 1000,
    "in128_out256_filter3x3_batch4_32x32_float32": 1000,
    "in128_out256_filter3x3_batch4_256x256_float16": 7000,
    "in128_out256_filter3x3_batch16_32x32_float32": 3000,
    "in128_out256_filter3x3_batch64_32x32_float16": 8000,
    "in128_out256_filter5x5_batch4_32x32_float32": 3000,
    "in128_out256_filter5x5_batch16_32x32_float16": 2000,
    "in256_out256_filter3x3_batch4_32x32_float32": 3000,
    "in256_out256_filter3x3_batch16_32x32_float16": 3000,
    "in256_out256_filter3x3_batch64_32x32_float16": 10000,
    "in256_out256_filter5x5_batch4_32x32_float32": 5000,
    "in256_out256_filter5x5_batch16_32x32_float16": 4000,
    "in256_out256_filter5x5_batch64_32x32_float16": 12000,
}
BASIC = (
    "in128_out256_filter3x3_batch4_32x32_float32",
    "in128_out256_filter3x3_batch4_256x256_float16",
    "in256_out256_filter5x5_batch4_32x32_float32",
)
ARCHITECTURE = "trn1"
RECORD = Path("results") / "execution_times.json"

# Relative and absolute errors that the course allows; bfloat16, which it lacks, as float16.
TOLERANCE = {"float32": (1e-5, 1e-8), "float16": (1e-2, 1e-4), "bfloat16": (1e-2, 1e-4)}

_NAME = re.compile(
    r"in(\d+)_out(\d+)_filter(\d+)x(\d+)_batch(\d+)_(\d+)x(\d+)_(float16|float32|bfloat16)"
)


@dataclass(frozen=True)
class FleetCase:
    """One convolution of the fleet."""

    input_channels: int
    output_channels: int
    filter_height: int
    filter_width: int
    batch: int
    height: int
    width: int
    dtype: str

    @property
    def name(self) -> str:
        """The name that parse_case reads."""
        return (
            f"in{self.input_channels}_out{self.output_channels}"
            f"_filter{self.filter_height}x{self.filter_width}_batch{self.batch}"
            f"_{self.height}x{self.width}_{self.dtype}"
        )

    @property
    def shapes(self) -> list[list[int]]:
        """Shapes of input, weight and bias."""
        kernel = [self.filter_height, self.filter_width]
        return [
            [self.batch, self.input_channels, self.height, self.width],
            [self.output_channels, self.input_channels, *kernel],
            [self.output_channels],
        ]


@dataclass(frozen=True)
class FleetResult:
    """The outcome of a case. Times are simulated microseconds."""

    case: FleetCase
    latency_us: float
    tensor_share: float
    """Busy share of the Tensor engine, 0 to 1."""
    difference: str | None
    """The error in the result; None when it is right or was not computed."""
    limit_us: float | None
    """The longest allowed latency, None if unlimited."""

    @property
    def is_fast(self) -> bool:
        """Within the limit, or without one."""
        return self.limit_us is None or self.latency_us <= self.limit_us


def parse_case(name: str) -> FleetCase:
    """The case of that name; ValueError when it is not one."""
    match = _NAME.fullmatch(name)
    sizes = [int(digits) for digits in match.groups()[:-1]] if match else [0]
    if match is None or min(sizes) < 1:
        raise ValueError(
            f"test case '{name}' is not of the form in<C>_out<F>_filter<KH>x<KW>_batch<N>_<H>x<W>_"
            "<dtype> with sizes of at least 1 and dtype float16, float32 or bfloat16, for example "
            "in128_out128_filter3x3_batch16_256x256_float16."
        )
    channels, filters, kernel_h, kernel_w, batch, height, width = sizes
    return FleetCase(channels, filters, kernel_h, kernel_w, batch, height, width, match.group(8))


def time_case(case: FleetCase, architecture: str = ARCHITECTURE) -> tuple[float, float]:
    """Simulated latency in microseconds and busy share of the Tensor engine, without data."""
    timing = _core.time_kernel("conv2d_maxpool", case.shapes, case.dtype, architecture)
    return timing["latency_us"], timing["utilisation"]["Tensor"]


def check_case(case: FleetCase, seed: int) -> tuple[float, float, str | None]:
    """Runs the case on the device: latency, share of the Tensor engine, and the error.

    The reference is torch's convolution in fp32 of the same numbers, image by image.
    """
    import torch  # only some commands need it

    generator = torch.Generator().manual_seed(seed)
    dtype = getattr(torch, case.dtype)
    operands = [torch.rand(shape, generator=generator).to(dtype) for shape in case.shapes]
    with torch.neuron_sim.record_launches() as launches:
        on_device = [operand.to(device_name()) for operand in operands]
        out = torch.ops.neuron_sim.conv2d_maxpool(*on_device, 1).cpu()
    launch = next(each for each in launches if each.name == "conv2d_maxpool")
    difference = _difference(out, operands, TOLERANCE[case.dtype])
    return launch.latency_us, launch.utilisation["Tensor"], difference


def _difference(out: Any, operands: list[Any], tolerance: tuple[float, float]) -> str | None:
    """The first element that is too far from torch's, in words."""
    import torch  # only some commands need it

    images, weight, bias = operands
    relative, absolute = tolerance
    for index, image in enumerate(images):
        expected = torch.nn.functional.conv2d(image[None].float(), weight.float(), bias.float())[0]
        actual = out[index].float()
        wrong = ~torch.isclose(actual, expected, rtol=relative, atol=absolute)
        if wrong.any():
            place = tuple(wrong.nonzero()[0].tolist())
            return (
                f"{int(wrong.sum())} elements of image {index} differ, the first at "
                f"{list(place)}: {actual[place].item():g} instead of {expected[place].item():g}"
            )
    return None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the subcommand."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--basic", action="store_true", help="only the three basic cases")
    which.add_argument("--test-case", metavar="NAME", help="only this case, of the fleet or not")
    which.add_argument("--list", action="store_true", help="print the names of the fleet")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--simulate", action="store_true", help="only compare results, without times")
    how.add_argument("--timing-only", action="store_true", help="only simulate times, without data")
    parser.add_argument(
        "--record",
        action="store_true",
        help=f"write the times in microseconds by name to {RECORD}",
    )
    parser.add_argument(
        "--arch",
        metavar="NAME",
        help="architecture or TOML file; default: NEURON_SIM_ARCH, else the lab's trn1",
    )
    parser.add_argument("--seed", type=int, default=152, help="of the random numbers")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Runs the chosen cases; FAILURE when a result is wrong or later than the course allows."""
    if arguments.record and arguments.simulate:
        arguments.subparser.error("--record needs times, which --simulate leaves out")
    if arguments.list:
        print_result(arguments, list(FLEET), lambda: print("\n".join(FLEET)))
        return SUCCESS

    arguments.arch = arguments.arch or _core.setting("NEURON_SIM_ARCH") or ARCHITECTURE
    names: Iterable[str] = BASIC if arguments.basic else FLEET
    cases = [parse_case(name) for name in ([arguments.test_case] if arguments.test_case else names)]
    if not arguments.timing_only:
        _use_architecture(arguments.arch)
    results = []
    for case in cases:
        result = _run_case(case, arguments)
        print(_line(result, arguments), flush=True)
        results.append(result)
    if arguments.record:
        _record(results)
    passed = sum(_passed(each, arguments) for each in results)
    found = {
        "architecture": arguments.arch,
        "passed": passed,
        "cases": [_object(each, arguments) for each in results],
    }
    sentence = f"{passed} of {len(results)} cases passed on {arguments.arch}."
    print_result(arguments, found, lambda: print(sentence))
    return SUCCESS if passed == len(results) else FAILURE


def _use_architecture(architecture: str) -> None:
    """Sets the device's architecture, which is fixed at first use."""
    from neuron_sim import torch_device  # imports torch

    if not torch_device.is_initialized():
        _core.architecture_facts(architecture)  # reports errors in it
        os.environ["NEURON_SIM_ARCH"] = architecture
        torch_device.init()
    running = torch_device.get_device_properties(0).architecture
    if architecture in _core.architectures() and running != architecture:
        raise ValueError(
            f"the device of this process is a {running} already, not a {architecture}."
        )


def _run_case(case: FleetCase, arguments: argparse.Namespace) -> FleetResult:
    # The course's pass marks are for its own chip.
    limit = FLEET.get(case.name) if arguments.arch == ARCHITECTURE else None
    if arguments.timing_only:
        return FleetResult(case, *time_case(case, arguments.arch), None, limit)
    try:
        return FleetResult(case, *check_case(case, arguments.seed), limit)
    except RuntimeError as error:  # torch has no memory, of the host or of the device
        raise ProgramError(f"{case.name}: {sentence_of(error)}") from error


def _passed(result: FleetResult, arguments: argparse.Namespace) -> bool:
    return result.difference is None and (arguments.simulate or result.is_fast)


def _line(result: FleetResult, arguments: argparse.Namespace) -> str:
    words = ["Passed" if _passed(result, arguments) else "Failed"]
    if not arguments.timing_only:
        right = result.difference is None
        words.append("equal to torch" if right else f"not equal to torch ({result.difference})")
    if not arguments.simulate:
        limit = "" if result.limit_us is None else f" of at most {result.limit_us:.0f}"
        words.append(f"{result.latency_us:.1f} us{limit}")
        words.append(f"Tensor engine {100 * result.tensor_share:.0f} % busy")
    return f"{result.case.name}: {', '.join(words)}"


def _object(result: FleetResult, arguments: argparse.Namespace) -> dict[str, Any]:
    """A case for JSON; what was not computed is None."""
    timed, computed = not arguments.simulate, not arguments.timing_only
    return {
        "name": result.case.name,
        "passed": _passed(result, arguments),
        "equal_to_torch": result.difference is None if computed else None,
        "difference": result.difference,
        "latency_us": result.latency_us if timed else None,
        "limit_us": result.limit_us if timed else None,
        "tensor_share": result.tensor_share if timed else None,
    }


def _record(results: list[FleetResult]) -> None:
    """Writes the latencies of the cases whose result is right."""
    times = {each.case.name: each.latency_us for each in results if each.difference is None}
    RECORD.parent.mkdir(parents=True, exist_ok=True)
    write_whole(RECORD, json.dumps(times, indent=4) + "\n")
