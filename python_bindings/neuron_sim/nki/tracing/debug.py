"""device_print: what a tile holds while the kernel runs."""

from . import creation, movement
from .buffers import shared_hbm
from .errors import Unroll
from .tensor import Storage, Tensor
from .trace import current


class Print:
    """A print of a kernel: its text, and the argument that receives the values."""

    __slots__ = ("prefix", "number")

    def __init__(self, prefix: str, number: int):
        self.prefix = prefix
        self.number = number


def device_print(prefix: str, x: Tensor, mask=None) -> None:
    """Prints `prefix` and the elements of `x` as they are here, after the kernel ran.

    Loops around it are unrolled, so that it prints once per iteration. The copy takes time.
    """
    trace = current()
    x.settle()
    if trace.loops:
        raise Unroll([loop.key for loop in trace.loops])
    name = f"print_{len(trace.prints)}"
    whole = trace.builder.argument(name, creation.declared_shape(x.shape), x.dtype.name)
    storage = Storage(trace, name, shared_hbm, x.shape, x.dtype, whole, 0)
    storage.argument = len(trace.arguments)
    trace.arguments.append(storage)
    target = Tensor(storage, x.shape, x.dtype, creation.dense_strides(x.shape), None)
    if x.axis is None:
        movement.dma(target, x)
    else:
        movement.store(target, x, mask)
    trace.prints.append(Print(prefix, storage.argument))
