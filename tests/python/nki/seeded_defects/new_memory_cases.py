"""New language: memory that nothing wrote, outputs without contents, tiles that share bytes."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import in_hbm
from new_tiles import loaded, output, tile
from seeded import seeded

F32 = np.float32
A = np.random.default_rng(0).uniform(0.5, 2, (128, 64)).astype(F32)
TALL = np.random.default_rng(1).uniform(0.5, 2, (500, 64)).astype(F32)


@seeded("new", "uninitialised-read", A)
def tile_nothing_wrote(a, broken):
    x, y = loaded(a), tile(128, 64)
    if not broken:
        nisa.memset(dst=y, value=1.0)
    nisa.tensor_tensor(dst=x, data1=x, data2=y, op=nl.add)  # defect
    return in_hbm(nl, x)


@seeded("new", "uninitialised-read", A)
def one_element_nothing_wrote(a, broken):
    x = loaded(a)
    padded = tile(128, 66)
    nisa.memset(dst=padded[:, 0:1], value=0.0)
    nisa.tensor_copy(dst=padded[:, 1:65], src=x)
    if not broken:
        nisa.memset(dst=padded[:, 65:66], value=0.0)
    y = tile(128, 64)
    nisa.tensor_tensor(dst=y, data1=padded[:, 0:64], data2=padded[:, 2:66], op=nl.add)  # defect
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", A)
def one_partition_nothing_wrote(a, broken):
    x, y = tile(128, 64), tile(128, 64)
    rows = 127 if broken else 128
    nisa.dma_copy(dst=x[0:rows], src=a[0:rows])
    nisa.activation(dst=y, op=nl.exp, data=x)  # defect
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", A)
def psum_nothing_wrote(a, broken):
    x, y = loaded(a), tile(64, 64)
    sums = tile(64, 64, buffer=nl.psum)
    if not broken:
        nisa.nc_matmul(dst=sums, stationary=x, moving=x)
    nisa.tensor_copy(dst=y, src=sums)  # defect
    return in_hbm(nl, y)


@seeded("new", "psum-accumulate-without-start", A)
def sum_that_nothing_started(a, broken):
    x, y = loaded(a), tile(64, 64)
    sums = tile(64, 64, buffer=nl.psum)
    for i in range(2):
        add = True if broken else i > 0
        nisa.nc_matmul(dst=sums, stationary=x, moving=x, accumulate=add)  # defect
    nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", A)
def last_row_of_a_scratch_tensor(a, broken):
    x, y = loaded(a), tile(128, 64)
    scratch = tile(128, 64, buffer=nl.private_hbm)
    rows = 127 if broken else 128
    nisa.dma_copy(dst=scratch[0:rows], src=x[0:rows])
    nisa.dma_copy(dst=y, src=scratch)  # defect
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", TALL)
def remainder_of_the_last_tile(a, broken):
    total = tile(128, 1)
    nisa.memset(dst=total, value=0.0)
    for first in range(0, 500, 128):
        rows = min(128, 500 - first)
        x, partial = tile(128, 64), tile(128, 1)
        if not broken:
            nisa.memset(dst=x, value=0.0)
        nisa.dma_copy(dst=x[0:rows], src=a[first : first + rows])
        nisa.tensor_reduce(dst=partial, op=nl.add, data=x, axis=1)  # defect
        nisa.tensor_tensor(dst=total, data1=total, data2=partial, op=nl.add)
    return in_hbm(nl, total)


@seeded("new", "uninitialised-read", A)
def columns_through_a_strided_pattern(a, broken):
    x, y = tile(128, 64), tile(128, 64)
    nisa.dma_copy(dst=x.ap([[64, 128], [2, 32]]), src=a[:, 0:32])
    if not broken:
        nisa.dma_copy(dst=x.ap([[64, 128], [2, 32]], offset=1), src=a[:, 32:64])
    nisa.tensor_scalar(dst=y, data=x, op0=nl.multiply, operand0=2.0)  # defect
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", A)
def buffers_taken_the_wrong_way_round(a, broken):
    out = output(a, (4, 128, 16))
    buffers = [tile(128, 16), tile(128, 16)]
    nisa.dma_copy(dst=buffers[0], src=a[:, 0:16])
    for i in range(4):
        y = tile(128, 16)
        this = buffers[(i + 1) % 2 if broken else i % 2]
        nisa.activation(dst=y, op=nl.exp, data=this)  # defect
        if i < 3:
            nisa.dma_copy(dst=buffers[(i + 1) % 2], src=a[:, (i + 1) * 16 : (i + 2) * 16])
        nisa.dma_copy(dst=out[i], src=y)
    return out


@seeded("new", "unwritten-output|never written", A)
def output_never_written(a, broken):
    out, x = output(a), loaded(a)
    other = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    nisa.dma_copy(dst=out, src=x)
    if not broken:
        nisa.dma_copy(dst=other, src=x)
    return out, other


@seeded("new", "unwritten-output", TALL)
def last_tile_of_an_output_missing(a, broken):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    for first in range(0, 384 if broken else 500, 128):
        rows = min(128, 500 - first)
        x = tile(rows, 64)
        nisa.dma_copy(dst=x, src=a[first : first + rows])
        nisa.dma_copy(dst=out[first : first + rows], src=x)
    return out


@seeded("new", "unwritten-output", A)
def one_column_of_an_output_missing(a, broken):
    x = loaded(a)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    columns = 63 if broken else 64
    nisa.dma_copy(dst=out[:, 0:columns], src=x[:, 0:columns])
    return out


@seeded("new", "overwritten-read", A)
def addresses_overlap(a, broken):
    x = tile(128, 64, address=(0, 0))
    y = tile(128, 64, address=(0, 252 if broken else 256))
    nisa.dma_copy(dst=x, src=a)
    nisa.memset(dst=y, value=1.0)
    nisa.tensor_tensor(dst=y, data1=x, data2=y, op=nl.add)  # defect
    return in_hbm(nl, y)


@seeded("new", "overwritten-read", A)
def sums_placed_in_the_same_bank(a, broken):
    x, y = loaded(a), tile(64, 64)
    first = tile(64, 64, buffer=nl.psum, address=(0, 0))
    second = tile(64, 64, buffer=nl.psum, address=(0, 0 if broken else 2048))
    nisa.nc_matmul(dst=first, stationary=x, moving=x)
    nisa.nc_matmul(dst=second, stationary=x, moving=x)
    nisa.tensor_copy(dst=y, src=first)  # defect
    nisa.tensor_tensor(dst=y, data1=y, data2=second, op=nl.add)
    return in_hbm(nl, y)


@seeded("new", "partial-overlap", A)
def shift_in_place(a, broken):
    x, y = loaded(a), tile(128, 64)
    target = x if broken else y
    nisa.tensor_copy(dst=target[:, 1:64], src=x[:, 0:63])  # defect
    nisa.tensor_copy(dst=target[:, 0:1], src=x[:, 63:64])
    return in_hbm(nl, target)


@seeded("new", "partial-overlap", A, synchronises=True)
def rows_moved_within_one_tensor(a, broken):
    out, x = output(a), loaded(a)
    work, other = tile(128, 64, buffer=nl.private_hbm), tile(128, 64, buffer=nl.private_hbm)
    nisa.dma_copy(dst=work, src=x)
    target = work if broken else other
    nisa.dma_copy(dst=target[1:128], src=work[0:127])  # defect
    nisa.dma_copy(dst=target[0:1], src=x[127:128])
    nisa.dma_copy(dst=out, src=target)
    return out


@seeded("new", "do not fit|does not fit|capacity|exceed", A)
def tiles_beyond_the_capacity(a, broken):
    out, x = output(a), tile(128, 40000 if broken else 20000)
    y = nl.ndarray((128, 20000), dtype=a.dtype, buffer=nl.sbuf)  # defect
    nisa.memset(dst=x, value=1.0)
    nisa.memset(dst=y, value=1.0)
    nisa.tensor_tensor(dst=x[:, 0:64], data1=x[:, 0:64], data2=y[:, 0:64], op=nl.add)
    nisa.dma_copy(dst=out, src=x[:, 0:64])
    return out
