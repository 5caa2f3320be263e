"""New language: operands that nothing wrote, by the place that an instruction reads them from, and
loops, buffers and casts that go wrong as kernels do while they are written."""

import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import in_hbm
from new_tiles import loaded, output, tile
from seeded import seeded

F32 = np.float32
A = np.random.default_rng(5).uniform(0.5, 2, (128, 64)).astype(F32)
TALL = np.random.default_rng(6).uniform(0.5, 2, (512, 64)).astype(F32)
INDEX = np.random.default_rng(7).integers(0, 64, (128, 16)).astype(np.uint32)
UNWRITTEN = "uninitialised-read"


def filled(*shape, dtype=nl.float32, value=1.0):
    x = tile(*shape, dtype=dtype)
    nisa.memset(dst=x, value=value)
    return x


def made(broken, *shape, dtype=nl.float32, value=1.0):
    """A tile, which nothing writes where it is broken."""
    return tile(*shape, dtype=dtype) if broken else filled(*shape, dtype=dtype, value=value)


@seeded("new", UNWRITTEN, TALL)
def accumulator_that_starts_as_it_is(a, broken):
    total = made(broken, 128, 64, value=0.0)
    for i in nl.affine_range(4):
        x = loaded(a[i * 128 : (i + 1) * 128])
        nisa.tensor_tensor(dst=total, data1=total, data2=x, op=nl.add)  # defect
    return in_hbm(nl, total)


@seeded("new", UNWRITTEN, TALL)
def running_maximum_that_starts_as_it_is(a, broken):
    largest, y = made(broken, 128, 1, value=-1e30), tile(128, 1)
    for i in nl.affine_range(4):
        nisa.tensor_reduce(dst=y, op=nl.maximum, data=loaded(a[i * 128 : (i + 1) * 128]), axis=1)
        nisa.tensor_tensor(dst=largest, data1=largest, data2=y, op=nl.maximum)  # defect
    return in_hbm(nl, largest)


@seeded("new", UNWRITTEN, A)
def product_read_before_it_is_computed(a, broken):
    x, sums, y = loaded(a), tile(64, 64, buffer=nl.psum), tile(64, 64)
    if broken:
        nisa.tensor_copy(dst=y, src=sums)  # defect
    nisa.nc_matmul(dst=sums, stationary=x, moving=x)
    if not broken:
        nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def cast_of_a_part(a, broken):
    x, narrow, y = loaded(a), tile(128, 64, dtype=nl.bfloat16), tile(128, 64)
    used = 60 if broken else 64
    nisa.tensor_copy(dst=narrow[:, 0:used], src=x[:, 0:used])
    nisa.activation(dst=y, op=nl.exp, data=narrow)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def bias_nothing_wrote(a, broken):
    y = tile(128, 64)
    nisa.activation(dst=y, op=nl.exp, data=loaded(a), bias=made(broken, 128, 1))  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def scale_nothing_wrote(a, broken):
    y = tile(128, 64)
    nisa.activation(dst=y, op=nl.exp, data=loaded(a), scale=made(broken, 128, 1))  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def scale_of_fewer_rows(a, broken):
    y, scale = tile(128, 64), tile(128, 1)
    nisa.memset(dst=scale[0 : 96 if broken else 128], value=2.0)
    nisa.tensor_scalar(dst=y, data=loaded(a), op0=nl.multiply, operand0=scale)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def third_operand_nothing_wrote(a, broken):
    y, other = tile(128, 64), made(broken, 128, 64)
    nisa.scalar_tensor_tensor(  # defect
        dst=y, data=loaded(a), op0=nl.multiply, operand0=2.0, op1=nl.add, operand1=other
    )
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def predicate_nothing_wrote(a, broken):
    y, choice = loaded(a), made(broken, 128, 64, dtype=nl.uint8)
    nisa.tensor_copy_predicated(dst=y, src=filled(128, 64), predicate=choice)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def elements_that_a_predicate_keeps(a, broken):
    y, choice = made(broken, 128, 64), tile(128, 64, dtype=nl.uint8)
    x, out = loaded(a), output(a)
    nisa.tensor_scalar(dst=choice, data=x, op0=nl.greater, operand0=1.0)
    nisa.tensor_copy_predicated(dst=y, src=x, predicate=choice)
    nisa.dma_copy(dst=out, src=y)  # defect
    return out


@seeded("new", UNWRITTEN, A)
def columns_of_a_gather_nothing_wrote(a, broken):
    y, index = tile(128, 16), made(broken, 128, 16, dtype=nl.uint32, value=3)
    nisa.nc_n_gather(dst=y, data=loaded(a), indices=index)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A, INDEX)
def table_of_a_gather_nothing_wrote(a, index, broken):
    x, y = tile(128, 64), tile(128, 16)
    nisa.dma_copy(dst=x[:, 0 : 32 if broken else 64], src=a[:, 0 : 32 if broken else 64])
    nisa.nc_n_gather(dst=y, data=x, indices=loaded(index))  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def rows_of_a_gather_nothing_wrote(a, broken):
    index, x = made(broken, 128, 1, dtype=nl.int32, value=3), tile(128, 64)
    source = a.ap([[64, 128], [1, 64]], vector_offset=index, indirect_dim=0)
    nisa.dma_copy(dst=x, src=source)  # defect
    return in_hbm(nl, x)


@seeded("new", UNWRITTEN, A)
def bound_of_a_loop_nothing_wrote(a, broken):
    x, count = loaded(a), made(broken, 1, 1, dtype=nl.int32, value=2)
    stop = nisa.register_alloc()
    nisa.register_load(stop, count)  # defect
    for _ in nl.dynamic_range(0, stop):
        nisa.tensor_scalar(dst=x, data=x, op0=nl.multiply, operand0=2.0)
    return in_hbm(nl, x)


