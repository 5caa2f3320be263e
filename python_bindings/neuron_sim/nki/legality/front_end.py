"""What the vendor's parser of kernels refuses, judged on the syntax tree before anything runs.

The kernel is judged, and every plain function that it calls, as their names resolve now.
"""

import ast
import builtins
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from neuron_sim.settings import nki_version

from ..syntax.source import syntax_of
from .violations import Violation

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_STATEMENTS: tuple[tuple[tuple[type[ast.AST], ...], str], ...] = (
    ((*_COMPREHENSIONS, ast.Lambda), "PY-COMP"),
    ((ast.Raise,), "PY-RAISE"),
    ((ast.Try, ast.TryStar), "PY-TRY"),
    ((ast.Import, ast.ImportFrom), "PY-IMPORT"),
    ((ast.Delete, ast.Global, ast.Nonlocal, ast.Match, ast.ClassDef), "PY-STMT"),
    ((ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await), "PY-STMT"),
)
_BUILT_IN = frozenset(
    "abs all any bool dict divmod enumerate float getattr hasattr int isinstance len list map max "
    "min pow print range reversed round set slice sorted str sum tuple type zip".split()
)
"""Those that kernels of nki-library call, and their like."""

_SINCE = {
    **dict.fromkeys(("exponential",), "0.3"),
    **dict.fromkeys(("abs_max", "abs_min", "activate2", "prelu"), "0.4"),
    **dict.fromkeys(("fori_loop", "while_loop", "topk", "all_gather_v"), "0.6"),
    **dict.fromkeys(("all_gather_v_prepare", "all_gather_v_trigger"), "0.7"),
    **dict.fromkeys(("all_to_all_v_prepare", "all_to_all_v_trigger"), "0.7"),
}
"""Functions of the language that its release notes call new, by version."""

_CALLS = {"ParDim": "NM-GONE", "mod": "EN-MOD", "rms_norm": "SH-LIBBCAST"}
"""Functions of nki.language, by their names here."""

_WITH_BODIES = ("fori_loop", "while_loop")
_FOREIGN = frozenset(("neuron_sim", "numpy", "torch", "ml_dtypes", *sys.stdlib_module_names))
_MISSING = object()


def violations(kernel: Any) -> Iterator[Violation]:
    """What a function and those that it calls break; nothing where the source is unknown."""
    pending, known = [kernel], set()
    while pending:
        function = pending.pop()
        tree = _tree(function)
        if tree is None or function.__code__ in known:
            continue
        known.add(function.__code__)
        yield from _of_function(function, tree, is_kernel=function is kernel)
        pending += reversed([*_callees(function, tree)])


def _tree(function: Any) -> ast.FunctionDef | None:
    """The tree of a function of the user; None of anything else."""
    if type(function) is not FunctionType:
        return None
    if (function.__module__ or "").partition(".")[0] in _FOREIGN:
        return None
    syntax = syntax_of(function.__code__, function.__globals__)
    tree = None if syntax is None else syntax.function
    return tree if isinstance(tree, ast.FunctionDef) else None


