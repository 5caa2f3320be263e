"""The vendor's error texts, one kernel each: one side of the limit passes, the other is refused."""

from dataclasses import dataclass, field

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.neuronxcc.nki.typing as nt
import numpy as np
import pytest

F32 = np.float32


@dataclass
class Case:
    """kernel(a, good) can be traced, kernel(a, bad) raises `kind` with the message `sentence`."""

    kernel: object
    good: object
    bad: object
    sentence: str
    kind: type = ValueError
    shape: tuple = field(default=(128, 512))


CASES = []


def refuses(bad, good, sentence, kind=ValueError, shape=(128, 512)):
    def add(kernel):
        CASES.append(Case(kernel, good, bad, sentence, kind, shape))
        return kernel

    return add


@refuses(256, 128, "number of partitions 256 exceed architecture limitation of 128.")
def num_partition_exceed_arch_limit(a, partitions):
    nl.zeros(shape=[partitions, 1024], dtype=F32, buffer=nl.sbuf)


@refuses(
    12800,
    128,
    "number of partition in src[12800, 1] of 'load' exceed architecture limitation of 128.",
    shape=(12800, 1),
)
def num_partition_of_load(a, rows):
    nl.load(a[0:rows])


@refuses(
    1,
    128,
    "number of partitions (dimension 0 size of a tile) mismatch in parameters (data1[128, 512], "
    "data2[1, 512]) of 'tensor_tensor'",
)
def num_partition_mismatch(a, partitions):
    x = nl.zeros([128, 512], dtype=F32)
    nisa.tensor_tensor(x, nl.zeros([partitions, 512], dtype=F32), op=nl.add)


@refuses(
    129, 128,
    "size of dimension 1 in 'x[128, 129]' of 'transpose' exceed architecture limitation of 128.",
)  # fmt: skip
def size_of_dimension_exceed_arch_limit(a, columns):
    x = nl.zeros([128, columns], dtype=F32)
    nl.transpose(x)


@refuses(
    [64, 32, 2], [64, 64],
    "parameter 'x[64, 32, 2]' of 'transpose' exceed max supported number of dimensions of 2.",
)  # fmt: skip
def exceed_max_supported_dimension(a, shape):
    x = nl.zeros(shape, dtype=F32)
    nl.transpose(x)


@refuses(
    nl.sbuf, nl.hbm,
    "Expected operand 'src' of 'load' to be in address space 'hbm', but got a tile in 'sbuf' "
    "instead.",
)  # fmt: skip
def unsupported_memory_of_load(a, buffer):
    nl.load(nl.ndarray((4, 4), dtype=F32, buffer=buffer))


@refuses(
    nl.hbm, nl.sbuf,
    "Expected operand 'x' of 'exp' to be in address space 'psum|sbuf', but got a tile in 'hbm' "
    "instead.",
)  # fmt: skip
def unsupported_memory_of_exp(a, buffer):
    nl.exp(nl.ndarray((4, 4), dtype=F32, buffer=buffer))


@refuses(
    8, 7,
    "Out-of-bound access for tensor `x` on dimension 1: index range [0, 4095] exceed dimension "
    "size of 4000", IndexError,
)  # fmt: skip
def tensor_access_out_of_bound(a, trips):
    x = nl.ndarray([128, 4000], dtype=F32, buffer=nl.hbm)
    for i in nl.affine_range(trips):
        tile = nl.mgrid[0:128, 0:512]
        nl.store(x[tile.p, i * 512 + tile.x], value=0)


@refuses(True, False, "indexing tensor `tmp` with 1d arange is not supported", IndexError)
def one_dimensional_arange(a, flat):
    tmp = nl.zeros((128, 1), dtype=F32)
    i = nl.arange(64) if flat else nl.arange(64)[:, None]
    nl.exp(tmp[i, 0])


