"""The instructions of the naive interpreter. Each reads all of its operands before it writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from listing import NAMES, Access, is_integer
from naive_values import (
    BITWISE,
    COMPARISONS,
    OrderError,
    exact_product,
    exact_sum,
    from_floats,
    from_integers,
    operate,
    to_floats,
    to_integers,
)

if TYPE_CHECKING:
    from naive_interpreter import Machine

Accesses = dict[str, Access]
_WORDS = (np.int32, np.uint32)


def _name(array: np.ndarray) -> str:
    return NAMES[array.dtype]


def _rows(array: np.ndarray) -> np.ndarray:
    """[partitions, elements], which may be a copy."""
    return array.reshape(array.shape[0], -1)


def _write(target: np.ndarray, values: np.ndarray) -> None:
    """Elements in row-major order, already of the target's dtype."""
    target[...] = values.reshape(target.shape)


def _converted(values: np.ndarray, dtype: str) -> np.ndarray:
    """Equal dtypes keep their bits, others go through fp32."""
    return values.copy() if _name(values) == dtype else from_floats(to_floats(values), dtype)


def _scalar(machine: Machine, accesses: Accesses, name: str, constant: Any) -> np.ndarray:
    """An operand [P, 1], or a constant, as fp32."""
    if name in accesses:
        return to_floats(_rows(machine.array(accesses[name])))
    return np.float32(0 if constant is None else constant).reshape(1, 1)


def dma_copy(
    machine: Machine, accesses: Accesses, dst_rmw_add: bool = False, oob_mode: str = "error",
    unique_indices: bool = True, **_: Any,
) -> None:  # fmt: skip
    dst, src = machine.array(accesses["dst"]), machine.array(accesses["src"])

    def moved(target: np.ndarray, source: np.ndarray) -> None:
        if dst_rmw_add:
            both = to_floats(target).reshape(-1) + to_floats(source).reshape(-1)
            values = from_floats(both, _name(target))
        else:
            values = _converted(source, _name(target))
        _write(target, values)
        # Elements that share bytes: a DMA has no order.
        if target.tobytes() != values.reshape(target.shape).tobytes():
            raise OrderError

    if "index" not in accesses:
        return moved(dst, src.copy())
    index = machine.array(accesses["index"])
    scatters = accesses["dst"].rows is not None
    rows = machine.rows(accesses["dst" if scatters else "src"], index, oob_mode == "skip")
    known = [row for row in rows if row is not None]
    if scatters and dst_rmw_add and unique_indices and len(set(known)) < len(known):
        raise ValueError("a row is added to twice")
    for place, row in enumerate(rows):
        if row is not None:
            moved(dst[row] if scatters else dst[place], src[place] if scatters else src[row])


def memset(machine: Machine, accesses: Accesses, value: float, **_: Any) -> None:
    dst = machine.array(accesses["dst"])
    if is_integer(_name(dst)):
        dst[...] = int(value)
    else:
        dst[...] = from_floats(np.float32([value]), _name(dst))[0]


def iota(
    machine: Machine, accesses: Accesses, pattern: list, offset: int, channel_multiplier: int,
    **_: Any,
) -> None:  # fmt: skip
    dst = machine.array(accesses["dst"])
    values = _affine(dst.shape[0], pattern, offset, channel_multiplier)
    if is_integer(_name(dst)):
        limits = np.iinfo(dst.dtype)
        _write(dst, np.clip(values, limits.min, limits.max).astype(dst.dtype))
    else:
        _write(dst, from_floats(values.astype(np.float32), _name(dst)))


def _affine(partitions: int, pattern: list, offset: int, multiplier: int) -> np.ndarray:
    """offset + p * multiplier + i0 * step0 + ... modulo 2**32, [partitions, elements]."""
    values = np.zeros(1, np.int64)
    for step, size in pattern:
        values = (values[:, None] + np.arange(size) * step).reshape(-1)
    values = values[None, :] + offset + np.arange(partitions)[:, None] * multiplier
    return values.astype(np.int32).astype(np.int64)


def affine_select(
    machine: Machine, accesses: Accesses, pattern: list, channel_multiplier: int,
    on_false_value: float, cmp_op: str, offset: int, **_: Any,
) -> None:  # fmt: skip
    dst, data = machine.array(accesses["dst"]), _rows(machine.array(accesses["on_true_tile"]))
    values = _affine(dst.shape[0], pattern, offset, channel_multiplier)
    chosen = COMPARISONS[cmp_op](values, 0)
    taken = _converted(data, _name(dst))
    _write(dst, np.where(chosen, taken, from_floats(np.float32([[on_false_value]]), _name(dst))))


def tensor_copy(machine: Machine, accesses: Accesses, **_: Any) -> None:
    dst = machine.array(accesses["dst"])
    _write(dst, _converted(machine.array(accesses["src"]), _name(dst)))


