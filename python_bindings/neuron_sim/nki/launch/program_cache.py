"""Programs of kernels that were called before.

A kernel is traced once per key: its function with everything that it reads (fingerprint.py), the
shapes and dtypes of its arrays, its other arguments, how it is traced, and the environment. A
kernel whose key is unknown, or that changes what it reads, is traced at every call. So is
every kernel while a debugger or a tracer watches the process.
"""

import os
import sys
from collections import OrderedDict
from types import ModuleType
from typing import Any

import numpy as np

from neuron_sim import _core

from ..tracing.dtypes import DType
from . import sanitize
from .fingerprint import Fingerprint
from .reads import NotPure
from .traced_kernel import Output, TracedKernel

_CAPACITY = 256
_ARCHITECTURES = frozenset(_core.architectures())  # others are files, whose contents may change
_IMMUTABLE = (type(None), bool, int, float, str, bytes, DType, np.generic, Output)
_PACKAGES = ("neuron_sim.nki", "neuron_sim.neuronxcc")


class _Cache:
    """The most recently used programs, with the objects that their keys identify."""

    def __init__(self):
        self.entries: OrderedDict = OrderedDict()  # key -> (TracedKernel, kept objects)
        self.hits = self.misses = 0
        self.refusals = 0
        self.last_refusal = ""
        self.library_changed = False
        self.library_grew = True


_cache = _Cache()


class _LibraryModule(ModuleType):
    """A module of the languages: assigning to one of its names forgets all programs."""

    def __setattr__(self, name, value):
        if isinstance(value, ModuleType) and name not in vars(self):
            _cache.library_grew = True  # an import of a part of it
        else:
            _cache.library_changed = True
        super().__setattr__(name, value)

    def __delattr__(self, name):
        _cache.library_changed = True
        super().__delattr__(name)


def info() -> dict:
    """hits, misses, refusals (calls of kernels that are not kept), last_refusal, programs."""
    return {
        "hits": _cache.hits,
        "misses": _cache.misses,
        "refusals": _cache.refusals,
        "last_refusal": _cache.last_refusal,
        "programs": len(_cache.entries),
    }


def clear() -> None:
    """Forgets all programs; the counts continue."""
    _cache.entries.clear()


def find_or_trace(call: Any, prints: bool) -> TracedKernel:
    """The program of a call: of an equal earlier one, or traced now, as trace_anew(prints)."""
    if sys.gettrace() is not None:
        return call.trace_anew(prints)
    if _cache.library_changed or _cache.library_grew:
        _watch_library()
    key, kept = _key_of(call)
    if key is None:
        _cache.refusals += 1
        return call.trace_anew(prints)
    found = _cache.entries.get(key)
    if found is not None:
        _cache.hits += 1
        _cache.entries.move_to_end(key)
        return found[0]
    traced = call.trace_anew(prints)
    _cache.misses += 1
    # A kernel that changed what it reads would not do so again if its program came from here; that
    # of one that prints depends on `prints`.
    is_kept = not traced.has_prints and _is_immutable(traced.returned)
    if is_kept and not _cache.library_changed and _key_of(call)[0] == key:
        _cache.entries[key] = (traced, kept)
        if len(_cache.entries) > _CAPACITY:
            _cache.entries.popitem(last=False)
    return traced


def _watch_library() -> None:
    """Watches for changes to the languages' modules; forgets all programs after one."""
    if _cache.library_changed:
        _cache.entries.clear()
    for name, module in list(sys.modules.items()):
        if name.startswith(_PACKAGES) and type(module) is ModuleType:
            module.__class__ = _LibraryModule
    _cache.library_changed = _cache.library_grew = False


def _key_of(call: Any) -> tuple:
    """(key, objects it identifies) of a call; (None, None) when the kernel is not pure."""
    fingerprint = Fingerprint()
    try:
        if call.architecture not in _ARCHITECTURES:
            raise NotPure(f"the architecture is the file {call.architecture}")
        # The function first: nothing else of an impure kernel is inspected.
        values = fingerprint.key_of(call.function, call.args, call.kwargs)
    except Exception as error:  # also raised by inspecting some objects
        _cache.last_refusal = f"{call.name}: {error}"
        return None, None
    inputs = tuple([(each.name, each.shape, each.dtype) for each in call.inputs])
    settings = (call.language, call.architecture, call.grid, call.cores, call.directives,
                call.schedule, call.flags, sanitize.wanted())  # fmt: skip
    environment = getattr(os.environ, "_data", os.environ)
    writable = tuple(call.mutable_inputs)
    surroundings = (frozenset(environment.items()), tuple(np.geterr().values()))
    key = (values, inputs, writable, settings, call.widens, surroundings)
    return key, fingerprint.kept


def _is_immutable(value: Any) -> bool:
    """Whether all calls may get the same result object where it is not a tensor."""
    if type(value) in (tuple, list):
        return all(_is_immutable(each) for each in value)
    if type(value) is dict:
        return all(_is_immutable(each) for each in (*value, *value.values()))
    return isinstance(value, _IMMUTABLE)
