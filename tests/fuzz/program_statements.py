"""Random instructions of a program: each function tries to add one; the builder may refuse it."""

from __future__ import annotations

from typing import Any

import numpy as np
from listing import Access, Storage, is_integer
from naive_values import ARITHMETIC, BINARY, BITWISE, COMPARISONS, UNARY
from program_generator import FLOATS, INTEGERS, Generator
from program_movement import MOVEMENT

_SIZES = (("int32", "uint32"), ("int16", "uint16"), ("int8", "uint8"))


def _number(g: Generator) -> float:
    return float(g.random.choice([-2, -1, 0, 0.5, 1, 2, 3]))


def copy(g: Generator) -> None:
    if (target := g.target()) and (source := g.source(*target)):
        engine = g.random.choice(["vector", "vector", "gpsimd", "auto"])
        g.emit("tensor_copy", {"dst": target[0], "src": source}, engine=engine)


def fill(g: Generator) -> None:
    if target := g.target():
        g.emit("memset", {"dst": target[0]}, value=float(g.pick(0, 3)))


def two_tiles(g: Generator) -> None:
    bitwise = g.random.random() < 0.2
    kinds = g.random.choice(_SIZES) if bitwise else ()
    target = g.target(kinds)
    if not target:
        return
    first, second = g.source(*target, kinds), g.source(*target, kinds)
    if first and second:
        op = g.random.choice(list(BITWISE if bitwise else BINARY))
        engine = g.random.choice(["vector", "vector", "gpsimd"])
        accesses = {"dst": target[0], "data1": first, "data2": second}
        g.emit("tensor_tensor", accesses, op=op, engine=engine)


def _stage(
    g: Generator, target: Access, partitions: int, number: int, operators: dict[str, Any]
) -> tuple[dict[str, Access], dict[str, Any]]:
    """The operand and the parameters of one stage of tensor_scalar."""
    op = g.random.choice(list(operators))
    parameters: dict[str, Any] = {f"op{number}": op}
    if op in UNARY:
        return {}, parameters
    parameters[f"reverse{number}"] = g.random.random() < 0.3
    if g.random.random() < 0.3 and (column := g.column(target, partitions)):
        return {f"operand{number}": column}, parameters
    whole = operators is BITWISE or g.random.random() < 0.7
    parameters[f"operand{number}"] = float(g.pick(0, 5)) if whole else _number(g)
    return {}, parameters


def tile_and_scalars(g: Generator) -> None:
    bitwise = g.random.random() < 0.2
    kinds = g.random.choice(_SIZES) if bitwise else ()
    target = g.target(kinds)
    if not target or not (source := g.source(*target, kinds)):
        return
    operators = BITWISE if bitwise else {**BINARY, **UNARY}
    accesses, parameters = {"dst": target[0], "data": source}, {}
    for number in range(g.pick(1, 2)):
        operand, of_stage = _stage(g, target[0], target[1], number, operators)
        accesses.update(operand)
        parameters.update(of_stage)
    engine = g.random.choice(["vector", "vector", "vector", "gpsimd"])
    g.emit("tensor_scalar", accesses, engine=engine, **parameters)


def scalar_and_two_tiles(g: Generator) -> None:
    target = g.target()
    if not target:
        return
    first, second = g.source(*target), g.source(*target)
    if first and second:
        accesses = {"dst": target[0], "data": first, "operand1": second}
        operand, parameters = _stage(g, target[0], target[1], 0, {**BINARY, **UNARY})
        accesses.update(operand)
        if not operand:
            parameters.setdefault("operand0", None)
        parameters.update(op1=g.random.choice(list(BINARY)), reverse1=g.random.random() < 0.3)
        g.emit("scalar_tensor_tensor", accesses, **parameters)


def reduce(g: Generator) -> None:
    target = g.target()
    if not target:
        return
    number = g.random.choice(g.tiles)
    shape = g.listing.storages[number].shape
    if g.meets(number, target[0].storage) or shape[0] < target[1]:
        return
    first = g.partitions(Storage("sbuf", shape, "int8"), target[1])
    source = Access(number, g.turn(g.listing.storages[number]), (first,) if first else ())
    axes = g.pick(1, len(shape) - 1)
    kept = int(np.prod(shape[1 : len(shape) - axes]))
    access = g.carve(target[0].storage, target[1], kept, reads=False)
    if access:
        dtype = g.listing.storages[number].dtype
        operators = ["add", "maximum", "minimum"]
        operators += ["bitwise_or", "bitwise_and", "bitwise_xor"] if is_integer(dtype) else []
        op = g.random.choice(operators)
        negate = g.random.random() < 0.2
        g.emit("tensor_reduce", {"dst": access, "data": source}, op=op, axes=axes, negate=negate)


