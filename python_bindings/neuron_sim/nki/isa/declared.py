"""Functions of instructions, made from the device's declarations of their fields (device/isa).

A declaration has the names, order and defaults of the vendor's signature, or nearly; what a
parameter is follows from its name. A function is Python that is written once, when this package is
imported: tiles give their access patterns, and the builder takes all fields by position.
"""

import inspect
from ast import literal_eval
from collections.abc import Callable, Container
from functools import partial
from typing import Any

import numpy as np

from neuron_sim import _core

from . import constants
from .instruction import builder, emitted
from .operators import operand, operator_name, predicate_view
from .splitting import NotOnePattern, in_parts

_FIELDS = _core.instruction_parameters()
OPERANDS = {
    row["name"]: {operand["name"] for operand in row["operands"]}
    for row in _core.instruction_table()
}
"""Names of the operands, tiles or numbers, of each instruction."""
_OPERATORS = {"op", "op0", "op1", "reduce_op", "cmp_op", "comp_op0", "comp_op1"}
_ENUMERATIONS = {
    "engine": constants.engine,
    "reduce_cmd": constants.reduce_cmd,
    "perf_mode": constants.matmul_perf_mode,
    "dma_engine": constants.dma_engine,
}
_NUMBERS_OR_COLUMNS = {"bias", "scale", "operand0", "initial", "prob", "imm0", "imm1", "min", "max"}
_NUMBERS_OR_COLUMNS |= {"max_value", "reduce_init", "on_false", "relu_param"}
_CONVERSIONS = {
    "predicate": "predicate_view(predicate)",
    "pattern": "[(int(step), int(size)) for step, size in pattern]",
    "tile_position": "pair(tile_position, 'tile_position')",
    "tile_size": "pair(tile_size, 'tile_size')",
    "num_valid_indices": "None if num_valid_indices is None else int(num_valid_indices)",
    **{name: f"int({name})" for name in ("channel_multiplier", "send_to_rank", "recv_from_rank")},
    **{name: f"float({name})" for name in ("on_false_value", "imm", "value")},
}
"""How the builder takes parameters that no other rule covers."""


def pair(value, name):
    """(row, column) as the builder takes it, None for None and for an empty pair."""
    if value is None or (isinstance(value, (tuple, list)) and not value):
        return None
    try:
        row, column = value
        return int(row), int(column)
    except (TypeError, ValueError):
        raise TypeError(f"'{name}' is {value!r:.40}, not a pair of numbers.") from None


def _initial(value, reduce_cmd):
    """Where load_reduce starts; other commands do not read it."""
    word = constants.named(reduce_cmd, constants.reduce_cmd, "reduce_cmd")
    return None if value is None or word != "load_reduce" else operand(value)


_NAMES: dict[str, Any] = {
    "builder": builder, "emitted": emitted, "emit_plain": _core.emit_plain, "operand": operand,
    "named": constants.named, "operator_name": operator_name, "predicate_view": predicate_view,
    "pair": pair, "initial_value": _initial, "in_parts": in_parts, "NotOnePattern": NotOnePattern,
    "partial": partial, "__name__": __name__,  # for the cache of programs, which trusts this module
    **{f"members_of_{name}": members for name, members in _ENUMERATIONS.items()},
}  # fmt: skip


