"""Everything that a kernel may depend on, as a cache key.

Values count by their contents, functions by their code and everything it reads, recursively.
Anything neither understood nor known to be pure raises NotPure.
"""

import copy
import dataclasses
import functools
import inspect
import os
import struct
import sys
import types
import typing
from enum import Enum, EnumMeta
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from ..tracing.dtypes import DType
from . import purity
from .arrays import Placeholder
from .reads import NotPure, reads_of

_MAXIMUM_VALUES = 20_000
_MAXIMUM_BYTES = 1 << 20  # of arrays
_MISSING = object()
_SEEN = object()
_IGNORED_IN_CLASSES = frozenset((
    "__dataclass_fields__", "__dataclass_params__", "__dict__", "__doc__", "__module__",
    "__qualname__", "__slots__", "__weakref__", "__orig_bases__", "__parameters__",
))  # fmt: skip
_DESCRIPTORS_OF_C = (
    types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
)  # fmt: skip
_STANDARD_LIBRARY = os.path.dirname(os.__file__)
_ENUM = os.path.join(_STANDARD_LIBRARY, "enum.py")
_made: dict[int, tuple[CodeType, bool]] = {}  # by id: whether dataclasses makes such a function


class Fingerprint:
    """Builds one key. `kept`: the objects whose identity is a part of it."""

    def __init__(self):
        self.kept: list = []
        self._seen: dict = {}  # id -> ordinal: the key tells which values are one object
        self._values = 0
        self._formats = False
        self._addresses: list = []  # of objects whose text shows their address

    def key_of(self, *values: Any) -> tuple:
        """The key of values, and of the addresses that texts may show."""
        tokens = tuple([self.token(value) for value in values])
        if not self._formats:
            return (tokens, None)
        return (tokens, tuple(self._addresses), str(np.get_printoptions()))

    def token(self, value):
        """The token for `value` in a key; NotPure when there is none."""
        kind = type(value)
        if value is None or kind is int or kind is str or kind is bool or kind is bytes:
            return (kind, value)
        if kind is float:
            return (kind, struct.pack("d", value))
        identity = id(value)
        if identity in purity.PURE:
            if identity in purity.SHOWING_ADDRESSES:
                self._formats = True
            return identity
        ordinal = self._seen.get(identity)
        if ordinal is not None:
            return (_SEEN, ordinal)
        self._values += 1
        if self._values > _MAXIMUM_VALUES:
            raise NotPure("it reads too many values")
        self._seen[identity] = len(self._seen)
        self.kept.append(value)
        method = _METHODS.get(kind)
        return self._other(value) if method is None else method(self, value)

    def _identity(self, value):
        return id(value)

    def _sequence(self, value):
        return (type(value), *[self.token(each) for each in value])

    def _dict(self, value):
        return (dict, *[(self.token(key), self.token(each)) for key, each in value.items()])

    def _array(self, value):
        if value.dtype.hasobject or value.nbytes > _MAXIMUM_BYTES:
            raise NotPure("it reads a large array, or one of objects")
        return (np.ndarray, value.dtype.str, value.dtype.name, value.shape, value.strides,
                value.tobytes())  # fmt: skip

    def _partial(self, value):
        return (functools.partial, self.token(value.func), self.token(value.args),
                self.token(value.keywords))  # fmt: skip

    def _method(self, value):
        return (MethodType, self.token(value.__func__), self.token(value.__self__))

    def _module(self, value):
        raise NotPure(f"it uses the module {value.__name__} as a value")

    def _slice(self, value):
        return (slice, self.token(value.start), self.token(value.stop), self.token(value.step))

    # --- functions ---------------------------------------------------------------------------

    def _function(self, function):
        attributes = self._attributes(function.__dict__)
        if purity.is_trusted_function(function) or _is_generated(function):
            cells = [each.cell_contents for each in function.__closure__ or ()]
            held = [self.token(each) for each in cells if type(each) is FunctionType]
            return (id(function), attributes, *held)
        self._addresses.append(id(function))
        reads = reads_of(function)
        self.kept.append(reads.code)
        if reads.formats:
            self._formats = True
        defaults = (self.token(function.__defaults__), self.token(function.__kwdefaults__))
        names = (function.__name__, function.__qualname__)
        found = [FunctionType, id(reads.code), names, attributes, *defaults]
        for is_cell, name, path in reads.names:
            value = _cell(function, name) if is_cell else _global(function, name)
            found.append(self._at(value, path))
        for module, path in reads.imports:
            found.append(self._imported(module, path))
        return tuple(found)

    def _at(self, value: Any, path: tuple) -> Any:
        """The token of the part read from `value`: through modules, the attribute itself."""
        if value is _MISSING:
            return _MISSING
        for name in path:
            if not isinstance(value, ModuleType):
                break
            value = _of_module(value, name)
            if value is _MISSING:
                return _MISSING
        return self.token(value)

    def _imported(self, name: str, path: tuple | None) -> Any:
        module = sys.modules.get(name)
        if module is None:
            raise NotPure(f"it imports {name}")
        if path is None:
            self.kept.append(module)
            return id(module)
        return self._at(module, path)

    def _attributes(self, attributes: dict) -> Any:
        """Attributes of an object, without those that Python keeps for itself."""
        if not attributes:
            return None
        return tuple([(name, self.token(value)) for name, value in attributes.items()
                      if not (name.startswith("__") and name.endswith("__"))])  # fmt: skip

    # --- classes and their objects -----------------------------------------------------------

    def _class(self, cls):
        if purity.is_trusted_class(cls) or _is_of_typing(cls):
            return id(cls)
        if type(cls) not in (type, EnumMeta):
            raise NotPure(f"it uses the class {cls.__name__}")
        found: list = [type, id(cls), cls.__name__, cls.__qualname__]
        for base in cls.__mro__[1:]:
            found.append(base.__module__ == "enum" or self.token(base))
        members: Any = cls.__members__ if isinstance(cls, EnumMeta) else {}
        for name, value in members.items():
            found.append((name, self.token(value._value_), self._attributes(vars(value))))
        for name, value in vars(cls).items():
            if name not in _IGNORED_IN_CLASSES and name not in members:
                found.append((name, self._of_class(cls, name, value)))
        return tuple(found)

    def _of_class(self, cls: Any, name: str, value: Any) -> Any:
        kind = type(value)
        if name == "__annotations__":
            return tuple(value)
        if kind in (staticmethod, classmethod):
            return (kind, self.token(value.__func__))
        if kind is property:
            return (kind, *[self.token(each) for each in (value.fget, value.fset, value.fdel)])
        if kind is types.MemberDescriptorType:
            return None  # a slot
        if isinstance(cls, EnumMeta) and (name.startswith("_") and kind is not FunctionType):
            return None  # the tables of Enum
        if kind in _DESCRIPTORS_OF_C or kind is types.GetSetDescriptorType:
            raise NotPure(f"it uses the class {cls.__name__}, which is not written in Python")
        if name == "__hash__" and value is None:
            return None
        if kind is FunctionType and _is_of_fields(cls, name, value):
            return self._of_fields(name, inspect.unwrap(value))
        return self.token(value)

    def _of_fields(self, name: str, function: Any) -> Any:
        """A function that dataclasses made: it has no source, but is known to be pure."""
        self._formats |= name == "__repr__"
        code = function.__code__
        self.kept.append(code)
        read = [_global(function, each) for each in ("NotImplemented", "super", "type")]
        held = [each.cell_contents for each in function.__closure__ or ()]
        values = (function.__defaults__, function.__kwdefaults__, *read, *held)
        return (FunctionType, id(code), *[self.token(each) for each in values])

    def _other(self, value):
        cls = type(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, Enum):
            return (self.token(cls), value._name_, self.token(value._value_))
        if isinstance(value, np.generic):
            return (cls, value.tobytes())
        if isinstance(value, (np.dtype, np.ufunc)) or _is_of_typing(cls):
            return id(value)
        if cls is getattr(sys.modules.get("torch"), "dtype", None):
            return id(value)
        if not all(_is_python(base) for base in cls.__mro__):
            raise NotPure(f"it uses a value of type {cls.__name__}")
        return self._object(cls, value)

    def _object(self, cls, value):
        """An object of a class that is written in Python: its class and its attributes."""
        if cls.__repr__ is object.__repr__ or cls.__hash__ is object.__hash__:
            self._addresses.append(id(value))
        found = [self.token(cls)]
        if isinstance(value, tuple):
            found += [self.token(each) for each in tuple.__iter__(value)]
        found.append(self._attributes(getattr(value, "__dict__", None) or {}))
        for base in cls.__mro__:
            slots = vars(base).get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if not (name.startswith("__") and name.endswith("__")):
                    found.append(self._slot(value, base, name))
        return tuple(found)

    def _slot(self, value: Any, base: Any, name: str) -> Any:
        if name.startswith("__"):
            name = f"_{base.__name__.lstrip('_')}{name}"
        held = getattr(value, name, _MISSING)
        return _MISSING if held is _MISSING else self.token(held)


