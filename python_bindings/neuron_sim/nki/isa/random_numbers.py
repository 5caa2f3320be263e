"""nki.isa: random numbers of the Vector and GpSimd engines. `name` is for with_schedule."""

from .declared import declared


@declared("dst engine=vector")
def rng():
    """dst = random bits, of the generator of each partition.

    dst: integers of 8, 16 or 32 bits; engine: vector, or gpsimd (Trn2 and later, SBUF only).
    """


@declared()
def rand2():
    """dst = uniform random numbers between `min` and `max`, on the Vector engine of Trn3.

    min, max: numbers or tiles [P, 1].
    """


@declared()
def set_rng_seed():
    """Seeds the generator of the Vector engine with the 32 bits of a tile [1, 1]."""


@declared("src_seeds engine=gpsimd")
def rand_set_state():
    """Loads the state of a generator: 6 (GpSimd) or 24 (Vector) uint32 per partition."""


@declared("dst engine=gpsimd")
def rand_get_state():
    """Stores the state of a generator: 6 (GpSimd) or 24 (Vector) uint32 per partition."""
