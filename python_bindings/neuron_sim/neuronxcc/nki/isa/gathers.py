"""neuronxcc.nki.isa: gathers, shuffles and the eight largest values."""

from .returned import returned

_CORE_PARTITIONS = 16  # that one GpSimd core serves


def _gathered_shape(index, elements, valid):
    per_partition = index.size // index.shape[0]
    if valid is None or valid == per_partition * _CORE_PARTITIONS:
        return (index.shape[0], per_partition, _CORE_PARTITIONS, elements)
    return (index.shape[0], valid, elements)


@returned(4, shape="_gathered_shape(index, num_elem_per_idx, num_valid_indices)")
def local_gather():
    """The gather of nki.isa.local_gather.

    A tile [P, entries of a partition of index, 16, num_elem_per_idx], or
    [P, num_valid_indices, num_elem_per_idx] when not all entries are valid.
    """


@returned(3, order="src dst shuffle_mask")
def nc_stream_shuffle():
    """dst[32 q + i] = src[32 q + shuffle_mask[i]] in every quadrant; 255 leaves dst unchanged."""


@returned(shape="(src.shape[0], 8)")
def max8():
    """[P, 8]: the 8 largest values of each partition, descending."""


@returned(shape="(data.shape[0], 8)", dtype="dtype_of('uint32')")
def nc_find_index8():
    """[P, 8] uint32 (or `dtype`): where each of the 8 values first is in its partition."""


@returned(shape="data.shape")
def nc_match_replace8():
    """data with the first match of each of 8 values replaced by `imm`.

    dst_idx, [P, 8], receives where they were, in place. A mask narrows data.
    """


@returned(shape="(segment_ids.shape[0], 2, segment_ids.shape[1])")
def sequence_bounds():
    """[1, 2, n]: where the segment of each element starts and ends."""
