"""New language: sums in PSUM, indices out of range, limits, dtypes and shapes."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import in_hbm
from new_tiles import loaded, output, tile
from seeded import seeded

F32 = np.float32
A = np.random.default_rng(0).uniform(0.5, 2, (128, 64)).astype(F32)
ROWS = np.random.default_rng(2).permutation(128).astype(np.int32)[:, None]
BEYOND = np.where(ROWS == 7, 128, ROWS)
TWICE = np.where(ROWS == 7, 9, ROWS)
PLACES = np.random.default_rng(4).integers(0, 64, (128, 16)).astype(np.uint32)
WEIGHTS = np.random.default_rng(3).uniform(-1, 1, (128, 512)).astype(F32)


@seeded("new", "psum-bank-crossing", A, WEIGHTS)
def product_across_two_banks(a, w, broken):
    y = tile(64, 512)
    sums = tile(64, 1024, buffer=nl.psum)
    part = sums[:, 256:768] if broken else sums[:, 512:1024]
    nisa.nc_matmul(dst=part, stationary=loaded(a), moving=loaded(w))  # defect
    nisa.tensor_copy(dst=y, src=part)
    return in_hbm(nl, y)


@seeded("new", "psum-interleaved-groups", A, WEIGHTS)
def sums_interleaved_in_one_bank(a, w, broken):
    y = tile(64, 256)
    x, z = loaded(a), loaded(w)
    sums = tile(64, 1024, buffer=nl.psum)
    parts = [sums[:, 0:128], sums[:, 128:256] if broken else sums[:, 512:640]]
    for i in range(2):
        for j, part in enumerate(parts):
            nisa.nc_matmul(  # defect
                dst=part, stationary=x, moving=z[:, j * 128 : (j + 1) * 128], accumulate=i > 0
            )
    for j, part in enumerate(parts):
        nisa.tensor_copy(dst=y[:, j * 128 : (j + 1) * 128], src=part)
    return in_hbm(nl, y)


@seeded("new", "lost-sum", A)
def sum_started_again(a, broken):
    x, y = loaded(a), tile(64, 64)
    sums = tile(64, 64, buffer=nl.psum)
    for i in range(2):
        part = x[64 * i : 64 * i + 64]
        nisa.nc_matmul(  # defect
            dst=sums, stationary=part, moving=part, accumulate=False if broken else i > 0
        )
    nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", "out.of.bound", A, BEYOND, ROWS)
def gather_beyond_the_table(a, beyond, rows, broken):
    out, x = output(a), tile(128, 64)
    index = loaded(beyond if broken else rows)
    nisa.dma_copy(dst=x, src=a.ap([[64, 128], [1, 64]], vector_offset=index))  # defect
    nisa.dma_copy(dst=out, src=x)
    return out


@seeded("new", "out.of.bound", A, BEYOND, ROWS)
def scatter_beyond_the_output(a, beyond, rows, broken):
    out, x = output(a), loaded(a)
    index = loaded(beyond if broken else rows)
    nisa.dma_copy(dst=out.ap([[64, 128], [1, 64]], vector_offset=index), src=x)  # defect
    return out


@seeded("new", "written-twice", A, TWICE, ROWS, synchronises=True)
def scatter_to_one_row_twice(a, twice, rows, broken):
    out, x = output(a), loaded(a)
    index = loaded(twice if broken else rows)
    nisa.dma_copy(dst=out.ap([[64, 128], [1, 64]], vector_offset=index), src=x)  # defect
    return out


@seeded("new", "out.of.bound|exceed", A, PLACES)
def gather_of_columns_beyond_the_tile(a, places, broken):
    out, x, y = output(a, (128, 16)), loaded(a), tile(128, 16)
    index = loaded(places)
    if broken:
        nisa.tensor_scalar(dst=index, data=index, op0=nl.add, operand0=32)
    nisa.nc_n_gather(dst=y, data=x, indices=index)  # defect
    nisa.dma_copy(dst=out, src=y)
    return out


@seeded("new", "out.of.bound|exceed", A)
def pattern_beyond_the_tensor(a, broken):
    out, x = output(a, (64, 64)), tile(64, 64)
    nisa.dma_copy(dst=x, src=a.ap([[64, 64], [1, 64]], offset=4097 if broken else 4096))  # defect
    nisa.dma_copy(dst=out, src=x)
    return out


@seeded("new", "out.of.bound|exceed", A)
def slice_beyond_the_tile(a, broken):
    out, x = output(a), loaded(a)
    for i in nl.static_range(4):
        first = i * 16 + (1 if broken else 0)
        part = x[:, nl.ds(first, 16)]  # defect
        nisa.dma_copy(dst=out[:, i * 16 : (i + 1) * 16], src=part)
    return out


@seeded("new", "out.of.bound", A, np.array([[0, 129]], np.int32), np.array([[0, 128]], np.int32))
def loop_on_chip_beyond_the_input(a, beyond, within, broken):
    out, total, row = output(a, (1, 64)), tile(1, 64), tile(1, 64)
    bounds = beyond if broken else within
    nisa.memset(dst=total, value=0.0)
    start, stop = nisa.register_alloc(), nisa.register_alloc()
    nisa.register_load(start, bounds[0:1, 0:1])
    nisa.register_load(stop, bounds[0:1, 1:2])
    for i in nl.dynamic_range(start, stop):
        nisa.dma_copy(dst=row, src=a.ap([[64, 1], [1, 64]], scalar_offset=i))  # defect
        nisa.tensor_tensor(dst=total, data1=total, data2=row, op=nl.add)
    nisa.dma_copy(dst=out, src=total)
    return out


@seeded("new", "condition|endless|for ever|never", A, np.array([[3]], np.int32))
def loop_that_never_ends(a, count, broken):
    total, left = loaded(a), loaded(count)
    reg = nisa.register_alloc(left)
    while reg:  # defect
        nisa.tensor_scalar(dst=total, data=total, op0=nl.multiply, operand0=2.0)
        nisa.tensor_scalar(dst=left, data=left, op0=nl.subtract, operand0=1)
        if not broken:
            nisa.register_load(reg, left)
    return in_hbm(nl, total)


@seeded("new", "partition", A)
def operands_of_unequal_partitions(a, broken):
    x, y = loaded(a), tile(128, 64)
    bias = tile(64 if broken else 128, 64)
    nisa.memset(dst=bias, value=1.0)
    nisa.tensor_tensor(dst=y, data1=x, data2=bias, op=nl.add)  # defect
    return in_hbm(nl, y)


@seeded("new", "exceed", np.concatenate([A, A]))
def tile_of_too_many_partitions(a, broken):
    out = output(a)
    rows = 256 if broken else 128
    for first in range(0, 256, rows):
        x = nl.ndarray((rows, 64), dtype=a.dtype, buffer=nl.sbuf)  # defect
        nisa.dma_copy(dst=x, src=a[first : first + rows])
        nisa.dma_copy(dst=out[first : first + rows], src=x)
    return out


@seeded("new", "psum|PSUM", A)
def product_into_sbuf(a, broken):
    x, y = loaded(a), tile(64, 64)
    sums = tile(64, 64, buffer=nl.sbuf if broken else nl.psum)
    nisa.nc_matmul(dst=sums, stationary=x, moving=x)  # defect
    nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", "dtype", A)
def product_of_integers(a, broken):
    y = tile(64, 64)
    x = tile(128, 64, dtype=nl.int32 if broken else nl.bfloat16)
    nisa.tensor_copy(dst=x, src=loaded(a))
    sums = tile(64, 64, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=x, moving=x)  # defect
    nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", "element", A)
def copy_of_fewer_elements(a, broken):
    out, x = output(a), loaded(a)
    nisa.dma_copy(dst=out, src=x[:, 0:63] if broken else x)  # defect
    return out


@seeded("new", "nc_transpose", A)
def transpose_into_the_wrong_shape(a, broken):
    x, y = loaded(a), tile(64, 128)
    turned = tile(64, 64 if broken else 128, buffer=nl.psum)
    nisa.nc_transpose(dst=turned, data=x)  # defect
    nisa.tensor_copy(dst=y, src=turned)
    return in_hbm(nl, y)


@seeded("new", "first-non-finite", A - 1)
def square_root_of_negative_numbers(a, broken):
    x, y = loaded(a), tile(128, 64)
    if not broken:
        nisa.tensor_scalar(dst=x, data=x, op0=nl.maximum, operand0=0.0)
    nisa.activation(dst=y, op=nl.sqrt, data=x)  # defect
    return in_hbm(nl, y)
