"""The names that nodes of a syntax tree read and assign, in the order in which Python does."""

import ast
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_ORDERS: dict[type, tuple[str, ...]] = {  # for nodes whose fields are in another order
    ast.Assign: ("value", "targets"),
    ast.AnnAssign: ("value", "target"),  # the annotation is not evaluated in functions
    ast.NamedExpr: ("value", "target"),
    ast.For: ("iter", "target", "body", "orelse"),
    ast.AsyncFor: ("iter", "target", "body", "orelse"),
    ast.comprehension: ("iter", "target", "ifs"),
    ast.ListComp: ("generators", "elt"),
    ast.SetComp: ("generators", "elt"),
    ast.GeneratorExp: ("generators", "elt"),
    ast.DictComp: ("generators", "key", "value"),
}


class Use(NamedTuple):
    """A name where it is read, or where `stores`: assigned or deleted.

    `node`: its ast.Name, or what else binds it. `declared`: "global" or "nonlocal" for a name of
    which a statement says so.
    """

    name: str
    node: ast.AST
    stores: bool
    declared: str = ""


def uses(nodes: Iterable[ast.AST]) -> Iterator[Use]:
    """The names that nodes use in their scope. What functions in it read counts at their `def`."""
    for node in nodes:
        yield from _uses(node)


def uses_within(function: Function) -> list[Use]:
    """The names that the body of a function uses, both local ones and those of outer scopes."""
    declared = {
        name: type(node).__name__.lower()
        for node in own_nodes(function)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }
    return [
        each._replace(declared=each.declared or declared.get(each.name, ""))
        for each in uses(_body(function))
    ]


def outer_uses(function: Function) -> list[Use]:
    """The names of outer scopes that the body of a function uses."""
    inside = uses_within(function)
    own = {each.name for each in inside if each.stores and not each.declared}
    own |= parameters(function)
    return [each for each in inside if each.declared == "global" or each.name not in own]


def parameters(function: Function) -> set[str]:
    """The names of a function's parameters."""
    listed = [*ast.iter_child_nodes(function.args)]
    return {each.arg for each in listed if isinstance(each, ast.arg)}


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in the body of a function or statement, without the bodies of functions in it."""
    for child in _body(node) if isinstance(node, Function) else ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, Function | ast.ClassDef):
            yield from own_nodes(child)


def _body(function: Function) -> list[Any]:
    return [function.body] if isinstance(function, ast.Lambda) else function.body


def _uses(node: ast.AST) -> Iterator[Use]:
    if isinstance(node, ast.Name):
        yield Use(node.id, node, not isinstance(node.ctx, ast.Load))
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            yield Use(node.target.id, node.target, False)
        yield from uses((node.value, node.target))
    elif isinstance(node, _COMPREHENSIONS):
        yield from _of_comprehension(node)
    elif isinstance(node, Function | ast.ClassDef):
        yield from _of_definition(node)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield Use(alias.asname or alias.name.split(".")[0], alias, True)
    elif not isinstance(node, ast.Global | ast.Nonlocal):
        for field in _ORDERS.get(type(node), node._fields):
            value = getattr(node, field, None)
            if field in ("name", "rest") and isinstance(value, str):  # of `except` and `match`
                yield Use(value, node, True)
            elif isinstance(value, ast.AST):
                yield from _uses(value)
            elif isinstance(value, list):
                yield from uses(each for each in value if isinstance(each, ast.AST))


def _of_comprehension(node: Any) -> Iterator[Use]:
    """Its variables are its own; those of `:=` in it are not."""
    first, *others = node.generators
    targets = [each.target for each in node.generators]
    own = {each.name for each in uses(targets) if each.stores}
    yield from _uses(first.iter)
    values = [getattr(node, field) for field in _ORDERS[type(node)][1:]]
    inside = uses((first.target, *first.ifs, *others, *values))
    yield from (each for each in inside if each.declared == "global" or each.name not in own)


def _of_definition(node: Any) -> Iterator[Use]:
    yield from uses(getattr(node, "decorator_list", ()))
    if isinstance(node, ast.ClassDef):
        yield from uses((*node.bases, *node.keywords))
        # Its own variables are those of its body alone, where outer ones of that name may be read.
        yield from (each for each in uses(node.body) if not each.stores or each.declared)
    else:
        yield from _uses(node.args)
        if getattr(node, "returns", None) is not None:
            yield from _uses(node.returns)
        yield from outer_uses(node)
    if not isinstance(node, ast.Lambda):
        yield Use(node.name, node, True)
