"""Where a thread is in the program of the user: the module of torch.nn, and the line."""

from __future__ import annotations

import functools
import itertools
import os
import sys
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import torch
from torch import nn

_LIBRARIES = tuple(
    os.path.dirname(os.path.abspath(str(module.__file__))) + os.sep
    for module in (torch, sys.modules["neuron_sim"])
)
_CALL = nn.Module._call_impl.__code__
"""The code of the frame in which every call of a module runs; its `self` is the module."""
_COMPILED = "_orig_mod"
"""The module inside one that torch.compile returned, which is the same to the user."""

_model: nn.Module | None = None
"""The model of paths_within()."""
_names: dict[int, tuple[weakref.ref[nn.Module], dict[int, tuple[list[str], str]]]] = {}
"""By the id of a module: the module, and by id those below it, by their names and as a path."""


def calling_line() -> str:
    """`file:line` of the innermost frame outside torch and this package; "" without one, as in
    a backward pass on one of PyTorch's threads."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        line = _line_of(frame)
        if line:
            return line
        frame = frame.f_back
    return ""


def calling_place() -> tuple[str, str]:
    """The path of the innermost module that is being called, in the outermost one ("" for that one,
    and outside of modules), and calling_line(). Within paths_within() the outermost one is that
    model, also where another one is called."""
    modules: list[nn.Module] = []
    line = ""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code is _CALL:
            module = frame.f_locals["self"]
            is_compiled = _COMPILED in module._modules
            modules.append(module._modules[_COMPILED] if is_compiled else module)
        elif not line:
            line = _line_of(frame)
        frame = frame.f_back
    modules.reverse()
    return path_of(_within(_model, modules) if _model is not None else modules), line


def _within(model: nn.Module, modules: list[nn.Module]) -> list[nn.Module]:
    """Modules that call each other, from the model on. A module that autograd calls again, for
    checkpointing, is where the model has it."""
    if model in modules:
        return modules[modules.index(model) :]
    return [model, *modules] if modules else []


@contextmanager
def paths_within(model: nn.Module) -> Iterator[None]:
    """In the block paths of modules, on all threads, start in this one."""
    global _model
    before, _model = _model, model
    try:
        yield
    finally:
        _model = before


def path_of(modules: Sequence[nn.Module]) -> str:
    """The path of the last of modules that call each other, in the first one; a module that is not
    registered in its caller stands there as "(Class)"."""
    names = [_name_in(*pair) for pair in itertools.pairwise(modules)]
    return ".".join(name for name in names if name)


def _name_in(parent: nn.Module, child: nn.Module) -> str:
    # Every recorded launch asks: a weak dictionary and nn.Module.__getattr__ would take longer.
    known = _names.get(id(parent))
    place = known[1].get(id(child)) if known is not None and known[0]() is parent else None
    if place is None or not _is_at(parent, place[0], child):
        place = _names_below(parent).get(id(child))
    return place[1] if place is not None else f"({type(child).__name__})"


def _names_below(parent: nn.Module) -> dict[int, tuple[list[str], str]]:
    key = id(parent)
    places = {}
    for path, module in parent.named_modules():
        names = path.split(".") if path else []
        places[id(module)] = names, ".".join(name for name in names if name != _COMPILED)
    _names[key] = weakref.ref(parent, lambda _: _names.pop(key, None)), places
    return places


def _is_at(parent: nn.Module, names: Sequence[str], child: nn.Module) -> bool:
    """Whether the parent still has the child under these names."""
    module: nn.Module | None = parent
    for name in names:
        # TorchScript's modules have no get().
        module = module._modules[name] if module is not None and name in module._modules else None
    return module is child


def _line_of(frame: FrameType) -> str:
    file = users_file(frame.f_code.co_filename)
    return f"{file}:{frame.f_lineno}" if file else ""


@functools.cache
def users_file(name: str) -> str:
    """The absolute path of a file outside of the libraries; "" of others."""
    file = os.path.abspath(name)
    return file if not file.startswith(_LIBRARIES) and os.path.isfile(file) else ""
