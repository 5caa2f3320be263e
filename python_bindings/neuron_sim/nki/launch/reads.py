"""Which names a code object reads from outside of itself."""

import dis
import inspect
from types import CodeType
from typing import Any

from .purity import (
    ADDRESS_OPCODES,
    DUNDER_ATTRIBUTES,
    FORMATTING_ATTRIBUTES,
    IGNORED_OPCODES,
    IMPURE_ATTRIBUTES,
    OPCODES,
)


class NotPure(Exception):
    """A kernel may depend on more than its key: its program is not kept."""


class Reads:
    """Reads of a code object and of the functions in it.

    `names`: (whether it is a cell of the closure, name, attributes read from it at once).
    `imports`: (module, attributes read from it). `formats`: it may turn objects
    into text, or sets into sequences.
    """

    __slots__ = ("code", "names", "imports", "formats")

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.names: list = []
        self.imports: list = []
        self.formats = False
        _scan(code, frozenset(code.co_freevars), self)
        self.names = list(dict.fromkeys(self.names))
        self.imports = list(dict.fromkeys(self.imports))


_known: dict[int, tuple[CodeType, Reads | None, str]] = {}  # by id; why the code is not pure


def reads_of(code: CodeType) -> Reads:
    """The reads of a code object; NotPure when they cannot be determined."""
    known = _known.get(id(code))
    if known is None:
        try:
            known = (code, Reads(code), "")
        except NotPure as error:
            known = (code, None, str(error))
        _known[id(code)] = known
    _, reads, reason = known
    if reads is None:
        raise NotPure(reason)
    return reads


def _scan(code: CodeType, free: frozenset, reads: Reads) -> None:
    steps = [each for each in dis.get_instructions(code) if each.opname not in IGNORED_OPCODES]
    modules = _local_modules(code, steps, reads)
    for position, step in enumerate(steps):
        name = step.opname
        if name not in OPCODES:
            raise NotPure(f"'{code.co_name}' uses {name}")
        if name in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"):
            _check_attribute(code, step.argval)
            reads.formats |= step.argval in FORMATTING_ATTRIBUTES
        elif name == "LOAD_GLOBAL":
            reads.names.append((False, step.argval, _attributes(steps, position)))
        elif name == "LOAD_DEREF" and step.argval in free:
            reads.names.append((True, step.argval, _attributes(steps, position)))
        elif name == "STORE_DEREF" and step.argval in free:
            raise NotPure(f"'{code.co_name}' assigns to the outer variable '{step.argval}'")
        elif name == "LOAD_FAST" and step.argval in modules:
            path = _attributes(steps, position)
            reads.imports.append((modules[step.argval][0], modules[step.argval][1] + path))
        elif name in ADDRESS_OPCODES or (name == "BINARY_OP" and step.argrepr.startswith("%")):
            reads.formats = True
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _scan(constant, free, reads)


def _check_attribute(code: CodeType, name: str) -> None:
    special = name.startswith("__") and name.endswith("__") and name not in DUNDER_ATTRIBUTES
    if special or name in IMPURE_ATTRIBUTES:
        raise NotPure(f"'{code.co_name}' reads the attribute {name}")


def _attributes(steps: list, position: int) -> tuple:
    """The attributes that the steps after a load read from it, as a chain."""
    names = []
    for step in steps[position + 1 :]:
        if step.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        names.append(step.argval)
    return tuple(names)


def _local_modules(code: CodeType, steps: list, reads: Reads) -> dict:
    """Local variables that imports in the code assign: name -> (module, attributes)."""
    found: dict = {}
    for position, step in enumerate(steps):
        if step.opname != "IMPORT_NAME":
            continue
        if steps[position - 2].argval != 0:
            raise NotPure(f"'{code.co_name}' has a relative import")
        reads.imports.append((step.argval, None))
        target = steps[position + 1]
        if target.opname == "STORE_FAST":  # import a.b
            found[target.argval] = (step.argval.split(".")[0], ())
        elif steps[position - 1].argval is None:  # import a.b as c
            target = _stored(code, steps, position + 1)
            found[target.argval] = (step.argval, ())
        else:  # from a import b as c, d
            for number in range(len(steps[position - 1].argval)):
                source = steps[position + 1 + 2 * number]
                target = _stored(code, steps, position + 2 + 2 * number)
                found[target.argval] = (step.argval, (source.argval,))
    for name in found:
        stores = [each for each in steps if each.opname in _ASSIGNING and each.argval == name]
        if len(stores) != 1 or name in code.co_varnames[: _parameters(code)]:
            raise NotPure(f"'{code.co_name}' assigns to '{name}', which it imports")
    return found


_ASSIGNING = ("STORE_FAST", "DELETE_FAST", "STORE_DEREF", "MAKE_CELL")


def _parameters(code: CodeType) -> int:
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return code.co_argcount + code.co_kwonlyargcount + stars


def _stored(code: CodeType, steps: list, position: int) -> Any:
    """The first step from `position` that is not of an import itself: a STORE_FAST."""
    while steps[position].opname in ("IMPORT_FROM", "SWAP", "POP_TOP"):
        position += 1
    if steps[position].opname != "STORE_FAST":
        raise NotPure(f"'{code.co_name}' has an import that is not to a local variable")
    return steps[position]
