"""nki.isa of the older language: copies whose address is read from a tile when the kernel runs."""

from neuron_sim.nki.tracing import current, dtype_of
from neuron_sim.nki.tracing.dynamic import region_of
from neuron_sim.nki.tracing.methods import writable

from .results import refuse


def tensor_copy_dynamic_src(src, *, mask=None, dtype=None, engine=None, **keywords):
    """A copy of src, a tile with one index that is a tile [1, 1] (plus an index expression).

    src: SBUF or PSUM; the index counts elements of one free dimension: int32 or uint32 in SBUF.
    engine: vector, scalar or gpsimd. IndexError when it points outside, as the kernel runs.
    """
    refuse("tensor_copy_dynamic_src", keywords)
    _refuse_mask(mask, "tensor_copy_dynamic_src")

    def emit(dst):
        region, like = region_of(src, dst)
        current().builder.tensor_copy_dynamic_src(
            like.access, region.access, src.dynamic.tile.access, _word(engine)
        )

    kind = src.dtype if dtype is None else dtype_of(dtype)
    return current().result(src.shape, kind, "sbuf", emit, explicit=dtype is not None)


def tensor_copy_dynamic_dst(*, dst, src, mask=None, dtype=None, engine=None, **keywords):
    """dst = src, where one index of dst is a tile [1, 1] (plus an index expression)."""
    refuse("tensor_copy_dynamic_dst", keywords)
    _refuse_mask(mask, "tensor_copy_dynamic_dst")
    writable(dst)
    region, like = region_of(dst, src.settle())
    current().builder.tensor_copy_dynamic_dst(
        region.access, like.access, dst.dynamic.tile.access, _word(engine)
    )


def _word(engine) -> str:
    return "auto" if engine is None else getattr(engine, "name", "auto").replace("unknown", "auto")


def _refuse_mask(mask, function: str) -> None:
    if mask is not None and mask is not True:
        raise ValueError(f"'{function}' takes no mask that cuts: its address is not known.")
