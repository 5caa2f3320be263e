"""What the vendor's verifier, instruction check and allocator refuse, judged on the traced program.

One visitor over the instructions, each of which is there once per line, so tracing takes no longer.
"""

import itertools
import linecache
import re
from collections.abc import Callable, Iterator
from typing import Any

from ..tracing.buffers import private_hbm, shared_hbm
from ..tracing.dtypes import float8_e4m3fn
from .violations import Violation

_FLOAT = "float"  # how the names of such dtypes begin or go on: float32, bfloat16
_LARGEST_TENSOR = 2 << 30  # bytes that the descriptors of a DMA address
_SUM = re.compile(r"[^=#]*\+=")
_HARDWARE_DESCRIPTORS = 1  # of DescriptorKind


def violations(call: Any, trace: Any, source: Any, returned: set[int]) -> Iterator[Violation]:
    """What the program that was traced for a call breaks; what tracing noted comes first.
    `returned`: the numbers of the arguments that the kernel returns."""
    yield from itertools.starmap(Violation, trace.noted)
    for name, instructions in trace.control.named.items():
        if len(instructions) > 1:
            yield Violation("ME-DUPNAME", "", f"{len(instructions)} instructions are '{name}'")
    for argument in call.inputs:
        if argument.dtype is float8_e4m3fn:
            yield Violation("EN-FP8FN", "", f"'{argument.name}'")
    for operation in source.operations():
        for name, check in _CHECKS.get(operation["name"], ()):
            detail = check(operation, operation["operands"], operation["attributes"])
            if detail is not None:
                yield Violation(name, _line(operation["source"]), detail)
    yield from _of_tensors(call, trace, source, returned)
    is_direct = "skip_middle_end_transformations" in call.directives
    summed = {storage.name for storage in trace.reductions}
    for line, tile, _ in source.carried_writes(trace.claims.entries):
        if tile not in summed and not _is_sum(line):
            yield Violation("LO-CARRY-DIRECT" if is_direct else "LO-CARRY", line, f"'{tile}'")


def _line(source: str) -> str:
    """`file:line` of a place that may have a column too."""
    return source if source.count(":") < 2 else ":".join(source.split(":")[:2])


def _of_tensors(call: Any, trace: Any, source: Any, returned: set[int]) -> Iterator[Violation]:
    for number, argument in enumerate(source.arguments):
        if number < len(call.inputs) and not (argument["read"] or argument["written"]):
            yield Violation("LN-INPUTUSE", "", f"'{argument['label']}'")
        if argument["bytes"] > _LARGEST_TENSOR:
            yield Violation("ME-2GB", "", f"'{argument['label']}' has {argument['bytes']} bytes")
    for storage in trace.hbm:
        is_output = storage.argument in returned
        line = trace.declared.get(storage.argument, "")
        if storage.buffer is shared_hbm and not is_output:
            yield Violation("ME-SH1", line, f"'{storage.name}'")
        if storage.buffer is private_hbm and is_output:
            yield Violation("ME-OUT", line, f"'{storage.name}'")
    if source.overflow:
        sentence = source.overflow.partition("\n")[0].rstrip(".")
        yield Violation("ME-PSUM" if " in psum" in sentence else "ME-SBUF", "", sentence)


def _is_sum(place: str) -> bool:
    """Whether a line, or the first of a statement, is that of `a += b`."""
    file, _, number = place.rpartition(":")
    return bool(_SUM.match(linecache.getline(file, int(number or 0))))


# --- instructions: what breaks a rule, a clause, or None --------------------------------------

_Operands = dict[str, dict[str, Any]]
_Check = Callable[[dict[str, Any], _Operands, dict[str, Any]], str | None]


def _divides(operation: dict, operands: _Operands, attributes: dict) -> str | None:
    """By a tile: an immediate divisor is a factor."""
    pairs = (("op", "data2"), ("op0", "operand0"), ("op1", "operand1"))
    divided = any(attributes.get(op) == "divide" and tile in operands for op, tile in pairs)
    return f"{operation['name']} by a tile" if divided else None


def _squares_without_bias(_: dict, operands: _Operands, attributes: dict) -> str | None:
    squares = attributes["op"] == "square" and attributes["reduce_op"] == "add"
    return "" if squares and "bias" not in operands else None


def _partition_reduces_integers(_: dict, operands: _Operands, __: dict) -> str | None:
    return _dtype_among(operands, ("data",), ("int32", "uint32"))


def _dtype_among(operands: _Operands, names: tuple, dtypes: tuple) -> str | None:
    wrong = (name for name in names if name in operands and operands[name]["dtype"] in dtypes)
    return next((f"'{name}' is {operands[name]['dtype']}" for name in wrong), None)