def tensor_copy_predicated(
    machine: Machine, accesses: Accesses, src: float | None = None, reverse_pred: bool = False,
    **_: Any,
) -> None:  # fmt: skip
    dst = machine.array(accesses["dst"])
    chosen = (_rows(machine.array(accesses["predicate"])) != 0) != reverse_pred
    if "src" in accesses:
        new = _converted(_rows(machine.array(accesses["src"])), _name(dst))
    else:
        new = from_floats(np.float32([[src]]), _name(dst))
    _write(dst, np.where(chosen, new, _rows(dst)))


def _exact_words(engine: str, *arrays: np.ndarray) -> bool:
    return engine == "gpsimd" and all(array.dtype in _WORDS for array in arrays)


def tensor_tensor(machine: Machine, accesses: Accesses, op: str, engine: str) -> None:
    dst, a, b = (machine.array(accesses[name]) for name in ("dst", "data1", "data2"))
    dtype = _name(dst)
    if op in BITWISE or _exact_words(engine, dst, a, b):
        values = operate(op, to_integers(_rows(a)), to_integers(_rows(b)))
        return _write(dst, from_integers(values, dtype))
    _write(dst, from_floats(operate(op, to_floats(_rows(a)), to_floats(_rows(b))), dtype))


def _staged(values: np.ndarray, op: str, operand: np.ndarray, reverse: bool) -> np.ndarray:
    operand = np.broadcast_to(operand, values.shape).astype(values.dtype)
    return operate(op, operand, values) if reverse else operate(op, values, operand)


def tensor_scalar(
    machine: Machine, accesses: Accesses, op0: str, engine: str, operand0: Any = None,
    reverse0: bool = False, op1: str = "", operand1: Any = None, reverse1: bool = False,
) -> None:  # fmt: skip
    dst, data = machine.array(accesses["dst"]), machine.array(accesses["data"])
    stages = [(op0, "operand0", operand0, reverse0)]
    stages += [(op1, "operand1", operand1, reverse1)] if op1 else []
    given = [machine.array(accesses[name]) for _, name, _, _ in stages if name in accesses]
    whole = all(constant is None or constant == int(constant) for _, _, constant, _ in stages)
    if op0 in BITWISE or (_exact_words(engine, dst, data, *given) and whole):
        values = to_integers(_rows(data))
        for op, name, constant, reverse in stages:
            operand = np.int64(int(constant or 0)).reshape(1, 1)
            if name in accesses:
                operand = to_integers(_rows(machine.array(accesses[name])))
            values = _staged(values, op, operand, reverse)
        return _write(dst, from_integers(values, _name(dst)))
    values = to_floats(_rows(data))
    for op, name, constant, reverse in stages:
        values = _staged(values, op, _scalar(machine, accesses, name, constant), reverse)
    _write(dst, from_floats(values, _name(dst)))


def scalar_tensor_tensor(
    machine: Machine, accesses: Accesses, op0: str, op1: str, operand0: Any = None,
    reverse0: bool = False, reverse1: bool = False, **_: Any,
) -> None:  # fmt: skip
    dst = machine.array(accesses["dst"])
    values = to_floats(_rows(machine.array(accesses["data"])))
    first = _scalar(machine, accesses, "operand0", operand0)
    values = _staged(values, op0, first, reverse0)
    second = to_floats(_rows(machine.array(accesses["operand1"])))
    _write(dst, from_floats(_staged(values, op1, second, reverse1), _name(dst)))


def tensor_reduce(
    machine: Machine, accesses: Accesses, op: str, axes: int, negate: bool = False, **_: Any
) -> None:
    dst, data = machine.array(accesses["dst"]), machine.array(accesses["data"])
    groups = _rows(data).reshape(data.shape[0], -1, int(np.prod(data.shape[-axes:])))
    if op in BITWISE:
        values = to_integers(groups)
        result = values[..., 0]
        for i in range(1, values.shape[-1]):
            result = operate(op, result, values[..., i])
        return _write(dst, from_integers(result, _name(dst)))
    floats = to_floats(groups)
    if op == "add":
        result = exact_sum(floats, (2,))
    else:
        result = floats[..., 0]
        for i in range(1, floats.shape[-1]):
            result = operate(op, result, floats[..., i])
    _write(dst, from_floats(-result if negate else result, _name(dst)))


def tensor_tensor_scan(
    machine: Machine, accesses: Accesses, op0: str, op1: str, initial: Any = None,
    reverse0: bool = False, reverse1: bool = False, **_: Any,
) -> None:  # fmt: skip
    dst = machine.array(accesses["dst"])
    a, b = (to_floats(_rows(machine.array(accesses[name]))) for name in ("data0", "data1"))
    carried = np.broadcast_to(_scalar(machine, accesses, "initial", initial), (a.shape[0], 1))
    carried, result = carried[:, 0].copy(), np.empty_like(a)
    for i in range(a.shape[1]):
        step = operate(op0, carried, a[:, i]) if reverse0 else operate(op0, a[:, i], carried)
        carried = operate(op1, b[:, i], step) if reverse1 else operate(op1, step, b[:, i])
        result[:, i] = carried
    _write(dst, from_floats(result, _name(dst)))


