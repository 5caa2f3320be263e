"""nki.isa: random numbers of the Vector and GpSimd engines. `name` is for with_schedule."""

from .constants import engine as engines
from .constants import named
from .instruction import builder, emitted
from .operators import operand


def rng(dst, engine=engines.vector, name=None):
    """dst = random bits, of the generator of each partition.

    dst: integers of 8, 16 or 32 bits; engine: vector, or gpsimd (Trn2 and later, SBUF only).
    """
    builder().rng(dst.access, engine=named(engine, engines, "engine"))
    return emitted(name)


def rand2(dst, min, max, name=None):
    """dst = uniform random numbers between `min` and `max`, on the Vector engine of Trn3.

    min, max: numbers or tiles [P, 1].
    """
    builder().rand2(dst.access, min=operand(min), max=operand(max))
    return emitted(name)


def set_rng_seed(src_seeds, name=None):
    """Seeds the generator of the Vector engine with the 32 bits of a tile [1, 1]."""
    builder().set_rng_seed(src_seeds.access)
    return emitted(name)


def rand_set_state(src_seeds, engine=engines.gpsimd, name=None):
    """Loads the state of a generator: 6 (GpSimd) or 24 (Vector) uint32 per partition."""
    builder().rand_set_state(src_seeds.access, engine=named(engine, engines, "engine"))
    return emitted(name)


def rand_get_state(dst, engine=engines.gpsimd, name=None):
    """Stores the state of a generator: 6 (GpSimd) or 24 (Vector) uint32 per partition."""
    builder().rand_get_state(dst.access, engine=named(engine, engines, "engine"))
    return emitted(name)
