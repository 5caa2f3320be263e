"""nki.isa: gathers and shuffles within SBUF, the eight largest values, and lists of indices.

All on-chip. `name` is for with_schedule.
"""

from neuron_sim import _core

from .declared import declared
from .instruction import builder, emitted


@declared()
def local_gather():
    """dst[p, i e + j] = src_buffer[p, index(i) + j] on the GpSimd core of partition p.

    e = num_elem_per_idx (1, 2, 4, 8, 16 or 32); index(i): entry i of the 16 partitions of a core,
    partition first, uint16. Partitions are a multiple of 16. num_valid_indices per core:
    all entries unless given, at most 4096.
    """


def nc_stream_shuffle(dst, src, shuffle_mask, name=None):
    """dst[32 q + i] = src[32 q + shuffle_mask[i]] in every quadrant q of 32 partitions (Vector).

    shuffle_mask: 32 ints from 0 to 31; 255 leaves a partition of dst unchanged. dst has the dtype
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


@declared()
def nc_match_replace8():
    """dst = data with the first match of each of 8 values replaced by the number `imm` (Vector).

    vals: [P, 8]; dst_idx: None or a tile [P, 8] of integers that receives where they were.
    """
