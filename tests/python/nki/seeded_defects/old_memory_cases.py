"""Old language: memory that nothing wrote, outputs without contents, tiles that share bytes."""

import neuron_sim.neuronxcc.nki.compiler as ncc
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
from isa_harness import in_hbm
from seeded import seeded

F32 = np.float32
A = np.random.default_rng(0).uniform(0.5, 2, (128, 64)).astype(F32)
TALL = np.random.default_rng(1).uniform(0.5, 2, (512, 64)).astype(F32)
BLOCKS = np.arange(4 * 128 * 8, dtype=F32).reshape(4, 128, 8)


def output(a, shape=None):
    return nl.ndarray(shape or a.shape, dtype=a.dtype, buffer=nl.shared_hbm)


@seeded("old", "uninitialised-read", A)
def tile_nothing_wrote(a, broken):
    out = output(a)
    scale = nl.ndarray((128, 64), dtype=F32, buffer=nl.sbuf)
    if not broken:
        scale[...] = 2.0
    nl.store(out, nl.multiply(nl.load(a), scale))  # defect
    return out


@seeded("old", "uninitialised-read", A)
def one_element_nothing_wrote(a, broken):
    x = nl.ndarray((128, 64), dtype=F32, buffer=nl.sbuf)
    x[:, 0 : 63 if broken else 64] = nl.load(a[:, 0 : 63 if broken else 64])
    y = nl.exp(x)  # defect
    return in_hbm(nl, y)


@seeded("old", "uninitialised-read", A)
def one_partition_nothing_wrote(a, broken):
    rows = 127 if broken else 128
    x = nl.ndarray((128, 64), dtype=F32, buffer=nl.sbuf)
    x[0:rows] = nl.load(a[0:rows])
    total = nl.sum(x, axis=1, keepdims=True)  # defect
    return in_hbm(nl, nl.multiply(nl.load(a), total))


@seeded("old", "uninitialised-read", A[:100])
def rows_left_out_by_a_mask(a, broken):
    out = nl.ndarray((128, 1), dtype=F32, buffer=nl.shared_hbm)
    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
    if broken:
        x = nl.load(a[p, f], mask=p < 100)
    else:
        x = nl.zeros((128, 64), dtype=F32)
        x[p, f] = nl.load(a[p, f], mask=p < 100)
    total = nl.sum(x, axis=1, keepdims=True)  # defect
    nl.store(out, total)
    return out


@seeded("old", "uninitialised-read", A)
def psum_nothing_wrote(a, broken):
    out = output(a, (64, 64))
    x = nl.load(a)
    sums = nl.ndarray((64, 64), dtype=F32, buffer=nl.psum)
    if not broken:
        sums[...] = nisa.nc_matmul(x, x)
    nl.store(out, nl.copy(sums))  # defect
    return out


@seeded("old", "uninitialised-read", A)
def scratch_half_written(a, broken):
    scratch = nl.ndarray((128, 64), dtype=F32, buffer=nl.hbm)
    nl.store(scratch[0 : 64 if broken else 128], nl.load(a[0 : 64 if broken else 128]))
    x = nl.load(scratch)  # defect
    return in_hbm(nl, x)


@seeded("old", "uninitialised-read", TALL)
def loop_reads_the_next_iteration(a, broken):
    out = output(a, (3, 128, 64))
    x = nl.ndarray((128, 4, 64), dtype=F32, buffer=nl.sbuf)
    x[:, 0] = nl.load(a[0:128])
    for i in nl.static_range(3):
        x[:, i + 1] = nl.load(a[(i + 1) * 128 : (i + 2) * 128])
        ahead = i + 2 if broken and i < 2 else i + 1
        nl.store(out[i], nl.add(x[:, i], x[:, ahead]))  # defect
    return out


@seeded("old", "never written|unwritten-output", A)
def output_never_written(a, broken):
    out = output(a)
    other = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    x = nl.load(a)
    nl.store(out, x)
    if not broken:
        nl.store(other, x)
    return out, other


@seeded("old", "unwritten-output", TALL)
def last_tile_of_an_output_missing(a, broken):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    for i in nl.affine_range(3 if broken else 4):
        nl.store(out[i * 128 : (i + 1) * 128], nl.load(a[i * 128 : (i + 1) * 128]))
    return out


@seeded("old", "unwritten-output", A)
def columns_of_an_output_left_out_by_a_mask(a, broken):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)  # defect
    p, f = nl.arange(128)[:, None], nl.arange(64)[None, :]
    nl.store(out[p, f], nl.load(a), mask=f < (63 if broken else 64))
    return out


@seeded("old", "overwritten-read", BLOCKS, -BLOCKS)
def placed_tiles_share_bytes(a, b, broken):
    out = output(a)

    def placed(base):
        buffer = ncc.sbuf.mod_alloc(base_addr=base, num_free_tiles=(1,))
        return nl.ndarray((4, nl.par_dim(128), 8), dtype=F32, buffer=buffer)

    x, y, z = placed(0), placed(0 if broken else 4096), placed(8192)
    for i in nl.affine_range(4):
        x[i] = nl.load(a[i])
        y[i] = nl.load(b[i])
        z[i] = nisa.tensor_tensor(x[i], y[i], op=nl.add)  # defect
        nl.store(out[i], z[i])
    return out


@seeded("old", "overwritten-read", BLOCKS)
def stale_tile_of_a_ring(a, broken):
    out = output(a)
    buffer = ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(1 if broken else 2,))
    x = nl.ndarray((5, nl.par_dim(128), 8), dtype=F32, buffer=buffer)
    x[0] = nl.load(a[3])
    for i in nl.sequential_range(4):
        x[i + 1] = nl.load(a[i])
        nl.store(out[i], x[i])  # defect
    return out


@seeded("old", "partial-overlap", A)
def shift_in_place(a, broken):
    x = nl.load(a)
    moved = nl.ndarray((128, 64), dtype=F32, buffer=nl.sbuf)
    moved[:, 0:1] = nl.copy(x[:, 0:1])
    target = x if broken else moved
    target[:, 1:64] = nisa.tensor_copy(x[:, 0:63])  # defect
    return in_hbm(nl, target)


@seeded("old", "referenced outside of its parent scope", TALL)
def tile_used_after_its_loop(a, broken):
    out = output(a)
    for i in nl.affine_range(4):
        x = nl.load(a[i * 128 : (i + 1) * 128])
        nl.store(out[i * 128 : (i + 1) * 128], x)
    if broken:
        nl.store(out[0:128], x)  # defect
    return out


@seeded("old", "Mutable|mutable|immutable", A)
def output_aliases_the_input(a, broken):
    x = nl.load(a)
    if broken:
        nl.store(a, nl.exp(x))  # defect
    return in_hbm(nl, x)


@seeded("old", "capacity|does not fit|do not fit|exceed", A)
def tiles_beyond_the_capacity(a, broken):
    columns = 40000 if broken else 20000
    first = nl.ndarray((128, columns), dtype=F32, buffer=nl.sbuf)
    second = nl.ndarray((128, columns), dtype=F32, buffer=nl.sbuf)  # defect
    first[...] = 0
    second[...] = 0
    return in_hbm(nl, first[:, 0:64] + second[:, 0:64])
