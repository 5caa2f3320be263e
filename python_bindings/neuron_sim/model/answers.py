"""Answers of `neuron-sim model` kept on disk, so that a question asked again needs no simulation.

An answer is found by the contents that it depends on: the question, the configuration of the model,
every value of the architecture, the settings of the environment, the package's own files, and the
versions of the installed packages. A model of a function also depends on the modules that were
loaded for it; their hashes are in the answer. Imports no torch.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
import sysconfig
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from neuron_sim import _core
from neuron_sim.files import write_whole

_PACKAGE = Path(_core.__file__).resolve().parent
_COMPUTES = (".json", ".py", ".so", ".toml")
"""Suffixes of the package's files that times depend on."""


def folder() -> Path:
    """Where answers are kept: `neuron_sim` in $XDG_CACHE_HOME, else in ~/.cache."""
    chosen = _core.setting("XDG_CACHE_HOME")
    # Relative paths are to be ignored (XDG Base Directory Specification 0.8).
    base = Path(chosen) if os.path.isabs(chosen) else Path.home() / ".cache"
    return base / "neuron_sim" / "models"


def recall(question: Mapping[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer to a question (of JSON values): the one on disk, else that of `compute`, which is
    then kept. A file that is not an answer is replaced; where nothing can be written, a warning
    says so."""
    file = folder() / f"{_digest([question, surroundings()])}.json"
    known = _read(file)
    if known is not None:
        return known
    answer = json.loads(json.dumps(compute()))  # as it will be read
    _write(file, {"answer": answer, "modules": _hashes_of_modules()})
    return answer


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _hash_of(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@functools.cache
def surroundings() -> list[Any]:
    """What answers to all questions depend on, besides the architecture's own values."""
    files = sorted(
        path
        for path in _PACKAGE.rglob("*")
        if path.suffix in _COMPUTES and not path.name.startswith("libdnnl")
    )
    own = [(str(path.relative_to(_PACKAGE)), _hash_of(path)) for path in files]
    # The name of such a folder has the package and its version.
    installed = sorted(name for name in os.listdir(_site()) if name.endswith(".dist-info"))
    settings = {name: _core.setting(name) for name, *_ in _core.settings()}
    return [own, installed, settings, sys.version]


def _site() -> str:
    return sysconfig.get_path("purelib")


def _hashes_of_modules() -> dict[str, str]:
    """Hashes of the loaded modules that belong to no installed package: the caller's own."""
    names = ("stdlib", "purelib", "platlib")
    installed = [Path(sysconfig.get_path(name)).resolve() for name in names]
    hashes = {}
    for module in list(sys.modules.values()):
        name = getattr(module, "__file__", None)
        if not name or not os.path.isfile(name):
            continue
        file = Path(name).resolve()
        if _PACKAGE in file.parents or any(each in file.parents for each in installed):
            continue
        hashes[str(file)] = _hash_of(file)
    return hashes


def _read(file: Path) -> dict[str, Any] | None:
    """The answer in the file; None when there is no whole one, or its modules have changed."""
    try:
        kept = json.loads(file.read_text())
        content = kept["content"]
        if kept["digest"] != _digest(content):
            return None
        modules = content["modules"].items()
        return content["answer"] if all(_hash_of(Path(m)) == h for m, h in modules) else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _write(file: Path, content: dict[str, Any]) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write_whole(file, json.dumps({"content": content, "digest": _digest(content)}))
    except OSError as error:
        warnings.warn(
            f"the answer is not kept: {error.filename}: {error.strerror}; --no-cache asks for that",
            stacklevel=2,
        )
