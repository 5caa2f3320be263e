"""nki.language: random numbers."""

from ..lowering import random as lowering_random
from ..lowering import tiles
from ..tracing import current
from ..tracing.buffers import sbuf


def rand(shape, dtype, buffer=sbuf, name=""):
    """A tile of random numbers in [0, 1), in SBUF or PSUM."""
    number = lowering_random.rand(shape, dtype)
    if buffer.memory == "sbuf":
        return number
    moved = current().tile(number.shape, number.dtype, buffer.memory)
    tiles.assign(moved, number)
    return moved


def random_seed(seed):
    """Seeds the generator of the Vector engine with an int, or with a tile [1, 1] of 32 bits."""
    lowering_random.random_seed(seed)


__all__ = ["rand", "random_seed"]