def _is_python(cls: Any) -> bool:
    """Whether objects of a class hold nothing that Python code did not give them."""
    if cls is object or cls is tuple:
        return True
    heap_type = 1 << 9  # no size of the hardware: CPython's Py_TPFLAGS_HEAPTYPE
    is_made_at_run_time = bool(cls.__flags__ & heap_type)
    return is_made_at_run_time and not any(
        isinstance(value, _DESCRIPTORS_OF_C) for value in vars(cls).values()
    )


def _is_of_typing(cls: Any) -> bool:
    return cls.__module__ == "typing" and getattr(typing, cls.__name__, None) is cls


def _of_module(module: ModuleType, name: str) -> Any:
    """An attribute of a module; NotPure where code of the module would create it."""
    found = vars(module).get(name, _MISSING)
    if module.__name__.startswith("neuron_sim."):
        return getattr(module, name, _MISSING) if found is _MISSING else found
    if type(module) is not ModuleType or (found is _MISSING and "__getattr__" in vars(module)):
        raise NotPure(f"it reads {name} of {module.__name__}, which makes its attributes")
    return found


def _is_generated(function: Any) -> bool:
    """Functions that the standard library puts into enumerations."""
    return function.__code__.co_filename == _ENUM


def _is_of_fields(cls: Any, name: str, function: Any) -> bool:
    """Whether a method is what dataclasses makes of the fields of its class."""
    code = inspect.unwrap(function).__code__
    known = _made.get(id(code))
    if known is None:
        of_twin = vars(_twin(cls)).get(name) if "__dataclass_params__" in vars(cls) else None
        same = isinstance(of_twin, FunctionType) and inspect.unwrap(of_twin).__code__ == code
        known = _made[id(code)] = (code, same)
    return known[1]


