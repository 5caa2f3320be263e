"""Which names a function reads from outside of itself."""

import ast
from types import CodeType, FunctionType
from typing import Any, cast

from ..syntax.names import Use, outer_uses, parameters, uses_within
from ..syntax.source import Syntax, syntax_of
from .purity import DUNDER_ATTRIBUTES, FORMATTING_ATTRIBUTES, IMPURE_ATTRIBUTES, UNDERSTOOD


class NotPure(Exception):
    """A kernel may depend on more than its key: its program is not kept."""


class Reads:
    """Reads of a function and of the functions in it.

    `names`: (whether it is a cell of the closure, name, attributes read from it at once).
    `imports`: (module, attributes read from it). `formats`: it may turn objects
    into text, or sets into sequences.
    """

    __slots__ = ("code", "names", "imports", "formats")

    def __init__(self, code: CodeType, syntax: Syntax) -> None:
        self.code = code
        function: Any = syntax.function
        body = [function.body] if isinstance(function, ast.Lambda) else function.body
        nodes = [node for each in body for node in ast.walk(each)]
        for node in (function, *nodes):
            _check(code, node)
        self.formats = any(_formats(syntax, node) for node in nodes)
        names: list = [(True, "__class__", ())] if "__class__" in code.co_freevars else []
        for use in outer_uses(function):
            if use.stores:
                raise NotPure(f"'{code.co_name}' assigns to the outer variable '{use.name}'")
            is_cell = use.name in code.co_freevars and use.declared != "global"
            names.append((is_cell, use.name, _attributes(syntax, use)))
        self.names = list(dict.fromkeys(names))
        scopes = [each for each in (function, *nodes) if isinstance(each, ast.FunctionDef)]
        imports = [read for each in scopes for read in _imports(syntax, each)]
        self.imports = list(dict.fromkeys(imports))


_known: dict[int, tuple[CodeType, Reads | None, str]] = {}  # by id; why the code is not pure


def reads_of(function: FunctionType) -> Reads:
    """The reads of a function; NotPure when they cannot be determined."""
    code = function.__code__
    known = _known.get(id(code))
    if known is None:
        try:
            syntax = syntax_of(code, function.__globals__)
            if syntax is None or not syntax.is_exact:
                raise NotPure(f"the source of '{code.co_name}' is not known")
            known = (code, Reads(code, syntax), "")
        except NotPure as error:
            known = (code, None, str(error))
        _known[id(code)] = known
    _, reads, reason = known
    if reads is None:
        raise NotPure(reason)
    return reads


def _check(code: CodeType, node: ast.AST) -> None:
    """NotPure for syntax, an attribute or a name whose effect is not understood."""
    is_asynchronous = isinstance(node, ast.comprehension) and node.is_async
    deletes = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Del)
    if not isinstance(node, UNDERSTOOD) or is_asynchronous or deletes:
        raise NotPure(f"'{code.co_name}' uses {type(node).__name__}")
    name = getattr(node, "id", None) or (node.name if isinstance(node, ast.alias) else "")
    if _is_private(name):
        raise NotPure(f"'{code.co_name}' uses {name}, whose name depends on its class")
    read = [node.attr] if isinstance(node, ast.Attribute) else []
    for name in (*read, *getattr(node, "kwd_attrs", ())):  # of a pattern of `match`
        special = name.startswith("__") and name.endswith("__") and name not in DUNDER_ATTRIBUTES
        if special or name in IMPURE_ATTRIBUTES:
            raise NotPure(f"'{code.co_name}' reads the attribute {name}")


def _formats(syntax: Syntax, node: ast.AST) -> bool:
    """Whether a node may turn objects into text, or sets into sequences."""
    if isinstance(node, ast.BinOp | ast.AugAssign):
        return isinstance(node.op, ast.Mod)
    if isinstance(node, ast.Attribute):
        return node.attr in FORMATTING_ATTRIBUTES
    if isinstance(node, ast.Set) and isinstance(syntax.parent(node), ast.Compare):
        return not all(isinstance(each, ast.Constant) for each in node.elts)
    return isinstance(node, ast.FormattedValue | ast.Set | ast.SetComp)


def _is_private(name: str) -> bool:
    """Whether Python puts the name of the class around it before it."""
    return name.startswith("__") and not name.endswith("__")


def _attributes(syntax: Syntax, use: Use) -> tuple:
    """The attributes that are read from a name at once, as a chain."""
    names = []
    node = syntax.parent(use.node)
    while isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        if _is_private(node.attr):
            break
        names.append(node.attr)
        node = syntax.parent(node)
    return tuple(names)


def _imports(syntax: Syntax, function: ast.FunctionDef) -> list[tuple[str, tuple | None]]:
    """What a function reads of the modules that it imports: (module, attributes)."""
    inside = uses_within(function)
    found: list[tuple[str, tuple | None]] = []
    for stored in inside:
        alias, name = stored.node, stored.name
        if not isinstance(alias, ast.alias):
            continue
        statement = syntax.parent(alias)
        module, path = alias.name, cast("tuple[str, ...]", ())
        if isinstance(statement, ast.ImportFrom):
            module, path = statement.module or "", (alias.name,)
        if getattr(statement, "level", 0):
            raise NotPure(f"'{function.name}' has a relative import")
        same = [each for each in inside if each.name == name]
        changes = stored.declared or sum(each.stores for each in same) > 1
        if changes or name in parameters(function):
            raise NotPure(f"'{function.name}' assigns to '{name}', which it imports")
        found.append((module, None))
        if not path and alias.asname is None:  # import a.b
            module = module.split(".")[0]
        found += [(module, path + _attributes(syntax, each)) for each in same if not each.stores]
    return found