def scan(g: Generator) -> None:
    target = g.target()
    if not target:
        return
    first, second = g.source(*target), g.source(*target)
    if first and second:
        accesses = {"dst": target[0], "data0": first, "data1": second}
        parameters: dict[str, Any] = {"initial": _number(g)}
        if g.random.random() < 0.3 and (column := g.column(*target[:2])):
            accesses["initial"] = column
            parameters = {}
        for number in (0, 1):
            parameters[f"op{number}"] = g.random.choice(list(ARITHMETIC))
            parameters[f"reverse{number}"] = g.random.random() < 0.3
        g.emit("tensor_tensor_scan", accesses, **parameters)


def activate(g: Generator) -> None:
    target = g.target()
    if not target or not (source := g.source(*target)):
        return
    accesses = {"dst": target[0], "data": source}
    parameters: dict[str, Any] = {"op": g.random.choice(["copy", "relu", "square", "abs"])}
    if g.random.random() < 0.3 and (column := g.column(*target[:2])):
        accesses["scale"] = column
    else:
        parameters["scale"] = _number(g)
    if g.random.random() < 0.5 and (column := g.column(*target[:2])):
        accesses["bias"] = column
    g.emit("activation", accesses, **parameters)


def _patterned(g: Generator, elements: int) -> dict[str, Any]:
    inner = g.random.choice([n for n in (1, 2, 3) if elements % n == 0])
    pattern = [[g.pick(-3, 3), elements // inner], [g.pick(-3, 3), inner]]
    return {"pattern": pattern, "offset": g.pick(-9, 9), "channel_multiplier": g.pick(-2, 2)}


def indices(g: Generator) -> None:
    if target := g.target(("int32", "float32", "int16", "uint32")):
        g.emit("iota", {"dst": target[0]}, **_patterned(g, target[2]))


def select(g: Generator) -> None:
    if (target := g.target()) and (source := g.source(*target)):
        op = g.random.choice([op for op in COMPARISONS if not op.startswith("logical")])
        g.emit(
            "affine_select", {"dst": target[0], "on_true_tile": source},
            on_false_value=_number(g), cmp_op=op, **_patterned(g, target[2]),
        )  # fmt: skip


def copy_where(g: Generator) -> None:
    target = g.target()
    if not target or not (predicate := g.source(*target, INTEGERS)):
        return
    accesses = {"dst": target[0], "predicate": predicate}
    parameters: dict[str, Any] = {"reverse_pred": g.random.random() < 0.4}
    source = g.source(*target)
    if source and g.random.random() < 0.6:
        accesses["src"] = source
    else:
        parameters["src"] = float(g.pick(0, 3))
    g.emit("tensor_copy_predicated", accesses, **parameters)


def largest(g: Generator) -> None:
    if target := g.target():
        access = g.carve(target[0].storage, target[1], 8, reads=False)
        source = g.source(access, target[1], max(8, target[2])) if access else None
        if access and source and source is not access:
            g.emit("max8", {"dst": access, "src": source})


def product(g: Generator) -> None:
    if not g.sums:
        return
    number = g.random.choice(g.sums)
    shape = g.listing.storages[number].shape
    rows, columns = g.pick(1, shape[0]), int(np.prod(shape[1:]))
    columns = columns if g.large else g.pick(1, columns)
    depth = g.random.choice(g.partition_choices)
    dst = g.carve(number, rows, columns, reads=False)
    if dst is None:
        return
    kinds = ("float32",) if g.random.random() < 0.5 else FLOATS[1:]
    a = g.source(dst, depth, rows, kinds)
    b = g.source(dst, depth, columns, kinds)
    if a and b:
        accesses = {"dst": dst, "stationary": a, "moving": b}
        g.emit("nc_matmul", accesses, accumulate=g.random.random() < 0.6)


STATEMENTS = (
    copy, copy, fill, two_tiles, two_tiles, tile_and_scalars, tile_and_scalars,
    scalar_and_two_tiles, reduce, scan, activate, indices, select, copy_where, largest, product,
    product, product, *MOVEMENT,
)  # fmt: skip
