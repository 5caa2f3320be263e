"""Old language: iterations and instances that meet, sums in PSUM, indices and limits."""

import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
from isa_harness import in_hbm
from seeded import seeded

F32 = np.float32
A = np.random.default_rng(0).uniform(0.5, 2, (128, 64)).astype(F32)
TALL = np.random.default_rng(1).uniform(0.5, 2, (512, 64)).astype(F32)
ROWS = np.random.default_rng(2).permutation(128).astype(np.int32)[:, None]
BEYOND = np.where(ROWS == 7, 512, ROWS)
WEIGHTS = np.random.default_rng(3).uniform(-1, 1, (128, 512)).astype(F32)


def output(a, shape=None):
    return nl.ndarray(shape or a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


@seeded("old", "carried-dependency", A, synchronises=True)
def prefix_sum_in_an_affine_range(a, broken):
    x = nl.load(a)
    loop = nl.affine_range if broken else nl.sequential_range
    for i in loop(63):
        x[:, i + 1] = nl.add(x[:, i], x[:, i + 1])  # defect
    return in_hbm(nl, x)


@seeded("old", "carried-dependency", TALL, synchronises=True)
def iterations_hand_on_through_hbm(a, broken):
    out = output(a, (5, 128, 64))
    nl.store(out[0], nl.load(a[0:128]))
    loop = nl.affine_range if broken else nl.sequential_range
    for i in loop(4):
        before = nl.load(out[i])  # defect
        nl.store(out[i + 1], nl.add(before, nl.load(a[i * 128 : (i + 1) * 128])))  # defect
    return out


@seeded("old", "carried-value", TALL, synchronises=True)
def last_tile_kept_for_the_next_iteration(a, broken):
    out = output(a)
    kept = nl.zeros((128, 64), dtype=F32)
    loop = nl.affine_range if broken else nl.sequential_range
    for i in loop(4):
        x = nl.load(a[i * 128 : (i + 1) * 128])
        nl.store(out[i * 128 : (i + 1) * 128], nl.subtract(x, kept))  # defect
        kept[...] = nl.copy(x)  # defect
    return out


@seeded("old", "Unexpected output dependencies", TALL, synchronises=True)
def iterations_store_to_the_same_rows(a, broken):
    out = output(a)
    if broken:
        for i in nl.affine_range(4):
            nl.store(out[0:128], nl.load(a[i * 128 : (i + 1) * 128]))  # defect
    for i in nl.affine_range(4):
        nl.store(out[i * 128 : (i + 1) * 128], nl.load(a[i * 128 : (i + 1) * 128]))
    return out


@seeded("old", "instance-race", TALL, grid=(4,), synchronises=True)
def instances_write_the_same_rows(a, broken):
    out = output(a)
    i = nl.program_id(0)
    x = nl.load(a[i * 128 : (i + 1) * 128])
    row = 0 if broken else i
    nl.store(out[row * 128 : (row + 1) * 128], x)  # defect
    return out


@seeded("old", "instance-race", TALL, grid=(4,), synchronises=True)
def instances_write_rows_that_overlap(a, broken):
    step = 100 if broken else 128
    out = output(a, (3 * step + 128, 64))
    i = nl.program_id(0)
    x = nl.load(a[i * 128 : (i + 1) * 128])
    nl.store(out[i * step : i * step + 128], x)  # defect
    return out


@seeded("old", "instance-race", TALL, grid=(4,), synchronises=True)
def instance_reads_what_another_writes(a, broken):
    out = output(a)
    i = nl.program_id(0)
    x = nl.load(a[i * 128 : (i + 1) * 128])
    nl.store(out[i * 128 : (i + 1) * 128], x)  # defect
    if broken:
        y = nl.load(out[(3 - i) * 128 : (4 - i) * 128])  # defect
        nl.store(out[i * 128 : (i + 1) * 128], nl.add(x, y))
    return out


@seeded("old", "instance-race", TALL, grid=(2, 2), synchronises=True)
def instances_of_one_row_of_a_grid_collide(a, broken):
    out = output(a, (2, 1 if broken else 2, 128, 64))
    i, j = nl.program_id(0), nl.program_id(1)
    x = nl.load(a[(2 * i + j) * 128 : (2 * i + j + 1) * 128])
    nl.store(out[i, 0 if broken else j], x)  # defect
    return out


@seeded("old", "psum-bank-crossing", A, WEIGHTS)
def product_across_two_banks(a, w, broken):
    x, y = nl.load(a), nl.load(w)
    sums = nl.zeros((64, 1024), dtype=F32, buffer=nl.psum)
    first = 256 if broken else 512
    sums[:, first : first + 512] += nisa.nc_matmul(x, y)  # defect
    return in_hbm(nl, nl.copy(sums[:, first : first + 512]))


@seeded("old", "psum-interleaved-groups", A, WEIGHTS)
def sums_interleaved_in_one_bank(a, w, broken):
    out = output(a, (64, 256))
    x, y = nl.load(a), nl.load(w)
    both = nl.ndarray((64, 1024), dtype=F32, buffer=nl.psum)
    second = 128 if broken else 512
    both[:, 0:128] = nisa.nc_matmul(x, y[:, 0:128])
    both[:, second : second + 128] = nisa.nc_matmul(x, y[:, 128:256])
    both[:, 0:128] += nisa.nc_matmul(x, y[:, 256:384])  # defect
    both[:, second : second + 128] += nisa.nc_matmul(x, y[:, 384:512])  # defect
    nl.store(out[:, 0:128], nl.copy(both[:, 0:128]))
    nl.store(out[:, 128:256], nl.copy(both[:, second : second + 128]))
    return out


@seeded("old", "written-twice|overwritten-output", TALL, synchronises=True)
def rows_of_an_output_written_twice(a, broken):
    out = output(a)
    step = 128
    nl.store(out[0:128], nl.load(a[0:128]))  # defect
    first = 120 if broken else 128
    nl.store(out[first : first + 128], nl.load(a[128:256]))  # defect
    for i in nl.affine_range(2 if not broken else 1):
        nl.store(out[256 + i * step : 384 + i * step], nl.load(a[256 + i * step : 384 + i * step]))
    if broken:
        nl.store(out[248:256], nl.load(a[0:8]))
        nl.store(out[384:512], nl.load(a[384:512]))
    return out


@seeded("old", "out.of.bound", TALL, BEYOND, ROWS)
def gather_beyond_the_table(a, beyond, rows, broken):
    out = output(a, (128, 64))
    index = nl.load(beyond if broken else rows)
    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
    x = nl.load(a[index[p, 0], f])  # defect
    nl.store(out, x)
    return out


@seeded("old", "out.of.bound", A, BEYOND, ROWS)
def scatter_beyond_the_output(a, beyond, rows, broken):
    out = output(a)
    index = nl.load(beyond if broken else rows)
    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
    nl.store(out[index[p, 0], f], nl.load(a))  # defect
    return out


@seeded("old", "out.of.bound", TALL)
def slice_beyond_the_input(a, broken):
    out = output(a, (3, 128, 64))
    for i in nl.affine_range(3):
        first = (i + 2 if broken else i) * 128
        nl.store(out[i], nl.load(a[nl.ds(first, 128)]))  # defect
    return out


@seeded("old", "out.of.bound", TALL[:500])
def mask_beyond_the_input(a, broken):
    out = output(a)
    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
    limit = 501 if broken else 500
    for i in nl.affine_range(4):
        x = nl.load(a[i * 128 + p, f], mask=i * 128 + p < limit)  # defect
        nl.store(out[i * 128 + p, f], x, mask=i * 128 + p < 500)
    return out


@seeded("old", "number of partitions .* mismatch", A)
def operands_of_unequal_partitions(a, broken):
    out = output(a)
    x = nl.load(a)
    y = nl.load(a[0 : 64 if broken else 128])
    nl.store(out, nisa.tensor_tensor(x, y, op=nl.add))  # defect
    return out


@seeded("old", "exceed", TALL)
def load_of_too_many_partitions(a, broken):
    out = output(a)
    rows = 129 if broken else 128
    for i in nl.affine_range(3 if broken else 4):
        nl.store(out[i * rows : (i + 1) * rows], nl.load(a[i * rows : (i + 1) * rows]))  # defect
    return out


@seeded("old", "exceed", A, np.concatenate([WEIGHTS, WEIGHTS], 1))
def moving_operand_too_wide(a, w, broken):
    x, y = nl.load(a), nl.load(w)
    sums = nisa.nc_matmul(x, y if broken else y[:, 0:512])  # defect
    return in_hbm(nl, nl.copy(sums[:, 0:512]))


@seeded("old", "dtype|float32", A, A.astype(np.float16))
def product_of_two_dtypes(a, half, broken):
    x, y = nl.load(a), nl.load(half)
    sums = nisa.nc_matmul(x, y if broken else x)  # defect
    return in_hbm(nl, nl.copy(sums))


@seeded("old", "Illegal assignment destination shape|smaller", A)
def sum_assigned_to_one_column(a, broken):
    x = nl.load(a)
    total = nl.ndarray((128, 1 if broken else 64), dtype=F32, buffer=nl.sbuf)
    total[...] = nl.multiply(x, 2.0)  # defect
    return in_hbm(nl, nl.add(x, total))


@seeded("old", "address space", A)
def activation_of_a_tensor_in_hbm(a, broken):
    x = nl.exp(a if broken else nl.load(a))  # defect
    return in_hbm(nl, x)


@seeded("old", "out.of.bound", A, np.array([[60]], np.int32), np.array([[59]], np.int32))
def dynamic_copy_beyond_the_tile(a, beyond, within, broken):
    out = output(a, (128, 5))
    x, start = nl.load(a), nl.load(beyond if broken else within)
    p, f = nl.mgrid[0:128, 0:5]
    nl.store(out, nisa.tensor_copy_dynamic_src(x[p, start[0, 0] + f]))  # defect
    return out


@seeded("old", "out.of.bound|exceed", TALL)
def transpose_of_columns_beyond_the_input(a, broken):
    out = output(a, (64, 128))
    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
    x = nl.load(a[p + (400 if broken else 384), f])  # defect
    nl.store(out, nl.transpose(x))
    return out


@seeded("old", "first-non-finite", A - 1)
def logarithm_of_negative_numbers(a, broken):
    x = nl.load(a)
    if not broken:
        x = nl.abs(x) + 1.0
    y = nl.log(x)  # defect
    return in_hbm(nl, y)