def _twin(cls: Any) -> type:
    """A class of the same fields, by the same options of dataclasses, without anything else."""
    fields = cls.__dataclass_fields__
    names: dict[str, Any] = {name: copy.copy(field) for name, field in fields.items()}
    names["__annotations__"] = {name: field.type for name, field in fields.items()}
    names["__module__"], names["__qualname__"] = cls.__module__, cls.__qualname__
    if hasattr(cls, "__post_init__"):
        names["__post_init__"] = None
    wanted = ("init", "repr", "eq", "order", "unsafe_hash", "frozen")
    options: Any = {each: getattr(cls.__dataclass_params__, each) for each in wanted}
    return dataclasses.dataclass(**options)(type(cls.__name__, (), names))


def _cell(function: Any, name: str) -> Any:
    position = function.__code__.co_freevars.index(name)
    try:
        return function.__closure__[position].cell_contents
    except ValueError:  # not assigned yet
        return _MISSING


def _global(function: Any, name: str) -> Any:
    value = function.__globals__.get(name, _MISSING)
    return function.__builtins__.get(name, _MISSING) if value is _MISSING else value


_METHODS = {
    tuple: Fingerprint._sequence,
    list: Fingerprint._sequence,
    set: Fingerprint._sequence,
    frozenset: Fingerprint._sequence,
    range: lambda self, value: (range, value.start, value.stop, value.step),
    complex: lambda self, value: (complex, repr(value)),
    slice: Fingerprint._slice,
    dict: Fingerprint._dict,
    types.MappingProxyType: Fingerprint._dict,
    np.ndarray: Fingerprint._array,
    DType: Fingerprint._identity,
    Placeholder: lambda self, value: (Placeholder, value.position),
    FunctionType: Fingerprint._function,
    MethodType: Fingerprint._method,
    functools.partial: Fingerprint._partial,
    ModuleType: Fingerprint._module,
    type: Fingerprint._class,
}
