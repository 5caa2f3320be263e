"""New language: undefined elements on their way through sums and products, rows that a gather
skips, scratch that two cores share, results that nothing reads."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import in_hbm
from new_tiles import loaded, output, tile
from seeded import seeded

F32 = np.float32
A = np.random.default_rng(0).uniform(0.5, 2, (128, 64)).astype(F32)
RAGGED = A[:100]
ROWS = np.arange(128, dtype=np.int32)[:, None].copy()
BEYOND = np.where(ROWS == 7, 300, ROWS).astype(np.int32)
CORES = np.stack([A, A + 1])


def rows_of(a, rows):
    """A tile of 128 rows of which some are loaded."""
    x = tile(128, 64)
    nisa.dma_copy(dst=x[0:rows], src=a[0:rows])
    return x


def stored(x, rows):
    out = nl.ndarray((rows, x.shape[1]), dtype=x.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=x[0:rows])
    return out


@seeded("new", "uninitialised-read", A)
def ragged_sum_of_rows(a, broken):
    x, total = rows_of(a, 100), tile(128, 1)
    nisa.tensor_reduce(dst=total, op=nl.add, data=x, axis=1)  # defect
    return stored(total, 101 if broken else 100)


@seeded("new", "uninitialised-read", A)
def ragged_softmax(a, broken):
    x, largest, e, total = rows_of(a, 100), tile(128, 1), tile(128, 64), tile(128, 1)
    nisa.tensor_reduce(dst=largest, op=nl.maximum, data=x, axis=1, negate=True)  # defect
    nisa.activation_reduce(
        dst=e, op=nl.exp, data=x, bias=largest, reduce_op=nl.add, reduce_res=total
    )
    nisa.reciprocal(dst=total, data=total)
    nisa.tensor_scalar(dst=e, data=e, op0=nl.multiply, operand0=total)
    return stored(e, 128 if broken else 100)


@seeded("new", "uninitialised-read", A)
def sum_beside_an_activation(a, broken):
    x, e, total = rows_of(a, 127), tile(128, 64), tile(128, 1)
    nisa.activation_reduce(dst=e, op=nl.exp, data=x, reduce_op=nl.add, reduce_res=total)  # defect
    return stored(total, 128 if broken else 127)


@seeded("new", "uninitialised-read", A)
def ragged_rows_of_a_product(a, broken):
    x, ones = tile(128, 64), tile(128, 32)
    nisa.dma_copy(dst=x[:, 0:60], src=a[:, 0:60])
    nisa.memset(dst=ones, value=1.0)
    product, y = tile(64, 32, buffer=nl.psum), tile(64, 32)
    nisa.nc_matmul(dst=product, stationary=x, moving=ones)  # defect
    nisa.tensor_copy(dst=y, src=product)
    return stored(y, 64 if broken else 60)


@seeded("new", "uninitialised-read", A)
def ragged_contraction_of_a_product(a, broken):
    x, ones = rows_of(a, 127 if broken else 128), tile(128, 32)
    nisa.memset(dst=ones, value=1.0)
    product, y = tile(64, 32, buffer=nl.psum), tile(64, 32)
    nisa.nc_matmul(dst=product, stationary=x, moving=ones)  # defect
    nisa.tensor_copy(dst=y, src=product)
    return stored(y, 1)


@seeded("new", "uninitialised-read", A)
def ragged_tile_through_a_transpose(a, broken):
    x, turned, y = rows_of(a, 100), tile(64, 128, buffer=nl.psum), tile(64, 1)
    nisa.nc_transpose(dst=turned, data=x)
    used = 101 if broken else 100
    nisa.tensor_reduce(dst=y, op=nl.add, data=turned[:, 0:used], axis=1)  # defect
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", A)
def statistics_of_a_ragged_tile(a, broken):
    x, statistics, y = rows_of(a, 100), tile(128, 6), tile(128, 2)
    nisa.bn_stats(dst=statistics, data=x)  # defect
    nisa.bn_aggr(dst=y, data=statistics)
    return stored(y, 128 if broken else 100)


@seeded("new", "uninitialised-read", A)
def largest_values_of_a_ragged_tile(a, broken):
    x, y = rows_of(a, 100), tile(128, 8)
    nisa.max8(dst=y, src=x)  # defect
    return stored(y, 128 if broken else 100)


@seeded("new", "uninitialised-read", A)
def column_that_a_scan_starts_with(a, broken):
    x, y = tile(128, 64), tile(128, 64)
    nisa.dma_copy(dst=x[:, 1:64], src=a[:, 1:64])
    if not broken:
        nisa.memset(dst=x[:, 0:1], value=0.0)
    nisa.tensor_tensor_scan(y, x, x, 0.0, op0=nl.multiply, op1=nl.add)  # defect
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", A)
def groups_of_a_sum(a, broken):
    x, y = tile(128, 4, 16), tile(128, 4)
    nisa.dma_copy(dst=x[:, 0:3], src=a[:, 0:48].reshape((128, 3, 16)))
    nisa.tensor_reduce(dst=y, op=nl.add, data=x, axis=2)  # defect
    last = 4 if broken else 3
    out = nl.ndarray((128, last), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=y[:, 0:last])
    return out


@seeded("new", "uninitialised-read", A, BEYOND, ROWS)
def rows_that_a_gather_skips(a, beyond, rows, broken):
    index, x = tile(128, 1, dtype=nl.int32), tile(128, 64)
    nisa.dma_copy(dst=index, src=beyond if broken else rows)
    source = a.ap([[64, 128], [1, 64]], vector_offset=index, indirect_dim=0)
    nisa.dma_copy(dst=x, src=source, oob_mode=nisa.oob_mode.skip)  # defect
    return in_hbm(nl, x)


@seeded("new", "uninitialised-read", A, BEYOND)
def rows_that_a_gather_skips_under_a_sum(a, beyond, broken):
    index, x, y = tile(128, 1, dtype=nl.int32), tile(128, 64), tile(128, 1)
    nisa.dma_copy(dst=index, src=beyond)
    if not broken:
        nisa.memset(dst=x, value=0.0)
    source = a.ap([[64, 128], [1, 64]], vector_offset=index, indirect_dim=0)
    nisa.dma_copy(dst=x, src=source, oob_mode=nisa.oob_mode.skip)
    nisa.tensor_reduce(dst=y, op=nl.add, data=x, axis=1)  # defect
    return in_hbm(nl, y)


@seeded("new", "unwritten-output", A, BEYOND, ROWS)
def rows_that_a_scatter_skips(a, beyond, rows, broken):
    index, x = tile(128, 1, dtype=nl.int32), loaded(a)
    nisa.dma_copy(dst=index, src=beyond if broken else rows)
    out = output(a)
    target = out.ap([[64, 128], [1, 64]], vector_offset=index, indirect_dim=0)
    nisa.dma_copy(dst=target, src=x, oob_mode=nisa.oob_mode.skip)  # defect
    return out


@seeded("new", "instance-race", CORES, grid=(2,), synchronises=True)
def cores_share_scratch(a, broken):
    core, x = nl.program_id(0), tile(128, 64)
    out, scratch = output(a), nl.ndarray((2, 128, 64), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=x, src=a[core])
    place = 0 if broken else core
    nisa.dma_copy(dst=scratch[place], src=x)  # defect
    nisa.dma_copy(dst=x, src=scratch[place])
    nisa.dma_copy(dst=out[core], src=x)
    return out


@seeded("new", "instance-race", CORES, grid=(2,), synchronises=True)
def cores_sum_into_one_scratch_row(a, broken):
    core, x, y = nl.program_id(0), tile(128, 64), tile(128, 1)
    out = nl.ndarray((2, 128, 1), dtype=a.dtype, buffer=nl.shared_hbm)
    scratch = nl.ndarray((128, 1), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=x, src=a[core if broken else 0])
    nisa.tensor_reduce(dst=y, op=nl.add, data=x, axis=1)
    nisa.dma_copy(dst=scratch, src=y)  # defect
    nisa.dma_copy(dst=y, src=scratch)
    nisa.dma_copy(dst=out[core], src=y)
    return out


@seeded("new", "instance-race", CORES, grid=(2,), synchronises=True)
def cores_write_one_output(a, broken):
    core, x = nl.program_id(0), tile(128, 64)
    out = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=x, src=a[core if broken else 1])
    nisa.dma_copy(dst=out, src=x)  # defect
    return out


@seeded("new", "unused-result", A)
def result_dropped(a, broken):
    x, y = loaded(a), tile(128, 64)
    nisa.activation(dst=y, op=nl.exp, data=x)  # defect
    return in_hbm(nl, x if broken else y)


@seeded("new", "unused-result", A)
def last_correction_dropped(a, broken):
    x, y, z = loaded(a), tile(128, 64), tile(128, 1)
    nisa.tensor_reduce(dst=z, op=nl.add, data=x, axis=1)
    nisa.reciprocal(dst=z, data=z)  # defect
    if broken:
        return in_hbm(nl, x)
    nisa.tensor_scalar(dst=y, data=x, op0=nl.multiply, operand0=z)
    return in_hbm(nl, y)


@seeded("new", "unused-result", A)
def product_dropped(a, broken):
    x, sums, y = loaded(a), tile(64, 64, buffer=nl.psum), tile(64, 64)
    nisa.nc_matmul(dst=sums, stationary=x, moving=x)  # defect
    if broken:
        nisa.tensor_copy(dst=y, src=x[0:64])
    else:
        nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", RAGGED)
def ragged_normalisation_in_scratch(a, broken):
    x, y = rows_of(a, 100), tile(128, 1)
    scratch = nl.ndarray((128, 1), dtype=a.dtype, buffer=nl.hbm)
    nisa.tensor_reduce(dst=y, op=nl.add, data=x, axis=1)  # defect
    nisa.dma_copy(dst=scratch, src=y)
    used = 101 if broken else 100
    nisa.dma_copy(dst=y[0:used], src=scratch[0:used])
    return stored(y, used)
