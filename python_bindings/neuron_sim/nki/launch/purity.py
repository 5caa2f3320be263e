"""Known to be pure: builtins, functions of NumPy and of the standard library, syntax.

A kernel that uses anything else is traced at every call. The lists may be too short, never too
long: an entry returns the same for the same arguments, and changes nothing but its arguments.
"""

import ast
import builtins
import functools
import itertools
import math
import operator
import os
import sys
from typing import Any

import numpy as np

_BUILTINS = """
abs all any bin bool bytes callable chr complex dict divmod enumerate filter float format frozenset
hasattr hex int isinstance issubclass iter len list map max min next object oct ord pow range repr
reversed round set slice sorted str sum super tuple type zip Ellipsis NotImplemented
""".split()

# Without functions that draw numbers, read files, print, or leave memory unwritten.
_NUMPY = """
all allclose amax amin any append arange argmax argmin argsort argwhere array array_equal
asarray ascontiguousarray atleast_1d atleast_2d block broadcast_shapes broadcast_to ceil clip
column_stack concatenate copy cumprod cumsum diag diff dot dstack einsum expand_dims eye flip floor
full full_like gcd hstack identity indices isclose iinfo finfo lcm linspace logspace matmul max mean
median meshgrid min moveaxis ndim nonzero ones ones_like outer pad prod ravel repeat reshape
result_type roll rollaxis rot90 round searchsorted shape size sort split squeeze stack std sum
swapaxes take tile trace transpose tri tril triu unique unravel_index var vstack where zeros
zeros_like dtype issubdtype isscalar promote_types can_cast
""".split()

_OPERATOR = """
abs add and_ concat contains countOf eq floordiv ge getitem gt iadd imul index indexOf inv invert
is_ is_not isub itemgetter le lshift lt matmul mod mul ne neg not_ or_ pos pow rshift sub truediv
truth xor
""".split()

_ITERTOOLS = """
accumulate chain combinations combinations_with_replacement compress count cycle dropwhile
filterfalse groupby islice pairwise permutations product repeat starmap takewhile zip_longest
""".split()


def _all_pure() -> dict:
    found = [getattr(builtins, name) for name in _BUILTINS]
    found += [each for each in vars(builtins).values()
              if isinstance(each, type) and issubclass(each, BaseException)]  # fmt: skip
    found += [getattr(np, name) for name in _NUMPY if hasattr(np, name)]
    found += [each for each in vars(np).values()
              if isinstance(each, type) and issubclass(each, np.generic)]  # fmt: skip
    found += [each for each in vars(math).values() if callable(each)]
    found += [getattr(operator, name) for name in _OPERATOR]
    found += [getattr(itertools, name) for name in _ITERTOOLS]
    found += [functools.reduce, functools.partial, os.getenv, os.environ]
    return {id(each): each for each in found}


PURE = _all_pure()
"""Pure objects by id. The environment is one of them because every key has its contents."""

SHOWING_ADDRESSES = {id(each) for each in (str, repr, format, set, frozenset)}
"""Those whose results may depend on the addresses of objects: texts, and the order of sets."""

UNDERSTOOD = tuple(getattr(ast, name) for name in """
FunctionDef Return Delete Assign AugAssign AnnAssign For While If With Match Raise Try Assert Import
ImportFrom Global Nonlocal Expr Pass Break Continue BoolOp NamedExpr BinOp UnaryOp Lambda IfExp Dict
Set ListComp SetComp DictComp GeneratorExp Yield YieldFrom Compare Call FormattedValue JoinedStr
Constant Attribute Subscript Starred Name List Tuple Slice comprehension ExceptHandler arguments arg
keyword alias withitem match_case MatchValue MatchSingleton MatchSequence MatchMapping MatchClass
MatchStar MatchAs MatchOr boolop operator unaryop cmpop expr_context
""".split())  # fmt: skip
"""Syntax whose effect on names is understood; a function with other nodes is not pure."""

DUNDER_ATTRIBUTES = frozenset(
    (
        "__class__",
        "__delattr__",
        "__init__",
        "__name__",
        "__post_init__",
        "__qualname__",
        "__setattr__",
    )
)
"""Dunder attributes that lead to nothing beyond what is inspected anyway."""

IMPURE_ATTRIBUTES = frozenset(("ctypes", "dump", "dumps", "gi_frame", "tofile"))
"""Attributes of types within a kernel's reach that write, or lead to an address or a frame."""

FORMATTING_ATTRIBUTES = frozenset(("format", "format_map"))

_TRUSTED_PACKAGES = ("neuron_sim.nki.", "neuron_sim.neuronxcc.nki.")
_TRUSTED_PARTS = ("language", "isa", "tracing", "typing", "compiler", "kernel")
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def is_trusted_module(name: str) -> bool:
    """Whether a module of that name only builds programs."""
    for package in _TRUSTED_PACKAGES:
        if name.startswith(package):
            return name[len(package) :].split(".")[0] in _TRUSTED_PARTS
    return False


def is_trusted_function(function: Any) -> bool:
    """Whether a Python function is one of the languages', not one that looks like it."""
    code = function.__code__
    if not code.co_filename.startswith(_PACKAGE):
        return False
    return is_trusted_module(function.__globals__.get("__name__", ""))


def is_trusted_class(cls: Any) -> bool:
    """Whether a class is one of the languages', or of the dtypes' package."""
    module = cls.__module__
    if not is_trusted_module(module) and module != "ml_dtypes":
        return False
    return getattr(sys.modules.get(module), cls.__name__, None) is cls
