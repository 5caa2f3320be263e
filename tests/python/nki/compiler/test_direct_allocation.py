"""Direct allocation of both languages: addresses, sharing, time, and what it rules out."""

import neuron_sim.neuronxcc.nki as old
import neuron_sim.neuronxcc.nki.compiler as ncc
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.nki as nki
import neuron_sim.nki.isa as new_isa
import neuron_sim.nki.language as new_nl
import numpy as np
import pytest
from isa_harness import target
from nki_errors import error_of

F32 = np.float32
RANDOM = np.random.default_rng(0)
TILES = (2, 128, 1000)


def blocks(bases, physical):
    """Tensors of TILES at byte addresses, with so many physical tiles."""
    return [
        nl.ndarray(
            (TILES[0], nl.par_dim(TILES[1]), TILES[2]),
            dtype=F32,
            buffer=ncc.sbuf.mod_alloc(base_addr=base, num_free_tiles=(physical,)),
        )
        for base in bases
    ]


@old.jit
def added(a, b, bases, physical):
    """a + b of tensors of TILES, each tile loaded, added and stored."""
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x, y, total = blocks(bases, physical)
    for m in nl.affine_range(TILES[0]):
        x[m] = nl.load(a[m])
        y[m] = nl.load(b[m])
        total[m] = nisa.tensor_tensor(x[m], y[m], op=nl.add)
        nl.store(out[m], value=total[m])
    return out


@old.jit
def added_automatically(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(TILES[0]):
        nl.store(out[m], value=nl.load(a[m]) + nl.load(b[m]))
    return out


def inputs():
    return [RANDOM.random(TILES, dtype=F32) for _ in "ab"]


APART = (0, 16000, 32000)


def microseconds(kernel, *arguments):
    with target("trn1"):
        return kernel.traced(*arguments).time()["latency_us"]


@pytest.mark.parametrize("physical", [1, 2, 4])
def test_tiles_at_addresses_of_their_own_give_the_sum(physical):
    a, b = inputs()
    assert np.array_equal(added(a, b, APART, physical), a + b)


def test_tensors_at_one_address_overwrite_each_other():
    a, b = inputs()
    assert np.array_equal(added(a, b, (0, 0, 0), 4), b + b)


def test_direct_allocation_takes_as_long_as_automatic_placement():
    a, b = inputs()
    direct = microseconds(added, a, b, APART, 4)
    assert direct == pytest.approx(microseconds(added_automatically, a, b), rel=0.01)
    # cs149 assignment 4, vector_add_direct_allocation of 256000 elements on trn1: 29 us measured
    assert direct == pytest.approx(29, rel=0.1)


def test_tiles_that_share_bytes_take_turns():
    a, b = inputs()
    apart = microseconds(added, a, b, APART, 4)
    assert microseconds(added, a, b, (0, 0, 0), 4) > apart
    assert microseconds(added, a, b, APART, 1) > apart + 2


def test_addresses_are_the_linearised_block_index_modulo_the_physical_tiles():
    asked = ncc.sbuf.mod_alloc(
        base_addr=100, base_partition=0, num_par_tiles=(2, 1), num_free_tiles=(2, 3)
    )
    for i in range(4):
        for j in range(5):
            free = (i % 2) * 3 + j % 3
            assert asked.address((i, j), 32, 40) == ((i % 2) * 32, 100 + free * 40)
    banks = ncc.psum.mod_alloc(base_bank=1, num_bank_tiles=(2, 3))
    assert banks.address((3, 4), 128, 2048) == (0, (1 + 3 + 1) * 2048)
    assert ncc.sbuf.mod_alloc(base_addr=8).address((3,), 128, 64) == (0, 8)


def test_a_function_gives_the_address_of_every_logical_tile():
    seen = []

    def chosen(idx, pdim_size, fdim_size):
        seen.append((idx, pdim_size, fdim_size))
        return 0, idx[0] * 512 + idx[1] * 256

    @old.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        x = nl.ndarray((2, 2, nl.par_dim(128), 64), dtype=F32, buffer=ncc.sbuf.alloc(chosen))
        for i in nl.affine_range(2):
            for j in nl.affine_range(2):
                x[i, j] = nl.load(a[i, j])
        for i in nl.affine_range(2):
            for j in nl.affine_range(2):
                nl.store(out[i, j], x[i, j, :, :])
        return out

    a = RANDOM.random((2, 2, 128, 64), dtype=F32)
    assert np.array_equal(kernel(a), a)
    assert set(seen) == {((i, j), 128, 256) for i in (0, 1) for j in (0, 1)}


@pytest.mark.parametrize(
    ("blocks", "physical"),
    [((4, 3), (2, 4)), ((4, 3), (2, 3)), ((4, 3), (4, 1)), ((3, 4), (1, 4)), ((4, 3), (3, 2)),
     ((2, 3), (4, 4)), ((4, 3), (1, 1))],
)  # fmt: skip
def test_loops_over_blocks_give_the_same_as_blocks_one_by_one(blocks, physical):
    @old.jit
    def kernel(a, counted):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        buffer = ncc.sbuf.mod_alloc(base_addr=64, num_free_tiles=physical)
        x = nl.ndarray((*blocks, nl.par_dim(32), 8), dtype=F32, buffer=buffer)
        steps = nl.sequential_range if counted else nl.static_range
        for i in steps(blocks[0]):
            for j in steps(blocks[1]):
                x[i, j] = nl.load(a[i, j])
            for j in steps(blocks[1]):
                nl.store(out[i, j], x[i, j])
        return out

    a = RANDOM.random((*blocks, 32, 8), dtype=F32)
    assert np.array_equal(kernel(a, True), kernel(a, False))
    if physical[1] >= blocks[1]:
        assert np.array_equal(kernel(a, True), a)
        assert kernel.traced(a, True).source.instructions == 2


def test_a_loop_over_blocks_is_traced_once():
    @old.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        buffer = ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2,))
        x = nl.ndarray((6, nl.par_dim(128), 8), dtype=F32, buffer=buffer)
        address = 64
        for i in nl.affine_range(6):
            y = nl.ndarray((128, 8), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=address))
            address += 32
            x[i] = nl.load(a[i])
            y[...] = nl.add(x[i], 1.0)
            nl.store(out[i], y)
        assert address == 96  # as under the vendor's tracer
        return out

    a = RANDOM.random((6, 128, 8), dtype=F32)
    assert np.array_equal(kernel(a), a + F32(1))


