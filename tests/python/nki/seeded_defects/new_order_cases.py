"""New language: two cores, ranks and DMAs whose order nothing gives."""

import neuron_sim.nki.collectives as ncc
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
from isa_harness import in_hbm
from new_tiles import output, tile
from seeded import seeded

F32 = np.float32
A = np.random.default_rng(0).uniform(0.5, 2, (256, 64)).astype(F32)
PAIR = [[0, 1]]


def half(a, core):
    x = tile(128, 64)
    nisa.dma_copy(dst=x, src=a[core * 128 : (core + 1) * 128])
    return x


@seeded("new", "race", A, grid=(2,), synchronises=True)
def cores_write_the_same_rows(a, broken):
    out = output(a, (128 if broken else 256, 64))
    core = nl.program_id(0)
    row = 0 if broken else core
    x = half(a, core)
    if core == 0:
        nisa.dma_copy(dst=out[0:128], src=x)  # defect
    else:
        nisa.dma_copy(dst=out[row * 128 : (row + 1) * 128], src=x)  # defect
    return out


@seeded("new", "race", A, grid=(2,), synchronises=True)
def cores_write_their_own_values_to_one_place(a, broken):
    out = output(a, (128 if broken else 256, 64))
    core = nl.program_id(0)
    row = 0 if broken else core
    nisa.dma_copy(dst=out[row * 128 : (row + 1) * 128], src=half(a, core))  # defect
    return out


@seeded("new", "race", A, grid=(2,), synchronises=True)
def core_reads_the_other_half_too_early(a, broken):
    out, shared = output(a), output(a)
    core = nl.program_id(0)
    y = tile(128, 64)
    nisa.dma_copy(dst=shared[core * 128 : (core + 1) * 128], src=half(a, core))  # defect
    if not broken:
        nisa.core_barrier(shared, (0, 1))
    nisa.dma_copy(dst=y, src=shared[(1 - core) * 128 : (2 - core) * 128])  # defect
    nisa.dma_copy(dst=out[core * 128 : (core + 1) * 128], src=y)
    return out, shared


@seeded("new", "race", A, grid=(2,), synchronises=True)
def barrier_on_another_tensor(a, broken):
    out, shared, other = output(a), output(a), output(a)
    core = nl.program_id(0)
    x, y = half(a, core), tile(128, 64)
    nisa.dma_copy(dst=other[core * 128 : (core + 1) * 128], src=x)
    nisa.dma_copy(dst=shared[core * 128 : (core + 1) * 128], src=x)  # defect
    nisa.core_barrier(other if broken else shared, (0, 1))
    nisa.dma_copy(dst=y, src=shared[(1 - core) * 128 : (2 - core) * 128])  # defect
    nisa.dma_copy(dst=out[core * 128 : (core + 1) * 128], src=y)
    return out, shared, other


@seeded("new", "race", A, grid=(2,), synchronises=True)
def shared_tensor_written_again_too_early(a, broken):
    out, shared = output(a), output(a)
    core = nl.program_id(0)
    x, y = half(a, core), tile(128, 64)
    mine, theirs = slice(core * 128, core * 128 + 128), slice(128 - core * 128, 256 - core * 128)
    nisa.dma_copy(dst=shared[mine], src=x)
    nisa.core_barrier(shared, (0, 1))
    nisa.dma_copy(dst=y, src=shared[theirs])  # defect
    if not broken:
        nisa.core_barrier(shared, (0, 1))
    nisa.dma_copy(dst=shared[mine], src=y if core == 0 else x)  # defect
    nisa.dma_copy(dst=out[mine], src=y)
    return out, shared


@seeded("new", "meet|barrier|wait", A, grid=(2,), synchronises=True)
def barrier_of_one_core_only(a, broken):
    out = output(a)
    core = nl.program_id(0)
    nisa.dma_copy(dst=out[core * 128 : (core + 1) * 128], src=half(a, core))
    if core == 0 or not broken:
        nisa.core_barrier(out, (0, 1))  # defect
    return out


@seeded("new", "sendrecv", A, grid=(2,), synchronises=True)
def exchange_of_one_core_only(a, broken):
    out = output(a)
    core = nl.program_id(0)
    x, y = half(a, core), tile(128, 64)
    nisa.memset(dst=y, value=0.0)
    if core == 0 or not broken:
        nisa.sendrecv(  # defect
            src=x, dst=y, send_to_rank=1 - core, recv_from_rank=1 - core, pipe_id=0
        )
    nisa.dma_copy(dst=out[core * 128 : (core + 1) * 128], src=y)
    return out


@seeded("new", "written-twice|overwritten-output", A, synchronises=True)
def rows_written_by_two_transfers(a, broken):
    out, x, y = output(a), half(a, 0), half(a, 1)
    rows = 128 if broken else 127
    nisa.dma_copy(dst=out[0:rows], src=x[0:rows])  # defect
    nisa.dma_copy(dst=out[127:255], src=y)  # defect
    nisa.dma_copy(dst=out[255:256], src=y[127:128])
    return out


@seeded("new", "written-twice|overwritten-output", A, synchronises=True)
def strides_that_let_tiles_overlap(a, broken):
    step = 100 if broken else 128
    out, halves = output(a, (128 + step, 64)), [half(a, 0), half(a, 1)]
    for i in range(2):
        target = out.ap([[64, 128], [1, 64]], offset=i * step * 64)
        nisa.dma_copy(dst=target, src=halves[i])  # defect
    return out


@seeded("new", "wait|ended|at different", A[:128], ranks=2, synchronises=True)
def collective_that_one_rank_leaves_out(a, broken):
    src, dst = output(a), output(a)
    nisa.dma_copy(dst=src, src=a)
    if broken:
        nisa.dma_copy(dst=dst, src=a)
    else:
        group = ncc.ReplicaGroup([[0, 1]])
        ncc.all_reduce(srcs=[src], dsts=[dst], replica_group=group, op=nl.add)  # defect
    return dst


@seeded("new", "bytes|elements|shape", A[:128], ranks=2, synchronises=True)
def gather_into_half_the_room(a, broken):
    src = output(a)
    dst = output(a, (128 if broken else 256, 64))
    nisa.dma_copy(dst=src, src=a)
    group = ncc.ReplicaGroup([[0, 1]])
    ncc.all_gather(srcs=[src], dsts=[dst], replica_group=group, collective_dim=0)  # defect
    return dst


@seeded("new", "waits for itself|cannot wait", A, synchronises=True)
def instruction_that_waits_for_its_reader(a, broken):
    x, y = half(a, 0), tile(128, 64)
    first = nisa.activation(dst=y, op=nl.exp, data=x)  # defect
    second = nisa.tensor_scalar(dst=y, data=y, op0=nl.add, operand0=1.0)
    if broken:
        first.depends_on(second)  # defect
    else:
        second.depends_on(first)
    return in_hbm(nl, y)
