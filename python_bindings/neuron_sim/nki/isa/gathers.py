"""nki.isa: gathers and shuffles within SBUF, the eight largest values, and lists of indices.

All on-chip. `name` is for with_schedule.
"""

from neuron_sim import _core

from .instruction import builder, emitted


def local_gather(dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, name=None):
    """dst[p, i e + j] = src_buffer[p, index(i) + j] on the GpSimd core of partition p.

    e = num_elem_per_idx (1, 2, 4, 8, 16 or 32); index(i): entry i of the 16 partitions of a core,
    partition first, uint16. Partitions are a multiple of 16. num_valid_indices per core:
    all entries unless given, at most 4096.
    """
    valid = {} if num_valid_indices is None else {"num_valid_indices": int(num_valid_indices)}
    builder().local_gather(
        dst.access, src_buffer.access, index.access, num_elem_per_idx=int(num_elem_per_idx), **valid
    )
    return emitted(name)


def nc_n_gather(dst, data, indices, name=None):
    """dst[p, i] = flat(data[p])[indices[p, i]] on GpSimd. indices: uint32; SBUF."""
    builder().nc_n_gather(dst.access, data.access, indices.access)
    return emitted(name)


def nc_stream_shuffle(dst, src, shuffle_mask, name=None):
    """dst[32 q + i] = src[32 q + shuffle_mask[i]] in every quadrant q of 32 partitions (Vector).

    shuffle_mask: 32 ints from 0 to 31; 255 leaves a partition of dst as it is. dst has the dtype
    and the elements of src. ValueError for a mask of another length.
    """
    mask = [int(partition) for partition in shuffle_mask]
    if len(mask) != _core.QUADRANT_PARTITIONS:
        raise ValueError(
            f"shuffle_mask of 'nc_stream_shuffle' has {len(mask)} elements, not "
            f"{_core.QUADRANT_PARTITIONS}."
        )
    builder().nc_stream_shuffle(dst.access, src.access, mask)
    return emitted(name)


def max8(dst, src, name=None):
    """dst[P, 8] = the 8 largest values of each partition, descending (Vector).

    src: 8 to 16384 elements per partition.
    """
    builder().max8(dst.access, src.access)
    return emitted(name)


def nc_find_index8(dst, data, vals, name=None):
    """dst[p, j] = the first i with data[p, i] == vals[p, j], all ones when there is none (Vector).

    data: 8 to 16384 elements per partition; vals: 8; dst: [P, 8], uint16 or uint32.
    """
    builder().nc_find_index8(dst.access, data.access, vals.access)
    return emitted(name)


def nc_match_replace8(dst, data, vals, imm, dst_idx=None, name=None):
    """dst = data with the first match of each of 8 values replaced by the number `imm` (Vector).

    vals: [P, 8]; dst_idx: None or a tile [P, 8] of integers that receives where they were.
    """
    if dst_idx is None:
        builder().nc_match_replace8(dst.access, data.access, vals.access, float(imm))
    else:
        builder().nc_match_replace8(
            dst.access, data.access, vals.access, float(imm), dst_idx.access
        )
    return emitted(name)


def topk(val_dst, idx_dst, src, n, name=None):
    """The largest values of a snake over 16 partitions and their indices, ascending (GpSimd).

    src, val_dst: bf16; idx_dst: uint32; n: the active elements, 8 to 65535.
    """
    builder().topk(val_dst.access, idx_dst.access, src.access, int(n))
    return emitted(name)


def nonzero_with_count(dst, src, index_offset=0, padding_val=-1, name=None):
    """dst = the indices of the elements of src that are not 0, padding, and their number.

    src: fp32 or int32 [P, T]; dst: int32 [P, T + 1]; only partitions 0, 16, ..., 112 take part.
    GpSimd of Trn2 and later.
    """
    builder().nonzero_with_count(dst.access, src.access, int(index_offset), int(padding_val))
    return emitted(name)


def sequence_bounds(dst, segment_ids, name=None):
    """dst[0, :, i] = where the segment of element i starts and ends; [n, -1] for id 0 (GpSimd).

    segment_ids: one partition of n fp32 or int32; dst: [1, 2, n].
    """
    builder().sequence_bounds(dst.access, segment_ids.access)
    return emitted(name)