@pytest.mark.parametrize("physical", [(4,), (2,), ()])
def test_iterations_that_write_one_placed_tile_are_found(physical):
    @old.jit
    def kernel(_, shared):
        buffer = ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=physical)
        x = nl.ndarray((4, nl.par_dim(128), 8), dtype=F32, buffer=buffer)
        for i in nl.affine_range(4):
            if shared:
                x[0] = 0
            else:
                x[i] = 0

    kernel.traced(np.zeros((1, 1), F32), False)
    assert error_of(kernel.traced, np.zeros((1, 1), F32), True) == (
        "Unexpected output dependencies, different iterations of i loop write to `x[0]`"
    )


def test_sums_in_uninitialised_banks_begin_with_their_first_product():
    @old.jit
    def kernel(a, b):
        out = nl.ndarray((3, 128, 64), dtype=F32, buffer=nl.shared_hbm)
        x = nl.ndarray((4, nl.par_dim(128), 128), dtype=F32,
                       buffer=ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(4,)))  # fmt: skip
        y = nl.ndarray((128, 64), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=2048))
        z = nl.ndarray((128, 64), dtype=F32, buffer=ncc.sbuf.mod_alloc(base_addr=4096))
        total = nl.ndarray((3, nl.par_dim(128), 64), dtype=F32,
                           buffer=ncc.psum.mod_alloc(base_bank=6, num_bank_tiles=(2,)))  # fmt: skip
        for k in nl.affine_range(4):
            x[k] = nl.load(a[k])
        for i in nl.sequential_range(3):
            y[...] = nl.load(b[i])
            for k in nl.affine_range(4):
                total[i] += nisa.nc_matmul(x[k], y)
            z[...] = nl.copy(total[i])
            nl.store(out[i], z)
        return out

    a = RANDOM.integers(-4, 5, (4, 128, 128)).astype(F32)
    b = RANDOM.integers(-4, 5, (3, 128, 64)).astype(F32)
    expected = np.einsum("kpm,ipn->imn", a.astype(np.float64), b.astype(np.float64))
    assert np.array_equal(kernel(a, b), expected)


def declares(shape, buffer, dtype=F32):
    """A kernel that declares a tensor."""

    @old.jit
    def kernel(_):
        nl.ndarray(shape, dtype=dtype, buffer=buffer)

    return lambda: kernel.traced(np.zeros((1, 1), F32))


@pytest.mark.parametrize(
    ("partitions", "start", "allowed"),
    [(128, 32, "0"), (65, 64, "0"), (64, 32, "0 or 64"), (33, 96, "0 or 64"),
     (32, 16, "0 or 32 or 64 or 96"), (1, 97, "0 or 32 or 64 or 96")],
)  # fmt: skip
def test_tiles_start_at_partitions_that_their_number_allows(partitions, start, allowed):
    for good in map(int, allowed.split(" or ")):
        buffer = ncc.sbuf.mod_alloc(base_addr=0, base_partition=good)
        declares((partitions, 4), buffer)()
    buffer = ncc.sbuf.mod_alloc(base_addr=0, base_partition=start)
    assert error_of(declares((partitions, 4), buffer)) == (
        f"start partition {start} of tile `tensor` with {partitions} partitions is not supported: "
        f"it must be {allowed}."
    )