def _of_function(function: Any, tree: ast.FunctionDef, is_kernel: bool) -> Iterator[Violation]:
    file = function.__code__.co_filename

    def broken(rule: str, node: Any, detail: str = "") -> Violation:
        return Violation(rule, f"{file}:{node.lineno}", detail)

    if tree.args.kwonlyargs:
        yield broken("PY-KWONLY", tree.args.kwonlyargs[0], f"'{tree.args.kwonlyargs[0].arg}'")
    if function.__code__.co_freevars:
        free = ", ".join(function.__code__.co_freevars)
        yield broken("PY-GLOBALNAMES", tree, f"'{tree.name}' is a closure of {free}")
    if is_kernel:
        for decorator in tree.decorator_list:
            if isinstance(decorator, ast.Call) and "platform_target" in [
                k.arg for k in decorator.keywords
            ]:
                yield broken("PY-JITKW", decorator)
    bodies = _bodies_of_loops(tree)
    nodes = [node for statement in tree.body for node in _within(statement)]
    for node in sorted(nodes, key=lambda at: getattr(at, "lineno", 0)):
        if rule := _rule_of(node, bodies):
            yield broken(rule, node, _detail(node))
        if isinstance(node, ast.For) and _dynamic_scope(node, bodies) is not None:
            yield broken("LO-DYNGONE", node, _detail(node))
        if (scope := _dynamic_scope(node, bodies)) is not None:
            for use in _within(node):
                if isinstance(use, ast.BinOp | ast.Compare) and scope in _operands(use):
                    yield broken("LO-DYNVAR", use, f"`{ast.unparse(use)[:60]}`")
    names = [node for node in nodes if isinstance(node, ast.Name)]
    inner = {node.arg for node in nodes if isinstance(node, ast.arg)}
    inner |= {name.id for name in names if not isinstance(name.ctx, ast.Load)}
    for name in names:
        if name.id not in inner and _is_unknown(function, name.id):
            yield broken("PY-BUILTIN", name, f"'{name.id}'")
    for node in nodes:
        if isinstance(node, ast.Call):
            called = _value(function, node.func)
            label = getattr(called, "__name__", "")
            if str(getattr(called, "__module__", "")).startswith("neuron_sim.nki."):
                if label in _CALLS:
                    yield broken(_CALLS[label], node)
                if nki_version() < (since := _SINCE.get(label, "")):
                    yield broken("NM-LATER", node, f"'{label}' is new in {since}")


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all nodes in it that run: not those of annotations."""
    yield node
    for name, value in ast.iter_fields(node):
        if name not in ("annotation", "returns"):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _within(child)


def _rule_of(node: ast.AST, bodies: set[str]) -> str:
    """The rule that a node breaks by what it is; "" of most."""
    for kinds, rule in _STATEMENTS:
        if isinstance(node, kinds):
            return rule
    if isinstance(node, ast.FunctionDef):
        return "" if node.name in bodies else "PY-INNERDEF"
    if isinstance(node, ast.With):
        ordered = all("no_reorder" in ast.unparse(item.context_expr) for item in node.items)
        return "" if ordered else "PY-WITH"
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        return "PY-FSPEC"
    if isinstance(node, ast.For) and not isinstance(node.target, ast.Name):
        return "PY-TUPFOR"
    if isinstance(node, ast.Assign):
        unpacked = [target for target in node.targets if isinstance(target, ast.Tuple | ast.List)]
        inside = [inner for target in unpacked for inner in ast.walk(target)]
        return "PY-SUBUNPACK" if any(isinstance(inner, ast.Subscript) for inner in inside) else ""
    return ""


def _dynamic_scope(node: ast.AST, bodies: set[str]) -> str | None:
    """The variable of a loop on chip, for a `for` or the body of one; None of anything else."""
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        called = node.iter.func if isinstance(node.iter, ast.Call) else node.iter
        is_dynamic = ast.unparse(called).rpartition(".")[2] == "dynamic_range"
        return node.target.id if is_dynamic else None
    if isinstance(node, ast.FunctionDef) and node.name in bodies and node.args.args:
        return node.args.args[0].arg
    return None


def _operands(node: ast.AST) -> set[str]:
    return {child.id for child in ast.iter_child_nodes(node) if isinstance(child, ast.Name)}


def _detail(node: ast.AST) -> str:
    """What a node is, for messages: rules about several statements do not say it."""
    if isinstance(node, ast.stmt | ast.Lambda):
        return f"`{ast.unparse(node).splitlines()[0][:60]}`"
    return ""


def _bodies_of_loops(tree: ast.FunctionDef) -> set[str]:
    """Names of functions that are given to fori_loop or while_loop and not called."""
    given: set[str] = set()
    called: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                called.add(node.func.id)
            if ast.unparse(node.func).rpartition(".")[2] in _WITH_BODIES:
                values = [*node.args, *(keyword.value for keyword in node.keywords)]
                given |= {value.id for value in values if isinstance(value, ast.Name)}
    return given - called


def _callees(function: Any, tree: ast.FunctionDef) -> Iterator[Any]:
    """The functions that a function calls by a name that it does not assign."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = _value(function, node.func)
            yield getattr(called, "func", called)  # of a kernel


def _value(function: Any, node: ast.expr) -> Any:
    """What a name or an attribute of one is now, `_MISSING` for what only running it tells."""
    if isinstance(node, ast.Attribute):
        value = _value(function, node.value)
        if not isinstance(value, ModuleType | type):
            return _MISSING
        try:
            return getattr(value, node.attr, _MISSING)
        except Exception:  # of a module that makes its attributes; the kernel will raise it
            return _MISSING
    if not isinstance(node, ast.Name) or node.id in _locals(function):
        return _MISSING
    return function.__globals__.get(node.id, getattr(builtins, node.id, _MISSING))


def _locals(function: Any) -> tuple[str, ...]:
    """Names of a function that are neither global nor built in."""
    code = function.__code__
    return code.co_varnames + code.co_cellvars + code.co_freevars


def _is_unknown(function: Any, name: str) -> bool:
    """Whether a name is a built-in function that the parser does not resolve."""
    if name in function.__globals__ or name in _locals(function):
        return False
    value = getattr(builtins, name, None)
    is_error = isinstance(value, type) and issubclass(value, BaseException)
    return callable(value) and name not in _BUILT_IN and not is_error