def _reduces_no_floats(_: dict, operands: _Operands, __: dict) -> str | None:
    if "reduce_res" not in operands:
        return "no reduce_res"
    wrong = (name for name in ("data", "reduce_res") if _FLOAT not in operands[name]["dtype"])
    return next((f"'{name}' is {operands[name]['dtype']}" for name in wrong), None)


def _factor_is_not_fp32(_: dict, operands: _Operands, __: dict) -> str | None:
    names = [name for name in ("operand0", "operand1") if name in operands]
    wrong = (name for name in names if operands[name]["dtype"] != "float32")
    return next((f"'{name}' is {operands[name]['dtype']}" for name in wrong), None)


def _on(engine: str) -> _Check:
    """Breaks a rule where the kernel names that engine."""
    return lambda operation, *_: (
        "" if operation["names_engine"] and operation["engine"] == engine else None
    )


def _copies_with_bias(_: dict, operands: _Operands, attributes: dict) -> str | None:
    return "" if attributes["op"] in ("copy", "identity") and "bias" in operands else None


def _multiplies_twice(operation: dict, _: _Operands, attributes: dict) -> str | None:
    twice = attributes["op0"] == attributes["op1"] == "multiply"
    return f"on {operation['engine']}" if twice and operation["engine"] != "Vector" else None


def _regroups(_: dict, operands: _Operands, __: dict) -> str | None:
    """dma_copy between tiles of other partition counts."""
    dst, src = operands["dst"], operands["src"]
    if dst["memory"] != "sbuf" or src["memory"] != "sbuf" or dst["partitions"] == src["partitions"]:
        return None
    return f"{src['partitions']} into {dst['partitions']} partitions"


def _names_a_queue(operation: dict, _: _Operands, attributes: dict) -> str | None:
    is_hardware = attributes["descriptors"] == _HARDWARE_DESCRIPTORS
    return None if is_hardware or not operation["names_engine"] else f"on {operation['engine']}"


def _computes_integers(operation: dict, operands: _Operands, _: dict) -> str | None:
    """32-bit ones, by an engine that computes in fp32."""
    if operation["engine"] == "GpSimd":
        return None
    return _dtype_among(operands, ("data", "data1", "data2"), ("int32", "uint32"))


def _applies(*names: str) -> _Check:
    """Meets a rule where the instruction has one of these operators."""
    return lambda _, __, attributes: attributes["op"] if attributes["op"] in names else None


def _multiplies_fp32(_: dict, operands: _Operands, __: dict) -> str | None:
    return _dtype_among(operands, ("moving",), ("float32",))


def _sums_floats(_: dict, operands: _Operands, attributes: dict) -> str | None:
    return "" if attributes["op"] == "add" and _FLOAT in operands["data"]["dtype"] else None


def _is_dynamic(*names: str) -> _Check:
    """Breaks a rule where one of these operands is in SBUF at a place that is computed on chip."""

    def check(_: dict, operands: _Operands, __: dict) -> str | None:
        given = ((name, operands[name]) for name in names)
        dynamic = (name for name, o in given if o["memory"] == "sbuf" and o["is_dynamic"])
        return next((f"'{name}'" for name in dynamic), None)

    return check


_CHECKS: dict[str, tuple[tuple[str, _Check], ...]] = {
    "activation": (
        ("EN-COPYB", _copies_with_bias),
        ("VA-COPYB", _copies_with_bias),
        ("VA-EXP", _applies("exp")),
        ("VA-SIG", _applies("sigmoid")),
    ),
    "activation_reduce": (
        ("EN-ACTRED", _squares_without_bias),
        ("VA-EXP", _applies("exp")),
        ("VA-SIG", _applies("sigmoid")),
    ),
    "dma_copy": (
        ("SH-DMAROW", _regroups),
        ("EN-HWDGE", _names_a_queue),
        ("ME-SBDYN", _is_dynamic("src")),
    ),
    "local_gather": (("VA-LGHANG", lambda *_: ""),),
    "nc_matmul": (("VA-MM32", _multiplies_fp32),),
    "scalar_tensor_tensor": (("EN-DIV", _divides), ("VA-INT24", _computes_integers)),
    "tensor_copy": (("EN-TC2", _on("Scalar")), ("ME-SBDYN", _is_dynamic("dst", "src"))),
    "tensor_partition_reduce": (("EN-PARTRED", _partition_reduces_integers),),
    "tensor_reduce": (("VA-SUM", _sums_floats), ("VA-INT24", _computes_integers)),
    "tensor_scalar": (
        ("EN-DIV", _divides),
        ("EN-OP32", _factor_is_not_fp32),
        ("EN-2MUL", _multiplies_twice),
        ("VA-INT24", _computes_integers),
    ),
    "tensor_scalar_reduce": (("EN-TSRED", _reduces_no_floats), ("EN-DIV", _divides)),
    "tensor_tensor": (
        ("EN-DIV", _divides),
        ("EN-GPTT1", _on("GpSimd")),
        ("VA-INT24", _computes_integers),
    ),
}
