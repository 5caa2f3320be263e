"""Gathers of elements and shuffles of partitions (device/isa/movement)."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np

from .function import EVERYWHERE, Cost, Example, Function, Limit
from .tiles import hundreds, old_wide, tile, wide


def _shuffle(n):
    return old_nisa.nc_stream_shuffle(old_wide(n), old_wide(n), list(range(32)))


def _swapped(a):
    mask = list(range(16, 32)) + list(range(16))
    old_nisa.nc_stream_shuffle(src=a, dst=a, shuffle_mask=mask)
    return a


def _to_all_partitions(a):
    b = old_nl.ndarray((32, 128), dtype=old_nl.float32)
    i_p, i_f = old_nl.mgrid[0:1, 0:128]
    old_nisa.nc_stream_shuffle(src=a[i_p, i_f], dst=b, shuffle_mask=[0] * 32)
    return b


local_gather = Function(
    signature="dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, name=None",
    old_signature="src_buffer, index, num_elem_per_idx=1, num_valid_indices=None, *, mask=None, "
    "**kwargs",
    limit=Limit(
        lambda k: nisa.local_gather(
            tile(128, 64), tile(128, 64), tile(128, 4, dtype=nl.uint16), num_elem_per_idx=k
        ),
        (1, 3),
        "num_elem_per_idx 3 of 'local_gather' is not supported; expected 1, 2, 4, 8, 16 or 32.",
    ),  # 16 indices per index element;
    # C = ((28 + 4 e) / (4 e)) / min(4 / itemsize, e) with e = 1.
    costs=Cost(
        "GpSimd",
        lambda n: nisa.local_gather(wide(n), wide(512), wide(n // 16, nl.uint16)),
        (1 / 8, 1 / 8, 1 / 8),
        old_body=lambda n: old_nisa.local_gather(old_wide(512), old_wide(n // 16, old_nl.uint16)),
    ),
    example_test="test_isa_examples::test_local_gather_takes_four_elements_per_index_for_each_core",
)
nc_n_gather = Function(
    signature="dst, data, indices, name=None",
    limit=Limit(lambda k: nisa.nc_n_gather(tile(128, 40), tile(128, 40), tile(128, 40, dtype=k)),
        (nl.uint32, nl.int32),
        "dtype int32 of operand 'indices' of 'nc_n_gather' is not supported; expected uint32.",
        error=TypeError),
    costs=Cost("GpSimd", lambda n: nisa.nc_n_gather(wide(n), wide(n), wide(n, nl.uint32)),
        (2, 2, 2), undocumented=True),
    example_test="test_isa_gathers::test_nc_n_gather_takes_elements_of_each_partition",
)  # fmt: skip
nc_stream_shuffle = Function(
    signature="dst, src, shuffle_mask, name=None",
    old_signature="src, dst, shuffle_mask, *, dtype=None, mask=None, **kwargs",
    limit=Limit(lambda k: nisa.nc_stream_shuffle(tile(128, 40), tile(128, 40), [k] * 32), (31, 32),
        "shuffle_mask[0] of 'nc_stream_shuffle' is 32, but must be 0 to 31, or 255 to leave the "
        "partition unchanged."),
    costs=Cost("Vector", lambda n: nisa.nc_stream_shuffle(wide(n), wide(n), list(range(32))),
        EVERYWHERE, old_body=_shuffle),
    examples={
        "": Example(_swapped, [hundreds(32, 128)], lambda a: np.concatenate([a[16:], a[:16]])),
        "as a broadcast": Example(_to_all_partitions, [hundreds(1, 128)],
            lambda a: np.repeat(a, 32, axis=0)),
    },
)  # fmt: skip
