"""nl.rand and nl.random_seed: the generator of the Vector engine."""

from ..tracing import Tensor, current, dtype_of

_DISCARDED = 8  # bits of 32 that fp32 in [0, 1) has no room for
_UNIT = 2.0**-24


def rand(shape, dtype):
    """A tile of random numbers in [0, 1): the upper 24 bits of the generator, as a fraction."""
    trace = current()
    shape = tuple(int(size) for size in shape)
    bits = trace.tile(shape, dtype_of("uint32"), name="bits")
    trace.builder.rng(bits.access)
    trace.builder.tensor_scalar(bits.access, bits.access, "right_shift", _DISCARDED)
    number = trace.tile(shape, dtype_of(dtype))
    trace.builder.tensor_scalar(number.access, bits.access, "multiply", _UNIT)
    return number


def filled(shape, dtype, value):
    """A tile of one value."""
    tile = current().tile(shape, dtype, name="value")
    current().builder.memset(tile.access, float(value))
    return tile


def random_seed(seed):
    """Seeds the generator with an int of 32 bits, or with a tile [1, 1] of 32 bits."""
    trace = current()
    if not isinstance(seed, Tensor):
        seed = filled((1, 1), dtype_of("uint32"), int(seed) & 0xFFFFFFFF)
    elif seed.dtype.itemsize != 4:
        narrow, seed = seed, trace.tile((1, 1), dtype_of("uint32"), name="seed")
        trace.builder.tensor_copy(seed.access, narrow.access)
    trace.builder.set_rng_seed(seed.access)
