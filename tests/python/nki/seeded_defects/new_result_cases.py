"""New language: outputs left out, memory that is shared, cores and ranks out of order, and values
that a number format does not have."""

import neuron_sim.nki.collectives as ncc
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import in_hbm
from new_tiles import loaded, output, tile
from seeded import seeded

F32 = np.float32
A = np.random.default_rng(8).uniform(0.5, 2, (128, 64)).astype(F32)
TALL = np.random.default_rng(9).uniform(0.5, 2, (256, 64)).astype(F32)
WEIGHTS = np.random.default_rng(10).uniform(-1, 1, (128, 640)).astype(F32)
ROWS = np.arange(128, dtype=np.int32)[:, None].copy()
CORES = np.stack([A, A + 1])
PAIR = [[0, 1]]


def hbm(*shape, dtype=nl.float32):
    return nl.ndarray(shape, dtype=dtype, buffer=nl.shared_hbm)


@seeded("new", "unwritten-output", A, WEIGHTS)
def last_columns_of_a_product_left_out(a, w, broken):
    x, y = loaded(a), loaded(w)
    out = nl.ndarray((64, 640), dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    for first, width in ((0, 512),) if broken else ((0, 512), (512, 128)):
        sums, z = tile(64, width, buffer=nl.psum), tile(64, width)
        nisa.nc_matmul(dst=sums, stationary=x, moving=y[:, first : first + width])
        nisa.tensor_copy(dst=z, src=sums)
        nisa.dma_copy(dst=out[:, first : first + width], src=z)
    return out


@seeded("new", "unwritten-output", A)
def every_second_row_of_an_output(a, broken):
    out, x = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm), loaded(a)  # defect
    step = 2 if broken else 1
    nisa.dma_copy(dst=out[0:128:step], src=x[0 : 128 // step])
    return out


@seeded("new", "unwritten-output|never written", A)
def second_output_left_out(a, broken):
    out, x, y = output(a), loaded(a), tile(128, 1)
    total = nl.ndarray((128, 1), dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    nisa.tensor_reduce(dst=y, op=nl.add, data=x, axis=1)
    nisa.dma_copy(dst=out, src=x)
    if not broken:
        nisa.dma_copy(dst=total, src=y)
    return out, total


@seeded("new", "unwritten-output", CORES, grid=(2,), synchronises=True)
def half_that_neither_core_writes(a, broken):
    core = nl.program_id(0)
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    if not broken or core == 0:
        nisa.dma_copy(dst=out[core], src=loaded(a[core]))
    return out


@seeded("new", "unwritten-output", A, ROWS)
def scatter_to_half_of_the_rows(a, rows, broken):
    index, x, out = tile(128, 1, dtype=nl.int32), loaded(a), output(a)
    nisa.dma_copy(dst=index, src=rows)
    if broken:
        nisa.tensor_scalar(dst=index, data=index, op0=nl.bitwise_and, operand0=126)
    target = out.ap([[64, 128], [1, 64]], vector_offset=index, indirect_dim=0)
    nisa.dma_copy(dst=target, src=x)  # defect
    return out


@seeded("new", "partial-overlap", A)
def reversed_in_place(a, broken):
    x = loaded(a)
    y = x if broken else tile(128, 64)
    nisa.tensor_copy(dst=y[:, 0:63], src=x[:, 1:64])  # defect
    nisa.tensor_copy(dst=y[:, 63:64], src=x[:, 63:64])
    return in_hbm(nl, y)


@seeded("new", "partial-overlap", A)
def window_summed_in_place(a, broken):
    x = loaded(a)
    y = x if broken else tile(128, 64)
    nisa.tensor_tensor(dst=y[:, 1:64], data1=x[:, 0:63], data2=x[:, 1:64], op=nl.add)  # defect
    nisa.tensor_copy(dst=y[:, 0:1], src=x[:, 0:1])
    return in_hbm(nl, y)


@seeded("new", "overwritten-read", A)
def scratch_at_the_address_of_the_input(a, broken):
    x = tile(128, 64, address=(0, 0))
    nisa.dma_copy(dst=x, src=a)
    other = tile(128, 64, address=(0, 128 if broken else 256))
    nisa.memset(dst=other, value=0.0)  # defect
    y = tile(128, 64)
    nisa.tensor_tensor(dst=y, data1=x, data2=other, op=nl.add)  # defect
    return in_hbm(nl, y)


@seeded("new", "lost-sum", A)
def sum_cleared_between_products(a, broken):
    x, y, sums = loaded(a), tile(64, 64), tile(64, 64, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=x[0:64], moving=x[0:64], accumulate=False)
    if broken:
        nisa.memset(dst=sums, value=0.0)  # defect
    nisa.nc_matmul(dst=sums, stationary=x[64:128], moving=x[64:128], accumulate=True)  # defect
    nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", "lost-sum", TALL)
def second_block_of_a_sum_starts_again(a, broken):
    x, z = loaded(a[0:128]), loaded(a[128:256])
    sums, y = tile(64, 64, buffer=nl.psum), tile(64, 64)
    nisa.nc_matmul(dst=sums, stationary=x, moving=x)
    nisa.nc_matmul(dst=sums, stationary=z, moving=z, accumulate=not broken)  # defect
    nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", "race", CORES, grid=(2,), synchronises=True)
def barrier_before_the_store(a, broken):
    shared, out, core, y = output(a), output(a), nl.program_id(0), tile(128, 64)
    if broken:
        nisa.core_barrier(shared, (0, 1))
    nisa.dma_copy(dst=shared[core], src=loaded(a[core]))  # defect
    if not broken:
        nisa.core_barrier(shared, (0, 1))
    nisa.dma_copy(dst=y, src=shared[1 - core])  # defect
    nisa.dma_copy(dst=out[core], src=y)
    return out


@seeded("new", "race", CORES, grid=(2,), synchronises=True)
def cores_write_columns_that_overlap(a, broken):
    out, core = hbm(128, 128), nl.program_id(0)
    first = core * (60 if broken else 64)
    nisa.dma_copy(dst=out[:, first : first + 64], src=loaded(a[core]))  # defect
    if broken:
        nisa.dma_copy(dst=out[:, 124:128], src=loaded(a[0])[:, 0:4])
    return out


@seeded("new", "race", CORES, grid=(2,), synchronises=True)
def one_core_reads_what_the_other_gathers_into(a, broken):
    shared, out, core, y = output(a), output(a), nl.program_id(0), tile(128, 64)
    nisa.dma_copy(dst=shared[core], src=loaded(a[core]))  # defect
    if not broken:
        nisa.core_barrier(shared, (0, 1))
    nisa.dma_copy(dst=y, src=shared[0])  # defect
    nisa.dma_copy(dst=out[core], src=y)
    return out


@seeded("new", "race", CORES, grid=(2,), synchronises=True)
def counter_of_both_cores(a, broken):
    out, count, core = output(a), hbm(2, 1), nl.program_id(0)
    mine, value = (0 if broken else core), tile(1, 1)
    nisa.memset(dst=value, value=float(core + 1))
    nisa.dma_copy(dst=count[mine : mine + 1], src=value)  # defect
    nisa.dma_copy(dst=out[core], src=loaded(a[core]))
    if broken and core == 0:
        nisa.dma_copy(dst=count[1:2], src=value)
    return out, count


@seeded("new", "sendrecv", CORES, grid=(2,), synchronises=True)
def exchange_over_different_pipes(a, broken):
    core, x, y, out = nl.program_id(0), loaded(a[nl.program_id(0)]), tile(128, 64), output(a)
    nisa.sendrecv(x, y, 1 - core, 1 - core, core if broken else 0)  # defect
    nisa.dma_copy(dst=out[core], src=y)
    return out


@seeded("new", "same shape|sendrecv", CORES, grid=(2,), synchronises=True)
def exchange_of_unequal_tiles(a, broken):
    core, out, width = nl.program_id(0), output(a), 32 if broken else 64
    x, y = loaded(a[core]), tile(128, 64)
    nisa.memset(dst=y, value=0.0)
    nisa.sendrecv(x, y[:, 0:width], 1 - core, 1 - core, 0)  # defect
    nisa.dma_copy(dst=out[core], src=y)
    return out


@seeded("new", "op|differ|group|other", A, ranks=2, synchronises=True)
def ranks_reduce_with_different_operators(a, broken):
    src, dst = hbm(128, 64), hbm(128, 64)
    nisa.dma_copy(dst=src, src=a)
    op = nl.maximum if broken else nl.add
    ncc.all_reduce(srcs=[src], dsts=[dst], replica_group=ncc.ReplicaGroup(PAIR), op=op)  # defect
    return dst


@seeded("new", "on rank 0, but", A, ranks=2, synchronises=True)
def ranks_gather_different_sizes(a, broken):
    rows = 64 if broken else 128
    src, dst = hbm(rows, 64), hbm(2 * rows, 64)
    nisa.dma_copy(dst=src, src=a[0:rows])
    group = ncc.ReplicaGroup(PAIR)
    ncc.all_gather(srcs=[src], dsts=[dst], replica_group=group, collective_dim=0)  # defect
    y = tile(64, 64)
    nisa.dma_copy(dst=y, src=dst[0:64])
    return in_hbm(nl, y)


@seeded("new", "uninitialised-read", A, ranks=2, synchronises=True)
def collective_of_what_nothing_wrote(a, broken):
    src, dst = hbm(128, 64), hbm(128, 64)
    if not broken:
        nisa.dma_copy(dst=src, src=a)
    group = ncc.ReplicaGroup(PAIR)
    ncc.all_reduce(srcs=[src], dsts=[dst], replica_group=group, op=nl.add)  # defect
    return dst


@seeded("new", "first-non-finite", A)
def exponential_that_overflows(a, broken):
    y = tile(128, 64)
    nisa.activation(dst=y, op=nl.exp, data=loaded(a), scale=100.0 if broken else 1.0)  # defect
    return in_hbm(nl, y)


@seeded("new", "first-non-finite", A)
def reciprocal_of_zero(a, broken):
    x, y = loaded(a), tile(128, 64)
    if broken:
        nisa.memset(dst=x[:, 5:6], value=0.0)
    nisa.reciprocal(dst=y, data=x)  # defect
    return in_hbm(nl, y)


@seeded("new", "first-non-finite", A)
def cast_beyond_half_precision(a, broken):
    x, y = loaded(a), tile(128, 64, dtype=nl.float16)
    nisa.tensor_scalar(dst=x, data=x, op0=nl.multiply, operand0=1e5 if broken else 1.0)
    nisa.tensor_copy(dst=y, src=x)  # defect
    return in_hbm(nl, y)


@seeded("new", "first-non-finite", A)
def variance_below_zero(a, broken):
    x, y = tile(128, 1), tile(128, 1)
    nisa.tensor_reduce(dst=x, op=nl.add, data=loaded(a), axis=1, negate=broken)
    nisa.activation(dst=y, op=nl.rsqrt, data=x)  # defect
    return in_hbm(nl, y)


@seeded("new", "unused-result", A)
def sum_of_an_activation_dropped(a, broken):
    y, total = tile(128, 64), tile(128, 1)
    nisa.activation_reduce(dst=y, op=nl.exp, data=loaded(a), reduce_op=nl.add, reduce_res=total)
    if not broken:
        nisa.reciprocal(dst=total, data=total)
        nisa.tensor_scalar(dst=y, data=y, op0=nl.multiply, operand0=total)
    else:
        nisa.reciprocal(dst=total, data=total)  # defect
    return in_hbm(nl, y)


@seeded("new", "unused-result", A)
def scratch_that_nothing_reads(a, broken):
    x, y = loaded(a), tile(128, 64)
    scratch = nl.ndarray((128, 64), dtype=a.dtype, buffer=nl.private_hbm)
    nisa.dma_copy(dst=scratch, src=x)  # defect
    nisa.dma_copy(dst=y, src=a if broken else scratch)
    return in_hbm(nl, y)


@seeded("new", "unused-result", TALL)
def load_overwritten_before_it_is_read(a, broken):
    x, y = tile(128, 64), tile(128, 64)
    nisa.memset(dst=y, value=0.0)
    for i in range(2):
        nisa.dma_copy(dst=x, src=a[i * 128 : (i + 1) * 128])  # defect
        if i == 1 or not broken:
            nisa.tensor_tensor(dst=y, data1=y, data2=x, op=nl.add)
    return in_hbm(nl, y)


@seeded("new", "multiple of 32", A)
def copy_from_partition_16(a, broken):
    x, y = loaded(a), tile(32, 64)
    first = 16 if broken else 32
    nisa.tensor_copy(dst=y, src=x[first : first + 32])  # defect
    return in_hbm(nl, y)


@seeded("new", "exceed|at most 512|512", A, WEIGHTS)
def moving_operand_too_wide(a, w, broken):
    x, y, width = loaded(a), loaded(w), 600 if broken else 512
    sums, z = tile(64, width, buffer=nl.psum), tile(64, width)
    nisa.nc_matmul(dst=sums, stationary=x, moving=y[:, 0:width])  # defect
    nisa.tensor_copy(dst=z, src=sums)
    return in_hbm(nl, z)


@seeded("new", "out.of.bound|exceed", A)
def negative_offset_of_a_pattern(a, broken):
    x = tile(64, 64)
    nisa.dma_copy(dst=x, src=a.ap([[64, 64], [1, 64]], offset=-64 if broken else 0))  # defect
    return in_hbm(nl, x)


@seeded("new", "out.of.bound", A, ROWS - 1, ROWS)
def negative_row_of_a_gather(a, below, rows, broken):
    index, x = loaded(below if broken else rows), tile(128, 64)
    nisa.dma_copy(dst=x, src=a.ap([[64, 128], [1, 64]], vector_offset=index))  # defect
    return in_hbm(nl, x)


@seeded("new", "bitwise|integer|dtype", A)
def bits_of_a_floating_tile(a, broken):
    x = loaded(a) if broken else tile(128, 64, dtype=nl.int32)
    if not broken:
        nisa.memset(dst=x, value=3)
    y = tile(128, 64, dtype=x.dtype)
    nisa.tensor_scalar(dst=y, data=x, op0=nl.bitwise_and, operand0=1)  # defect
    return in_hbm(nl, y)
