"""Modules of a model by the paths that its launches name."""

from __future__ import annotations

from collections.abc import Mapping

from torch import nn

_COMPILED = "_orig_mod"
"""The module inside one that torch.compile returned; paths of launches are without it."""


def original(model: nn.Module) -> nn.Module:
    """The model that torch.compile was given, or the model itself."""
    return model._modules.get(_COMPILED) or model


def is_compiled(model: nn.Module) -> bool:
    """Whether torch.compile took it or a module in it."""
    return any(
        _COMPILED in each._modules or getattr(each, "_compiled_call_impl", None) is not None
        for each in model.modules()
    )


def modules_by_path(model: nn.Module) -> dict[str, nn.Module]:
    """The model itself is at "". A shared module has each of its paths; a compiled one is the
    module that it was made of."""
    named = model.named_modules(remove_duplicate=False)
    return {
        ".".join(name for name in path.split(".") if name != _COMPILED): module
        for path, module in named
    }


def first_paths(modules: Mapping[str, nn.Module]) -> dict[str, str]:
    """By path the one of its layer: a module that its parent has under several names is one layer
    with the first of them, as launches name it."""
    paths = {"": ""}
    known: dict[tuple[str, int], str] = {}
    for path, module in modules.items():
        above, _, name = path.rpartition(".")
        if path:
            parent = paths[above]
            found = f"{parent}.{name}" if parent else name
            paths[path] = known.setdefault((parent, id(module)), found)
    return paths
