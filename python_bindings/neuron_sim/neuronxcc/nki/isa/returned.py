"""Instructions of the older language, made from those of nki.isa of the same name.

They take the same operands, but for dst, which they return; `mask` is what takes part, `dtype` that
of the result. Names of operands and their defaults stand in nki.isa alone.
"""

import inspect
from collections.abc import Callable
from typing import Any

from neuron_sim.nki import isa as later
from neuron_sim.nki.isa.declared import OPERANDS
from neuron_sim.nki.tracing import Tensor, boxes, current, dtype_of, promote

from .results import in_place, refuse, result
from .scalar_operands import per_partition


def _part(tile, box, shape):
    """What a box of operands of `shape` is of a tile with some of their dimensions."""
    if not isinstance(tile, Tensor) or box is None:
        return tile
    if len(tile.shape) != len(shape):
        return tile.narrow((box[0], *((0, size) for size in tile.shape[1:])))
    sizes = zip(tile.shape, shape, box, strict=True)
    return tile.narrow(tuple([part if size == whole else (0, size) for size, whole, part in sizes]))


def reduced(data, shape, dtype, default, mask, emit, *tiles):
    """The tile of `shape` of emit(dst, *tiles), where `mask` narrows `data`, and the others in the
    dimensions that they share with it."""
    cut = None if mask is None else boxes(mask, tuple(data.shape))

    def write(dst):
        for box in (None,) if cut is None else cut:
            emit(*[_part(tile, box, data.shape) for tile in (dst, *tiles)])

    wanted = default if dtype is None else dtype_of(dtype)
    return current().result(shape, wanted, "sbuf", write, explicit=dtype is not None)


_NAMES: dict[str, Any] = {
    "refuse": refuse, "result": result, "reduced": reduced, "in_place": in_place,
    "per_partition": per_partition, "dtype_of": dtype_of, "promote": promote,
}  # fmt: skip


def returned(positional: int = 0, *, order="", shape="", dtype="", check="", **defaults):
    """Makes a function, which has a name and a text only, the older form of an instruction.

    positional: how many operands may be given without their names. order: names of the parameters
    where they are not those of nki.isa without dst; `name!` for one that must be given. With dst,
    it is written in place. shape, dtype: of the result, as expressions of the parameters; those of
    the first operand unless given. check: an expression that refuses operands. defaults: where they
    are not those of nki.isa.
    """

    def make(function) -> Callable[..., Any]:
        name = function.__name__
        parameters = inspect.signature(getattr(later, name)).parameters
        words = order.split() or [each for each in parameters if each not in ("dst", "name")]
        names = function.__globals__ | _NAMES | {"instruction": getattr(later, name)}
        head = []
        for word in words:
            each = word.rstrip("!")
            names[f"default_{each}"] = default = defaults.get(each, parameters[each].default)
            is_required = word.endswith("!") or default is inspect.Parameter.empty
            head.append(each if is_required else f"{each}=default_{each}")
        head.insert(positional, "*")
        source = _source(name, head, [word.rstrip("!") for word in words], shape, dtype, check)
        exec(compile(source, __file__, "exec"), names)
        names[name].__doc__ = function.__doc__
        return names[name]

    return make


def _source(
    name: str, head: list[str], words: list[str], shape: str, dtype: str, check: str
) -> str:
    """The function as Python."""
    tiles = [each for each in words if each in OPERANDS[name]]
    first = next(tile for tile in tiles if tile != "dst")
    arguments = ", ".join(f"{each}={each}" for each in words if each != "dst")
    given = [f"per_partition({tile})" if tile == "operand0" else tile for tile in tiles]
    default = dtype or f"{first}.dtype"
    if "dst" in words:
        emitted, made = ", ".join(tiles), f"in_place(dst.shape, mask, emit, {', '.join(given)})"
    else:
        emitted = ", ".join(["dst", *tiles])
        whole = f"reduced({first}, {shape}" if shape else f"result({first}.shape"
        made = f"return {whole}, dtype, {default}, mask, emit, {', '.join(given)})"
    return (
        f"def {name}({', '.join(head)}, mask=None, dtype=None, **kwargs):\n"
        f"    if kwargs:\n        refuse({name!r}, kwargs)\n    {check}\n"
        f"    def emit({emitted}):\n        instruction(dst=dst, {arguments})\n    {made}\n"
    )
