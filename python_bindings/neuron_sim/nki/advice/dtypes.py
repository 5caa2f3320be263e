"""Shorter operands of products: the kernel traced for arguments of another dtype."""

from __future__ import annotations

import copy
import functools
from collections.abc import Iterator
from typing import Any

from neuron_sim.timeline.changes import Trial

from ..dtype import bfloat16, float32
from .calls import altered
from .results import Sample

_MATMUL = "nc_matmul"


def dtype_trials(kernel: Any) -> Iterator[Trial]:
    """All float32 arguments of a kernel with products as bfloat16."""
    wide = [each.name for each in kernel.inputs if each.dtype == float32]
    used = {each["name"] for each in kernel.source.operations()}
    if not wide or _MATMUL not in used:
        return
    narrow = functools.cache(functools.partial(_narrow, kernel))
    passes = kernel.source.facts["tensor.passes_fp32"]["value"]
    yield Trial(
        "bfloat16 instead of float32",
        f"pass {', '.join(wide)} as bfloat16, if its precision is enough: the Tensor engine takes "
        f"{passes:g} passes for a product of float32 and one for one of bfloat16.",
        "nki/guides/architecture/trainium_inferentia2_arch.rst: data types of the Tensor engine",
        lambda: narrow().program,
        holds=lambda: Sample(kernel).equals(narrow()),
        is_for_callers=True,
    )


def _narrow(kernel: Any) -> Any:
    inputs = [copy.copy(each) for each in kernel.call.inputs]
    for each in inputs:
        if each.dtype == float32:
            each.dtype = bfloat16
    return altered(kernel.call, inputs=inputs).trace_anew()
