"""neuronxcc.nki.isa: gathers, shuffles and the eight largest values."""

from neuron_sim.nki.isa import gathers as new
from neuron_sim.nki.isa.declared import FUNCTIONS
from neuron_sim.nki.tracing import boxes, current, dtype_of

from .results import in_place, refuse, result

_CORE_PARTITIONS = 16  # that one GpSimd core serves


def local_gather(
    src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, *, mask=None, **kwargs
):
    """The gather of nki.isa.local_gather.

    A tile [P, entries of a partition of index, 16, num_elem_per_idx], or
    [P, num_valid_indices, num_elem_per_idx] when not all entries are valid.
    """
    if kwargs:
        refuse("local_gather", kwargs)
    per_partition = index.size // index.shape[0]
    every = per_partition * _CORE_PARTITIONS
    if num_valid_indices is None or num_valid_indices == every:
        shape: tuple = (index.shape[0], per_partition, _CORE_PARTITIONS, num_elem_per_idx)
    else:
        shape = (index.shape[0], num_valid_indices, num_elem_per_idx)

    def emit(dst, source, indices):
        new.local_gather(dst, source, indices, num_elem_per_idx, num_valid_indices)

    return result(shape, None, src_buffer.dtype, mask, emit, src_buffer, index)


def nc_stream_shuffle(src, dst, shuffle_mask, *, dtype=None, mask=None, **kwargs):
    """dst[32 q + i] = src[32 q + shuffle_mask[i]] in every quadrant; 255 leaves dst unchanged."""
    if kwargs:
        refuse("nc_stream_shuffle", kwargs)

    def emit(target, source):
        new.nc_stream_shuffle(target, source, shuffle_mask)

    in_place(dst.shape, mask, emit, dst, src)


def max8(*, src, mask=None, dtype=None, **kwargs):
    """[P, 8]: the 8 largest values of each partition, descending."""
    if kwargs:
        refuse("max8", kwargs)
    return _eight(FUNCTIONS["max8"], src, (), src.dtype, mask, dtype)


def nc_find_index8(*, data, vals, mask=None, dtype=None, **kwargs):
    """[P, 8] uint32 (or `dtype`): where each of the 8 values first is in its partition."""
    if kwargs:
        refuse("nc_find_index8", kwargs)
    return _eight(FUNCTIONS["nc_find_index8"], data, (vals,), dtype_of("uint32"), mask, dtype)


def _eight(function, data, others, default, mask, dtype):
    """function(dst[P, 8], data, *others); a mask narrows data, and the partitions of the rest."""
    cut = None if mask is None else boxes(mask, tuple(data.shape))

    def emit(dst):
        for box in (None,) if cut is None else cut:
            if box is None:
                function(dst, data, *others)
                continue
            rows = (box[0], (0, 8))
            function(dst.narrow(rows), data.narrow(box), *[each.narrow(rows) for each in others])

    wanted = default if dtype is None else dtype_of(dtype)
    return current().result((data.shape[0], 8), wanted, "sbuf", emit, explicit=dtype is not None)


def nc_match_replace8(*, data, vals, imm, dst_idx=None, mask=None, dtype=None, **kwargs):
    """data with the first match of each of 8 values replaced by `imm`.

    dst_idx, [P, 8], receives where they were, in place. A mask narrows data.
    """
    if kwargs:
        refuse("nc_match_replace8", kwargs)
    cut = None if mask is None else boxes(mask, tuple(data.shape))

    def emit(dst):
        for box in (None,) if cut is None else cut:
            if box is None:
                new.nc_match_replace8(dst, data, vals, imm, dst_idx)
                continue
            rows = (box[0], *((0, size) for size in vals.shape[1:]))
            where = None if dst_idx is None else dst_idx.narrow(rows)
            new.nc_match_replace8(dst.narrow(box), data.narrow(box), vals.narrow(rows), imm, where)

    wanted = data.dtype if dtype is None else dtype_of(dtype)
    return current().result(data.shape, wanted, "sbuf", emit, explicit=dtype is not None)


def sequence_bounds(*, segment_ids, dtype=None, **kwargs):
    """[1, 2, n]: where the segment of each element starts and ends."""
    if kwargs:
        refuse("sequence_bounds", kwargs)
    shape = (segment_ids.shape[0], 2, segment_ids.shape[1])
    return result(shape, dtype, segment_ids.dtype, None, FUNCTIONS["sequence_bounds"], segment_ids)
