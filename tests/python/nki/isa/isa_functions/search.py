"""The largest values, where values are, and bounds of runs."""

import neuron_sim.neuronxcc.nki.isa as old_nisa
import neuron_sim.neuronxcc.nki.language as old_nl
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import integers

from .function import EVERYWHERE, Cost, Example, Function, Limit
from .tiles import column, half, hundreds, old_wide, tile, wide


def _nonzero(a):
    dst = nl.ndarray((32, 41), nl.int32)
    nisa.memset(dst, 0)
    nisa.nonzero_with_count(dst, a)
    return dst


def _nonzero_places(a):
    expected = np.zeros((32, 41))
    for partition in (0, 16):
        places = np.flatnonzero(a[partition])
        expected[partition, :40] = -1
        expected[partition, : places.size] = places
        expected[partition, 40] = places.size
    return expected


max8 = Function(
    signature="dst, src, name=None",
    old_signature="*, src, mask=None, dtype=None, **kwargs",
    limit=Limit(lambda k: nisa.max8(tile(128, 8), tile(128, k)), (8, 7),
        "operand 'src' of 'max8' has 7 elements per partition; architecture trn2 allows 8 to "
        "16384."),
    costs=Cost("Vector", lambda n: nisa.max8(tile(128, 8), wide(n)), EVERYWHERE,
        old_body=lambda n: old_nisa.max8(src=old_wide(n))),
    examples=Example(lambda a: old_nisa.max8(src=a), [hundreds(32, 128)],
        lambda a: -np.sort(-a, axis=1)[:, :8]),
)  # fmt: skip
nc_find_index8 = Function(
    signature="dst, data, vals, name=None",
    old_signature="*, data, vals, mask=None, dtype=None, **kwargs",
    limit=Limit(
        lambda k: nisa.nc_find_index8(tile(128, 8, dtype=nl.uint32), tile(128, 40), tile(128, k)),
        (8, 9),
        "operand 'vals' of 'nc_find_index8' has 9 elements per partition, but must have 8."),
    costs=Cost("Vector",
        lambda n: nisa.nc_find_index8(tile(128, 8, dtype=nl.uint32), wide(n), tile(128, 8)),
        EVERYWHERE, old_body=lambda n: old_nisa.nc_find_index8(data=old_wide(n), vals=old_wide(8))),
    examples=Example(lambda a: old_nisa.nc_find_index8(data=a, vals=old_nisa.max8(src=a)),
        [hundreds(32, 128)], lambda a: np.argsort(-a, axis=1)[:, :8]),
)  # fmt: skip
nc_match_replace8 = Function(
    signature="dst, data, vals, imm, dst_idx=None, name=None",
    old_signature="*, data, vals, imm, dst_idx=None, mask=None, dtype=None, **kwargs",
    limit=Limit(lambda k: nisa.nc_match_replace8(tile(128, 40), tile(128, 40), tile(128, k), 0.0),
        (8, 9),
        "operand 'vals' of 'nc_match_replace8' has 9 elements per partition, but must have 8."),
    costs=Cost("Vector", lambda n: nisa.nc_match_replace8(wide(n), wide(n), tile(128, 8), 0.0),
        EVERYWHERE,
        old_body=lambda n: old_nisa.nc_match_replace8(data=old_wide(n), vals=old_wide(8), imm=0.0)),
    examples=Example(
        lambda a: old_nisa.nc_match_replace8(data=a[:, :], vals=old_nisa.max8(src=a), imm=-1.0),
        [hundreds(4, 16)], lambda a: np.where(a >= -np.sort(-a, axis=1)[:, 7:8], -1.0, a)),
)  # fmt: skip
nonzero_with_count = Function(
    signature="dst, src, index_offset=0, padding_val=-1, name=None",
    limit=Limit(
        lambda k: nisa.nonzero_with_count(tile(128, k, dtype=nl.int32),
            tile(128, 40, dtype=nl.int32)), (41, 40),
        "operand 'dst' of 'nonzero_with_count' (tensor[128, 40]) must have 41 elements per "
        "partition, one more than operand 'src' (tensor[128, 40])."),
    costs=Cost("GpSimd",
        lambda n: nisa.nonzero_with_count(wide(n + 1, nl.int32), wide(n, nl.int32)), (None, 2, 2),
        undocumented=True),
    examples=Example(_nonzero, [integers(32, 40, high=2, dtype=np.float32)], _nonzero_places,
        language="new"),
)  # fmt: skip
sequence_bounds = Function(
    signature="dst, segment_ids, name=None",
    old_signature="*, segment_ids, dtype=None, **kwargs",
    limit=Limit(lambda k: nisa.sequence_bounds(tile(1, 2, k), tile(1, 40)), (40, 41),
        "operand 'dst' of 'sequence_bounds' is tensor[1, 2, 41], but must be [1, 2, 40] for "
        "operand 'segment_ids' (tensor[1, 40])."),
    costs=Cost("GpSimd", lambda n: nisa.sequence_bounds(tile(1, 2, n), tile(1, n)), (2, 2, 2),
        undocumented=True,
        old_body=lambda n: old_nisa.sequence_bounds(
            segment_ids=old_nl.ndarray((1, n), dtype=old_nl.float32, buffer=old_nl.sbuf))),
    examples={
        "of sorted segments": Example(lambda ids: old_nisa.sequence_bounds(segment_ids=ids),
            [np.sort(integers(1, 64, low=1, high=8), axis=1)],
            lambda ids: np.stack([np.searchsorted(ids[0], ids, s) for s in ("left", "right")], 1)),
    },
)  # fmt: skip
topk = Function(
    signature="val_dst, idx_dst, src, n, name=None",
    limit=Limit(
        lambda k: nisa.topk(tile(128, 1, dtype=nl.bfloat16), tile(128, 1, dtype=nl.uint32),
            tile(128, 16, dtype=nl.bfloat16), k), (256, 257),
        "n 257 of 'topk' exceeds the 256 elements in 16 partitions of operand 'src' (tensor[128, "
        "16])."),
    costs=Cost("GpSimd",
        lambda n: nisa.topk(column(nl.bfloat16), column(nl.uint32), half(n // 16), n), (4, 4, 4),
        extra=1),
    example_test="test_isa_gathers::test_topk_of_a_snake_over_16_partitions",
)  # fmt: skip