class _Maker:
    """Writes the function of one instruction."""

    def __init__(self, name: str, order: str, conversions: dict[str, str]):
        self.name = name
        self.fields = {field: (required, default) for field, required, default in _FIELDS[name]}
        self.conversions = conversions
        words = order.split() or [field for field in self.fields if field != "engine"]
        self.defaults: dict[str, Any] = {}
        self.parameters = [self._parameter(word) for word in words]

    def _parameter(self, word: str) -> str:
        """A name; `name!` has no default, `name=value` another one than the device's."""
        name, _, own = word.rstrip("!").partition("=")
        required, default = self.fields[name]
        if own or not (required or word.endswith("!")):
            members = _ENUMERATIONS.get(name)
            if members is not None:
                words = {constants.named(each, members, name): each for each in members}
                self.defaults[name] = members[own] if own else words[default]
            elif own:
                self.defaults[name] = literal_eval(own)
            else:
                is_operator = name in _OPERATORS
                self.defaults[name] = getattr(np, default, None) if is_operator else default
        return name

    def kind(self, field: str) -> str:
        """'o' an operator, 'n' a number or a column, 't' a tile, 'f' a flag, '?' anything else."""
        required, default = self.fields[field]
        if field in _OPERATORS:
            return "o"
        if field in _NUMBERS_OR_COLUMNS or field == "operand1" and not required:
            return "n"
        if field in OPERANDS[self.name]:
            return "t"
        return "f" if isinstance(default, bool) else "?"

    def argument(self, field: str) -> str:
        """The builder's argument for a field."""
        required, default = self.fields[field]
        kind = self.kind(field)
        if field not in self.parameters:
            return repr(default)
        if field in self.conversions:
            return self.conversions[field]
        if field in _ENUMERATIONS:
            return f"named({field}, members_of_{field}, '{field}')"
        if kind == "o":
            return f"operator_name({field}, '{field}')"
        if kind == "n":
            return f"{self._zero_for_none(field)}operand({field})"
        if field in _CONVERSIONS:
            return _CONVERSIONS[field]
        if kind == "t":
            return f"{field}.access" if required else f"getattr({field}, 'access', {field})"
        number_type = {bool: "bool", int: "int"}.get(type(default))
        return f"{number_type}({field})" if number_type else field

    def default(self, field: str) -> str:
        """The default of a parameter as an expression."""
        value = self.defaults[field]
        return repr(value) if value is None or isinstance(value, bool) else f"default_{field}"

    def _zero_for_none(self, field: str) -> str:
        is_optional = self.kind(field) == "n" and self.fields[field] == (False, None)
        return f"0.0 if {field} is None else " if is_optional else ""

    def plain(self, count: int) -> str:
        """The call with `count` operands as they are, when all the others have their defaults."""
        given = list(self.fields)[:count]
        rest = [field for field in self.parameters if field not in given]
        kinds = "".join(self.kind(field) for field in given)
        operands = ", ".join(f"{self._zero_for_none(field)}{field}" for field in given)
        call = f"emit_plain(instruction, name, {kinds!r}, {operands})"
        test = " and ".join(f"{field} is {self.default(field)}" for field in rest) or "True"
        return (
            f"    if {test}:\n        handle = {call}\n"
            "        if handle is not None:\n            return handle\n"
        )

    def source(self, plain: int, splits: bool) -> str:
        """The function as Python."""
        parameters = [
            f"{name}={self.default(name)}" if name in self.defaults else name
            for name in self.parameters
        ]
        arguments = ", ".join(self.argument(field) for field in self.fields)
        call = f"builder().{self.name}({arguments})"
        body, emit = f"    {call}\n", ""
        if splits:
            tiles = [each for each in self.parameters if self.kind(each) == "t"]
            others = [each for each in self.parameters if each not in tiles]
            reduces = " or ".join(
                f"{each} is not {self.default(each)}"
                for each in self.parameters
                if each.startswith("reduce_")
            )
            body = (
                f"    try:\n        {call}\n    except NotOnePattern as error:\n"
                + (f"        if {reduces}:\n            raise\n" if reduces else "")
                + f"        emit_parts = partial({', '.join(['emit', *others])})\n"
                f"        in_parts(emit_parts, {', '.join(tiles)}, otherwise=error)\n"
            )
            emit = f"def emit({', '.join(others + tiles)}):\n    {call}\n"
        return (
            f"{emit}def {self.name}({', '.join([*parameters, 'name=None'])}):\n"
            f"{self.plain(plain) if plain else ''}{body}    return emitted(name)\n"
        )


def _made(name: str, text: str, order: str, plain, splits, conversions) -> Callable[..., Any]:
    maker = _Maker(name, order, conversions)
    instruction, count = plain or (None, 0)
    names = _NAMES | {f"default_{key}": value for key, value in maker.defaults.items()}
    names["instruction"] = instruction
    # Named after this file: errors are shown at the kernel's line.
    exec(compile(maker.source(count, splits), __file__, "exec"), names)
    function = names[name]
    function.__doc__ = text
    return function


def declared(order: str = "", plain=None, splits: bool = False, **conversions: str):
    """Makes a function, which has a name and a text only, that of an instruction.

    order: names of the parameters in the vendor's order, where it is not the device's, with
    `name!` for one that must be given and `name=value` for another default; `engine` is a parameter
    only where it is named. plain: (Instruction, how many fields it takes), for a call of those
    alone that needs no View. splits: tiles that no access pattern names take several instructions.
    conversions: how the builder takes a parameter, as an expression.
    """

    def make(function) -> Callable[..., Any]:
        return _made(function.__name__, function.__doc__, order, plain, splits, conversions)

    return make


def annotation_of(parameter: inspect.Parameter) -> str:
    """The type of a parameter of nki.isa, of either language, as an annotation."""
    name, default = parameter.name, parameter.default
    if name in _ENUMERATIONS or hasattr(default, "builder_name"):
        return _ENUMERATIONS[name].__name__ if name in _ENUMERATIONS else type(default).__name__
    if name in _OPERATORS:
        return "Callable[..., Any] | None"
    if name in _NUMBERS_OR_COLUMNS or name == "operand1":
        return "Tensor | float | None"
    if isinstance(default, bool | int | float) or default == ():
        return type(default).__name__
    kind = "Tensor" if any(name in operands for operands in OPERANDS.values()) else "Any"
    kind = "str" if name == "name" else kind
    return f"{kind} | None" if default is None and kind != "Any" else kind


def functions_besides(known: Container[str]) -> dict[str, Callable[..., Any]]:
    """By name, the functions of all other instructions with declared fields."""
    return {
        name: _made(
            name, f"Emits {name}: docs/instructions.md says what it computes.", "", None, False, {}
        )
        for name in OPERANDS
        if name in _FIELDS and name not in known
    }
