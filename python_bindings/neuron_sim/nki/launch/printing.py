"""nl.device_print: values of tensors at a point of a kernel, printed when it has run.

A tensor is copied to a dedicated argument. The program with these copies is separate too:
the time of a kernel excludes them.
"""

from typing import Any

import numpy as np

from ..lowering.movement import store
from ..tracing import buffers
from ..tracing.active import current
from ..tracing.creation import declared_shape
from ..tracing.errors import Unroll
from ..tracing.mask import boxes
from ..tracing.tensor import Storage, Tensor


def device_print(prefix: str, x: Any, mask: Any = None) -> None:
    """Prints `prefix` and the value that the tensor has here, once per iteration of the loops
    around it. `mask`: nothing is printed where it leaves nothing, elements outside are 0."""
    if not isinstance(prefix, str):
        raise TypeError(f"prefix {prefix!r} of 'device_print' must be a string.")
    trace = current()
    trace.has_prints = True
    if not isinstance(x, Tensor):
        raise TypeError(f"operand 'x' of 'device_print' is a {type(x).__name__}, not a tensor.")
    if trace.eager is not None:
        _print_now(trace.eager, prefix, x, mask)
        return
    if trace.printed is None:
        return
    if trace.loops:
        raise Unroll([loop.key for loop in trace.loops])
    if trace.control.loops:
        raise ValueError("'device_print' cannot print in a loop on a register.")
    shape = x.settle().shape
    if boxes(mask, shape) == []:
        return
    name = f"print{len(trace.printed)}"
    whole = trace.builder.argument(name, declared_shape(shape), x.dtype.name)
    storage = Storage(trace, name, buffers.shared_hbm, shape, x.dtype, whole, 0)
    storage.argument = len(trace.arguments)
    trace.arguments.append(storage)
    target = Tensor(storage, shape, x.dtype, None)
    if x.memory == "hbm":
        if mask is not None:
            raise _masked_in_hbm()
        trace.builder.dma_copy(target.access, x.access)
    else:
        store(target, x, mask)
    trace.printed.append((prefix, storage.argument, shape))


def _masked_in_hbm() -> ValueError:
    return ValueError("'device_print' of a tensor in hbm takes no mask.")


def _print_now(run: Any, prefix: str, x: Tensor, mask: Any) -> None:
    """Prints while the kernel runs."""
    cut = boxes(mask, x.shape)
    if cut == []:
        return
    if x.memory == "hbm" and mask is not None:
        raise _masked_in_hbm()
    values = run.values(x)
    if cut is not None:
        part = np.zeros_like(values)
        for box in cut:
            inside = tuple([slice(start, start + size) for start, size in box])
            part[inside] = values[inside]
        values = part
    print(prefix, values, flush=True)


def show(printed: list, contents: list) -> None:
    """Prints what device_print noted, from the contents of the arguments after a run."""
    for prefix, argument, shape in printed:
        print(prefix, contents[argument].reshape(shape), flush=True)
