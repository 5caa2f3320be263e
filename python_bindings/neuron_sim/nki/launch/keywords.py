"""Memories that kernels of SDK 2.27 and 2.28 name without a module: sbuf.view(dtype, shape).

That compiler read a kernel's source, in which `sbuf` and `hbm` were keywords (its tutorial
"Getting started with NKI"). Here they are names of Python, which Python looks up last among its
builtins: they are added there when the first kernel needs one.
"""

import builtins

from ..tracing import buffers

_NAMES = ("sbuf", "psum", "hbm", "private_hbm", "shared_hbm")


def provided(error: Exception) -> bool:
    """Adds the names of the memories if `error` is that one of them is missing; whether it did."""
    name = getattr(error, "name", None)
    if not isinstance(error, NameError) or name not in _NAMES or hasattr(builtins, name):
        return False
    for each in _NAMES:
        setattr(builtins, each, getattr(buffers, each))
    return True
