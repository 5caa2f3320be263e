"""Random programs of the core against the naive interpreter, and what their time may depend on."""

from __future__ import annotations

import random

import neuron_sim.torch_device  # noqa: F401 - set_host_threads is the device's
import numpy as np
import torch
from findings import FoundError, source_of
from listing import Listing
from naive_interpreter import Machine
from naive_values import OrderError
from neuron_sim import _core
from program_generator import Generator
from program_statements import STATEMENTS

_ARCHITECTURES = ("trn1", "trn2", "trn2", "trn3")
_FLAGS = [
    name for name, value in next(iter(_core.published_stacks().values()))["settings"].items()
    if isinstance(value, bool)
]  # fmt: skip


def _arrays(listing: Listing) -> list[np.ndarray]:
    return [listing.inputs[number].copy() for number in listing.arguments()]


def _run(program: _core.Program, listing: Listing) -> tuple[list[np.ndarray], list[int]]:
    """The arguments at the end, and what data decided."""
    arrays = _arrays(listing)
    log = program.run([array.view(np.uint8) for array in arrays])
    return arrays, log


def _check_equal(found: list[np.ndarray], expected: list[np.ndarray], kind: str) -> None:
    """NaN equals NaN, and 0 equals -0."""
    for number, (left, right) in enumerate(zip(found, expected, strict=True)):
        if left.dtype.kind in "iu":
            same = left == right
        else:
            a, b = left.astype(np.float32), right.astype(np.float32)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not same.all():
            place = tuple(int(i) for i in np.argwhere(~same)[0])
            raise FoundError(
                kind,
                f"argument {number} at {place} is {left[place]}, not {right[place]}; "
                f"{int((~same).sum())} of {same.size} differ",
            )


def _check_times(program: _core.Program, log: list[int]) -> None:
    first, second = program.time(log=log), program.time(log=log)
    if first != second:
        raise FoundError("the time of a program differs from call to call", f"{first} {second}")
    # An observer turns loop skipping off.
    steps = program.steps(log=log)
    last = max((step["done_ns"] for step in steps), default=0.0) / 1e3
    if abs(last - first["body_us"]) > 1e-6 * max(1.0, last):
        raise FoundError(
            "skipping loops changes the time", f"{first['body_us']} us with, {last} us without"
        )


def _check_compiled(
    program: _core.Program, listing: Listing, found: list[np.ndarray], source: random.Random
) -> None:
    if source.random() < 0.5:
        stack = source.choice(list(_core.published_stacks().values()))
        settings = stack["settings"]
    else:
        settings = {name: True for name in _FLAGS if source.random() < 0.4}
    compiled = _core.compile_program(program, settings)
    after, log = _run(compiled, listing)
    chosen = ", ".join(name for name, value in settings.items() if value)
    try:
        _check_equal(after, found, "passes change the bytes")
    except FoundError as error:
        raise FoundError(error.kind, f"{error.text}\nsettings: {chosen}") from None
    _check_times(compiled, log)


def generate(seed: int) -> tuple[Generator, _core.Program]:
    """The listing and the program of a seed."""
    source = source_of("programs", seed)
    large = source.random() < 0.04
    generator = Generator(source, source.choice(_ARCHITECTURES), large, STATEMENTS)
    generator.program()
    return generator, generator.builder.finish()


def run_case(seed: int) -> str:
    """Compares one program; the word says how far."""
    generator, program = generate(seed)
    listing = generator.listing
    try:
        expected, refusal = Machine(listing).run(), None
    except (IndexError, ValueError) as error:
        expected, refusal = None, error
    except OrderError:
        expected, refusal = None, None
    try:
        found, log = _run(program, listing)
    except IndexError as error:
        if refusal is None and expected is not None:
            raise FoundError("an index is refused that is inside", str(error)) from error
        return "index refused"
    if refusal is not None:
        raise FoundError("an index outside is accepted", str(refusal))
    if expected is not None:
        _check_equal(found, expected, "the bytes are not those of the interpreter")
    if generator.large:
        torch.neuron_sim.set_host_threads(1)
        alone, _ = _run(program, listing)
        torch.neuron_sim.set_host_threads(2)
        _check_equal(found, alone, "the bytes depend on the number of threads")
    _check_times(program, log)
    if seed % 2 == 0:
        _check_compiled(program, listing, found, source_of("passes", seed))
    return "compared" if expected is not None else "order of sums matters"