def test_sbuf_ends_before_what_the_compiler_keeps():
    with target("trn1"):
        declares((128, 10), ncc.sbuf.mod_alloc(base_addr=176 * 1024 - 40))()
        for address in (176 * 1024 - 36, -4):
            buffer = ncc.sbuf.mod_alloc(base_addr=address)
            assert error_of(declares((128, 10), buffer)) == (
                f"byte address {address} of tile `tensor` with 40 bytes per partition is out of "
                "range: sbuf has bytes [0, 180224) for tensors in each partition."
            )


def test_psum_has_eight_banks_and_a_tile_lies_in_one():
    declares((128, 512), ncc.psum.mod_alloc(base_bank=7))()
    assert error_of(declares((128, 512), ncc.psum.mod_alloc(base_bank=8))) == (
        "byte address 16384 of tile `tensor` with 2048 bytes per partition is out of range: psum "
        "has bytes [0, 16384) for tensors in each partition."
    )
    assert error_of(declares((128, 513), ncc.psum.mod_alloc(base_bank=0))) == (
        "tile `tensor` with 2052 bytes per partition crosses a PSUM bank: a tile in PSUM has at "
        "most 2048 bytes per partition."
    )


def test_a_tile_in_psum_starts_at_the_first_byte_of_a_bank():
    for extra, partition, byte in (({"base_addr": 4}, 0, 4), ({"base_partition": 32}, 32, 0)):
        buffer = ncc.psum.mod_alloc(base_bank=2, **extra)
        assert error_of(declares((32, 8), buffer)) == (
            "a tile in PSUM must start at partition 0 and byte 0 of its bank, not at partition "
            f"{partition} and byte {byte} of bank 2."
        )


def test_physical_tiles_are_as_many_numbers_as_there_are_block_dimensions():
    buffer = ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=(2, 2))
    declares((128, 4), buffer)()
    declares((4, 4, nl.par_dim(128), 4), buffer)()
    assert error_of(declares((4, nl.par_dim(128), 4), buffer)) == (
        "num_free_tiles (2, 2) of 'mod_alloc' must be empty or have as many numbers as the tensor "
        "has block dimensions, which are 1."
    )


def test_blocks_that_lie_apart_are_viewed_one_by_one():
    @old.jit
    def kernel(_, whole):
        (tensor,) = blocks((0,), 2)
        if whole:
            return tensor.reshape((2, 128, 10, 100)).shape
        return tensor[1].reshape((128, 10, 100)).shape

    assert kernel.traced(np.zeros((1, 1), F32), False).returned == (128, 10, 100)
    assert error_of(kernel.traced, np.zeros((1, 1), F32), True) == (
        "the blocks of tensor `tensor` lie apart: index its block dimensions before its tiles are "
        "viewed in another way."
    )


def test_a_block_index_is_checked_at_the_kernels_line():
    @old.jit
    def kernel(_):
        (tensor,) = blocks((0,), 2)
        tensor[2] = nl.add(tensor[0], 1.0)

    assert error_of(kernel.traced, np.zeros((1, 1), F32), kind=IndexError) == (
        "Out-of-bound access for tensor `tensor` on dimension 0: index range [2, 2] exceed "
        "dimension size of 2"
    )


def test_the_new_language_takes_addresses_of_tensors():
    def kernel(a, address):
        out = new_nl.ndarray(a.shape, a.dtype, buffer=new_nl.shared_hbm)
        x = new_nl.ndarray((128, 64), a.dtype, address=(0, 256))
        y = new_nl.ndarray((128, 64), a.dtype)
        p = new_nl.ndarray((128, 64), a.dtype, buffer=new_nl.psum, address=(0, address))
        new_isa.dma_copy(x, a)
        new_isa.tensor_copy(y, x)
        new_isa.tensor_tensor(p, x, y, new_nl.add)
        new_isa.tensor_copy(y, p)
        new_isa.dma_copy(out, y)
        return out

    a = RANDOM.random((128, 64), dtype=F32)
    assert np.array_equal(nki.jit(kernel)(a, 7 * 2048), 2 * a)
    assert error_of(nki.jit(kernel), a, 100) == (
        "direct allocation of 'p' in psum: address 100 is not the start of a bank of 2048 bytes on "
        "trn2."
    )


def test_blocks_that_do_not_fit_together_are_placed_one_by_one():
    @old.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=F32, buffer=nl.shared_hbm)
        p = nl.ndarray((12, nl.par_dim(128), 64), dtype=F32, buffer=nl.psum)
        for i in nl.affine_range(12):
            x = nl.load(a[i])
            p[i] = nl.add(x, 1.0)
            nl.store(out[i], p[i])
        return out

    a = RANDOM.random((12, 128, 64), dtype=F32)
    assert np.array_equal(kernel(a), a + F32(1))
