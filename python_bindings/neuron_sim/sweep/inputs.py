"""Array arguments that are declared by dtype and shape: "bfloat16[128, 2*K]"."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from neuron_sim.nki.tracing.dtypes import dtype_of
from neuron_sim.nki.typing import tensor
from neuron_sim.sweep.study import Value

_FORM = re.compile(r"\s*(\w+)\s*\[([^\[\]]*)\]\s*")


def _parts(text: str) -> tuple[str, list[list[str]]]:
    """The dtype, and the factors of every size."""
    found = _FORM.fullmatch(text)
    sizes = [] if found is None else [size.split("*") for size in found[2].split(",")]
    factors = [[part.strip() for part in size] for size in sizes]
    if found is None or not all(part for size in factors for part in size):
        raise ValueError(f"input '{text}' must be DTYPE[SIZE, ...], such as bfloat16[128, 2*K].")
    return found[1], factors


def size_names(text: str) -> set[str]:
    """The parameters that the sizes of an input name."""
    return {part for size in _parts(text)[1] for part in size if not part.isdigit()}


def declared_input(text: str, parameters: Mapping[str, Value]) -> Any:
    """An array without contents for an NKI kernel. ValueError for a text of another form, a size
    that no parameter gives, or an unknown dtype."""
    dtype, factors = _parts(text)
    shape = []
    for size in factors:
        numbers = [int(part) if part.isdigit() else parameters.get(part) for part in size]
        if not all(isinstance(each, int) and not isinstance(each, bool) for each in numbers):
            raise ValueError(f"input '{text}': '{'*'.join(size)}' is no whole number.")
        shape.append(math.prod(each for each in numbers if isinstance(each, int)))
    return tensor[tuple(shape), dtype_of(dtype)]
