"""Files that name the device otherwise: written under `neuron`, read under `neuron_sim`, or the
other way round.

torch.load asks for the place of every storage. TorchScript and exported programs keep device
strings in small records of a ZIP archive, which are read here as if they had been written under
the name of this process.
"""

from __future__ import annotations

import functools
import io
import os
import re
import zipfile
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from neuron_sim.after_import import after_import
from neuron_sim.settings import DEVICE_NAMES, device_name


def install() -> None:
    """Makes torch.load, torch.jit.load and torch.export.load read files of both names."""
    torch.serialization.register_package(19, _tag, _restore)  # before PyTorch's own, at 20 to 25
    torch.jit.load = _renaming(torch.jit.load)
    after_import("torch.export", _follow)


def _follow(module: ModuleType) -> None:
    module.load = _renaming(module.load)  # type: ignore[attr-defined]


def _other() -> str:
    return next(name for name in DEVICE_NAMES if name != device_name())


def _tag(storage: Any) -> None:
    """Leaves the place of a storage that is written to PyTorch."""


def _restore(storage: Any, place: str) -> Any:
    """A storage that was written at `place`, on this process's device; None for other places."""
    name, _, index = place.partition(":")
    if name != _other():
        return None
    return storage.to(device=torch.device(device_name(), int(index or 0)))


def _renaming(generic: Callable[..., Any]) -> Callable[..., Any]:
    """`generic`, a loader whose first argument is a path or a file, for archives of both names."""

    @functools.wraps(generic)
    def load(f: Any, *arguments: Any, **options: Any) -> Any:
        return generic(_renamed(f), *arguments, **options)

    return load


def _renamed(file: Any) -> Any:
    """`file`, or its content where that names the device otherwise; what is no archive as it is."""
    is_path = isinstance(file, str | os.PathLike)
    if is_path and not os.path.isfile(file):
        return file
    source = file if is_path else io.BytesIO(file.read())
    try:
        with zipfile.ZipFile(source) as archive:
            texts = {
                name: archive.read(name)
                for name in archive.namelist()
                if name.endswith((".pkl", ".py", ".json"))
            }
            changed = {name: _translated(name, text) for name, text in texts.items()}
            if changed != texts:
                return _rewritten(archive, changed)
    except zipfile.BadZipFile:
        pass  # PyTorch says what is wrong with it
    if not is_path:
        source.seek(0)
    return source


def _rewritten(archive: zipfile.ZipFile, changed: dict[str, bytes]) -> io.BytesIO:
    copy = io.BytesIO()
    with zipfile.ZipFile(copy, "w", zipfile.ZIP_STORED) as target:
        for name in archive.namelist():
            target.writestr(name, changed.get(name) or archive.read(name))
    copy.seek(0)
    return copy


def _translated(name: str, text: bytes) -> bytes:
    """A record with this process's name of the device."""
    old, new = _other().encode(), device_name().encode()
    if name.endswith(".json"):
        return re.sub(rb'("type":\s*)"%b"' % old, rb'\g<1>"%b"' % new, text)
    if name.endswith(".py"):
        return re.sub(rb'"%b(:\d+)?"' % old, rb'"%b\g<1>"' % new, text)
    # The pickler of TorchScript writes a string as X, its length in 4 bytes, and its bytes.
    return re.sub(rb"X(.)\0\0\0(%b(?::\d+)?)" % old, _repickled, text, flags=re.DOTALL)


def _repickled(match: re.Match[bytes]) -> bytes:
    value = match[2][: match[1][0]]
    if len(value) != match[1][0] or value.partition(b":")[0] != _other().encode():
        return match[0]  # a longer string that begins like the name
    renamed = device_name().encode() + value[len(_other()) :]
    return b"X" + len(renamed).to_bytes(4, "little") + renamed + match[2][len(value) :]
