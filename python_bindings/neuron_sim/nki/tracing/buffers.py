"""The memories a tensor can be created in: `nl.sbuf`, `nl.psum`, `nl.hbm`, ..."""

from collections.abc import Callable
from typing import Any


class Buffer:
    """A memory: `memory` is the device's name ("sbuf", "psum", "hbm"), `name` the language's.

    `view(dtype, shape)` is a new tensor in it, as nl.ndarray; creation.py attaches it.
    """

    view: Callable[..., Any]
    __slots__ = ("name", "memory", "__dict__")

    def __init__(self, name: str, memory: str):
        self.name = name
        self.memory = memory

    def __repr__(self) -> str:
        return self.name


sbuf = Buffer("sbuf", "sbuf")
psum = Buffer("psum", "psum")
private_hbm = Buffer("private_hbm", "hbm")
hbm = private_hbm
shared_hbm = Buffer("shared_hbm", "hbm")

for _region in (sbuf, psum, private_hbm, shared_hbm):
    setattr(Buffer, _region.name, _region)  # nl.MemoryRegion.sbuf, ...