@refuses(
    (128,), (128, 1),
    "Insufficient rank: an on-chip tensor of shape [128] needs a partition dimension and at least "
    "one free dimension.",
)  # fmt: skip
def insufficient_rank(a, shape):
    nl.zeros(shape, dtype=F32)


@refuses(
    slice(None), 0,
    "Mixing basic tensor indexing and advanced tensor indexing is not supported.", IndexError,
)  # fmt: skip
def unsupported_mixing_of_indices(a, second):
    x = nl.zeros((4, 4), dtype=F32)
    nl.exp(x[nl.arange(4)[:, None], second])


@refuses(
    False, True,
    "Failed to infer tile from tensor 'x': the first dimension of a tile is the partition "
    "dimension, but the tensor has block dimensions before it.",
)  # fmt: skip
def failed_to_infer_tile(a, indexed):
    x = nl.zeros((4, nl.par_dim(8), 8), dtype=F32)
    nl.add(x[0] if indexed else x, 32)


@refuses(
    1, 512,
    "Illegal assignment destination shape in 'a = b': shape [128, 1] of parameter 'a' is smaller "
    "than other parameter shapes b[128, 512].",
)  # fmt: skip
def store_dst_shape_smaller(a, columns):
    x = nl.zeros((128, 512), dtype=F32)
    y = nl.zeros((128, columns), dtype=F32)
    y[...] = x


@refuses(
    True, False,
    "Local variable 'tmp' is referenced outside of its parent scope: tensors defined in a loop "
    "live in its body only.",
)  # fmt: skip
def local_variable_used_out_of_scope(a, inside):
    tmp = nl.load(a)
    for _ in nl.sequential_range(4):
        if inside:
            tmp = nl.load(a)
    nl.exp(tmp)


@refuses(
    True, False,
    "Unexpected output dependencies, different iterations of i loop write to `x[0]`",
)  # fmt: skip
def unexpected_output_dependencies(a, shared):
    x = nl.ndarray((4, nl.par_dim(128), 512), dtype=F32)
    for i in nl.affine_range(4):
        if shared:
            x[0] = 0
        else:
            x[i] = 0


def test_memory_in_hbm_made_in_a_loop_belongs_to_the_iteration():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        for i in nl.affine_range(4):
            rows = nl.ds(i * 32, 32)
            scratch = nl.ndarray((32, 512), dtype=a.dtype, buffer=nl.private_hbm)
            nl.store(scratch, nl.load(a[rows]))
            nl.store(out[rows], nl.load(scratch))
        return out

    a = np.arange(128 * 512, dtype=F32).reshape(128, 512)
    assert np.array_equal(kernel(a), a)


@refuses(
    127, 128,
    "Output tensor `out` was never written to: a loop that stores to it may not be entered.",
)  # fmt: skip
def tensor_output_not_written_to(a, rows):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for _ in nl.sequential_range(rows // 128):
        nl.store(out, nl.load(a))
    return out


@refuses(True, False, "shared_hbm buffer can only be created top level kernel scope")
def shared_hbm_must_be_in_kernel_level(a, inside):
    for _ in nl.affine_range(8):
        if inside:
            nl.ndarray((128, 512), dtype=F32, buffer=nl.shared_hbm)
    nl.ndarray((128, 512), dtype=F32, buffer=nl.shared_hbm)


@refuses(nl.shared_hbm, nl.sbuf, "Creating HBM tensor with init value is not supported.")
def hbm_tensor_with_init_value(a, buffer):
    nl.full((128, 512), fill_value=1.0, dtype=F32, buffer=buffer)


@refuses(
    False, True,
    "Cannot update immutable parameter `a`: annotate it as nki.typing.mutable_tensor, or write to "
    "a copy of it.",
)  # fmt: skip
def cannot_update_immutable_parameter(a, copies):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm) if copies else a
    nl.store(out, nl.load(a))
    return out


