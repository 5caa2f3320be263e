"""Errors of kernels: the sentence without the note that points at the kernel's line."""

import pytest


def error_of(call, *args, kind=ValueError) -> str:
    """What call(*args) raises."""
    with pytest.raises(kind) as caught:
        call(*args)
    return str(caught.value)