@seeded("new", UNWRITTEN, A)
def sum_over_rows_nothing_wrote(a, broken):
    x, y = tile(128, 64), tile(1, 64)
    nisa.dma_copy(dst=x[0 : 100 if broken else 128], src=a[0 : 100 if broken else 128])
    nisa.tensor_partition_reduce(dst=y, op=nl.add, data=x)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def rows_of_a_transfer_that_transposes(a, broken):
    x, y = tile(128, 64, dtype=nl.bfloat16), tile(64, 128, dtype=nl.bfloat16)
    used = 96 if broken else 128
    nisa.tensor_copy(dst=x[0:used], src=loaded(a)[0:used])
    nisa.dma_transpose(dst=y, src=x)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def shuffle_of_partitions_nothing_wrote(a, broken):
    x, y = tile(32, 64), tile(32, 64)
    used = 16 if broken else 32
    nisa.dma_copy(dst=x[0:used], src=a[0:used])
    nisa.nc_stream_shuffle(dst=y, src=x, shuffle_mask=list(range(31, -1, -1)))  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def statistics_of_one_chunk_left_out(a, broken):
    statistics, y, x = tile(128, 2, 6), tile(128, 2), loaded(a)
    for i in range(1 if broken else 2):
        nisa.bn_stats(dst=statistics[:, i], data=x[:, i * 32 : (i + 1) * 32])
    nisa.bn_aggr(dst=y, data=statistics.reshape((128, 12)))  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, TALL)
def buffer_read_one_iteration_too_early(a, broken):
    out, buffers = output(a), [tile(128, 64), tile(128, 64)]
    for i in range(4):
        rows = slice(i * 128, (i + 1) * 128)
        nisa.dma_copy(dst=buffers[i % 2], src=a[rows])
        used = buffers[(i + 1) % 2] if broken else buffers[i % 2]
        nisa.dma_copy(dst=out[rows], src=used)  # defect
    return out


@seeded("new", UNWRITTEN, A)
def scratch_seen_in_another_shape(a, broken):
    scratch, y = nl.ndarray((64, 128), dtype=a.dtype, buffer=nl.private_hbm), tile(128, 64)
    used = 63 if broken else 64
    nisa.dma_copy(dst=scratch[0:used], src=loaded(a).reshape((128, 64))[0 : used * 2])
    nisa.dma_copy(dst=y, src=scratch.reshape((128, 64)))  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def memset_of_fewer_partitions(a, broken):
    x, y = tile(128, 64), tile(128, 64)
    nisa.memset(dst=x[0 : 96 if broken else 128], value=0.0)
    nisa.tensor_tensor(dst=y, data1=x, data2=loaded(a), op=nl.add)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def every_second_column(a, broken):
    x, y = tile(128, 64), tile(128, 64)
    step = 2 if broken else 1
    nisa.dma_copy(dst=x[:, 0:64:step], src=a[:, 0:64:step])
    nisa.tensor_scalar(dst=y, data=x, op0=nl.add, operand0=1.0)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def values_to_look_for_nothing_wrote(a, broken):
    y = tile(128, 8, dtype=nl.uint32)
    nisa.nc_find_index8(dst=y, data=loaded(a), vals=made(broken, 128, 8))  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def start_of_a_scan_nothing_wrote(a, broken):
    x, y = loaded(a), tile(128, 64)
    start = made(broken, 128, 1)
    nisa.tensor_tensor_scan(y, x, x, start, op0=nl.multiply, op1=nl.add)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def bounds_of_a_selection_nothing_wrote(a, broken):
    y, x = tile(128, 64), loaded(a)
    low, high, largest = filled(128, 1, value=0.0), made(broken, 128, 1, value=9.0), tile(128, 1)
    nisa.range_select(  # defect
        dst=y, on_true_tile=x, comp_op0=nl.greater_equal, comp_op1=nl.less, bound0=low, bound1=high,
        reduce_cmd=nisa.reduce_cmd.reset_reduce, reduce_res=largest, reduce_op=nl.maximum,
    )  # fmt: skip
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def weights_of_fewer_rows(a, broken):
    x, w = loaded(a), tile(128, 32)
    nisa.memset(dst=w[0 : 64 if broken else 128], value=1.0)
    sums, y = tile(64, 32, buffer=nl.psum), tile(64, 32)
    nisa.nc_matmul(dst=sums, stationary=x, moving=w)  # defect
    nisa.tensor_copy(dst=y, src=sums)
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def half_of_psum_copied(a, broken):
    x, sums, y = loaded(a), tile(64, 128, buffer=nl.psum), tile(64, 128)
    nisa.nc_matmul(dst=sums[:, 0:64], stationary=x, moving=x)
    if not broken:
        nisa.nc_matmul(dst=sums[:, 64:128], stationary=x, moving=x)
    nisa.tensor_copy(dst=y, src=sums)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def source_of_a_sum_of_transfers(a, broken):
    x, y = loaded(a), tile(128, 64)
    nisa.dma_compute(dst=y, srcs=[x, made(broken, 128, 64)], reduce_op=nl.add)  # defect
    return in_hbm(nl, y)


@seeded("new", UNWRITTEN, A)
def padding_nothing_wrote(a, broken):
    x, y = made(broken, 128, 66, value=0.0), tile(128, 64)
    nisa.dma_copy(dst=x[:, 1:65], src=a)
    nisa.tensor_tensor(dst=y, data1=x[:, 0:64], data2=x[:, 2:66], op=nl.add)  # defect
    return in_hbm(nl, y)