@refuses(False, True, "Mutable kernel parameter `a` not returned by `return` statement")
def mutable_parameter_not_returned(a: nt.mutable_tensor, returns):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    tile = nl.load(a)
    nl.store(out, tile)
    nl.store(a, tile)
    return (out, a) if returns else out


@refuses(128, 512, "shape of `data[128, 128]` does not match the expected shape of [128, 512]")
def annotation_shape_mismatch(a, columns):
    data: nt.tensor[128, 512] = nl.zeros((nl.par_dim(128), columns), dtype=F32)
    nl.exp(data)


@refuses(True, False, "'index' tensor does not support item assignment", TypeError)
def cannot_assign_to_index(a, assigns):
    _, x = nl.mgrid[0:1, 0:8]
    y = nisa.iota(x, dtype=nl.uint32)
    (x if assigns else y)[0, 5] = 1024


@refuses(
    True, False, "The truth value of an array with more than one element is ambiguous"
)  # fmt: skip
def ambiguous_tensor_truth_value(a, negates):
    tile = nl.load(a)
    return None if not negates else not (tile > 0)


@refuses(
    True, False,
    "Dynamic control-flow depending on tensor value is currently not supported by NKI.",
)  # fmt: skip
def dynamic_control_flow(a, branches):
    condition = nl.load(a[0:1, 0:1])
    if branches and condition:
        nl.exp(condition)


@refuses(
    True, False,
    "a mask is made of comparisons of index expressions, not of Tensor: NKI mask expressions must "
    "be affine expressions of static loop indices.",
)  # fmt: skip
def unsupported_expression_in_mask(a, of_values):
    x = nl.load(a)
    nl.exp(x, mask=x > 2 if of_values else nl.arange(512)[None, :] > 2)


@refuses(
    True, False,
    "If indices are dynamic, copying indirect memory references of tensor `x` is not natively "
    "supported: use nisa.tensor_copy_dynamic_src.", IndexError,
)  # fmt: skip
def copy_of_dynamic_indices(a, dynamic):
    x = nl.zeros((128, 8, 4), dtype=F32)
    index = nl.load(a[0:128, 0:1], dtype=nl.int32)
    p, f = nl.arange(128)[:, None], nl.arange(4)[None, :]
    out = nl.ndarray((128, 4), dtype=F32)
    out[p, f] = x[p, index if dynamic else 0, f]


@refuses(
    True, False, "'load_transpose2d' does not support tensors with indirect indices."
)  # fmt: skip
def indirect_indices_with_api(a, indirect):
    index = nl.load(a[0:64, 0:1], dtype=nl.int32)
    rows = nl.arange(64)[:, None]
    nl.load_transpose2d(a[index[rows, 0] if indirect else rows, nl.arange(64)[None, :]])


@nki.trace
def part(a):
    return nl.load(a)


@refuses(
    (4, 4), None,
    "Calling kernel with spmd grid (part[4,4]) inside another kernel is not supported",
)  # fmt: skip
def nested_kernel_with_spmd_grid(a, grid):
    (part if grid is None else part[grid])(a)


def ids(case):
    return case.kernel.__name__


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_what_is_within_the_limit_passes(case):
    nki.jit(case.kernel).traced(np.zeros(case.shape, F32), case.good)


@pytest.mark.filterwarnings("ignore:shadowing local tensor")
@pytest.mark.parametrize("case", CASES, ids=ids)
def test_what_is_beyond_the_limit_has_the_vendors_sentence_and_the_kernels_line(case):
    with pytest.raises(case.kind) as caught:
        nki.jit(case.kernel).traced(np.zeros(case.shape, F32), case.bad)
    assert str(caught.value) == case.sentence
    (note,) = caught.value.__notes__
    lines = note.splitlines()
    assert __file__ in lines[0]
    with open(__file__) as source:
        assert lines[1].strip() in {line.strip() for line in source}
    assert set(lines[2].strip()) == {"^"}