def activation(
    machine: Machine, accesses: Accesses, op: str, scale: Any = None, bias: Any = None, **_: Any
) -> None:
    dst = machine.array(accesses["dst"])
    values = to_floats(_rows(machine.array(accesses["data"])))
    factor = _scalar(machine, accesses, "scale", 1.0 if scale is None else scale)
    values = values * factor
    if bias is not None or "bias" in accesses:
        values = values + _scalar(machine, accesses, "bias", bias)
    functions: dict[str, Callable] = {
        "copy": lambda x: x,
        "relu": lambda x: operate("relu", x, x),
        "square": lambda x: operate("square", x, x),
        "abs": abs,
    }
    _write(dst, from_floats(functions[op](values).astype(np.float32), _name(dst)))


def max8(machine: Machine, accesses: Accesses) -> None:
    dst = machine.array(accesses["dst"])
    values = to_floats(_rows(machine.array(accesses["src"])))
    if np.isnan(values).any():
        raise OrderError
    _write(dst, from_floats(-np.sort(-values, axis=1)[:, :8], _name(dst)))


def nc_matmul(machine: Machine, accesses: Accesses, accumulate: bool) -> None:
    dst = machine.array(accesses["dst"])
    a, b = (to_floats(_rows(machine.array(accesses[x]))) for x in ("stationary", "moving"))
    product = exact_product(a, b)
    if accumulate:
        product = to_floats(_rows(dst)) + product
    _write(dst, from_floats(product, _name(dst)))


def nc_transpose(machine: Machine, accesses: Accesses, **_: Any) -> None:
    dst, data = machine.array(accesses["dst"]), _rows(machine.array(accesses["data"]))
    _write(dst, data.T.copy())


def dma_transpose(machine: Machine, accesses: Accesses) -> None:
    dst, src = machine.array(accesses["dst"]), machine.array(accesses["src"])
    orders: dict[int, tuple[int, ...]] = {2: (1, 0), 3: (2, 1, 0), 4: (3, 1, 2, 0)}
    _write(dst, src.transpose(orders[src.ndim]).copy())


def nc_stream_shuffle(machine: Machine, accesses: Accesses, shuffle_mask: list) -> None:
    dst, src = machine.array(accesses["dst"]), machine.array(accesses["src"])
    values = _rows(dst).copy()
    source = _converted(_rows(src), _name(dst))
    for first in range(0, dst.shape[0], 32):
        for place, taken in enumerate(shuffle_mask):
            if taken != 255:
                values[first + place] = source[first + taken]
    _write(dst, values)


def nc_n_gather(machine: Machine, accesses: Accesses) -> None:
    dst, data, indices = (_rows(machine.array(accesses[x])) for x in ("dst", "data", "indices"))
    if indices.max() >= data.shape[1]:
        raise IndexError("an index leaves the tile")
    values = np.take_along_axis(data, indices.astype(np.int64), 1)
    _write(machine.array(accesses["dst"]), values.reshape(dst.shape))


def tensor_copy_dynamic_src(machine: Machine, accesses: Accesses, **_: Any) -> None:
    dst, src = machine.array(accesses["dst"]), machine.array(accesses["src"])
    first = int(machine.array(accesses["offset"]).reshape(-1)[0])
    if first < 0 or first + dst.shape[1] > src.shape[1]:
        raise IndexError("an offset leaves the tile")
    _write(dst, _converted(src[:, first : first + dst.shape[1]], _name(dst)))


def register_load(machine: Machine, accesses: Accesses, dst: int, **_: Any) -> None:
    machine.registers[dst] = int(machine.array(accesses["src"]).reshape(-1)[0])


def register_move(machine: Machine, accesses: Accesses, dst: int, src: int, **_: Any) -> None:
    machine.registers[dst] = src


def register_store(machine: Machine, accesses: Accesses, src: int, **_: Any) -> None:
    dst = machine.array(accesses["dst"])
    dst[...] = np.int64(machine.registers[src]).astype(dst.dtype)


INSTRUCTIONS: dict[str, Callable] = {
    function.__name__: function
    for function in (
        dma_copy, memset, iota, affine_select, tensor_copy, tensor_copy_predicated, tensor_tensor,
        tensor_scalar, scalar_tensor_tensor, tensor_reduce, tensor_tensor_scan, activation, max8,
        nc_matmul, nc_transpose, dma_transpose, nc_stream_shuffle, nc_n_gather,
        tensor_copy_dynamic_src, register_load, register_move, register_store,
    )
}  # fmt: skip
