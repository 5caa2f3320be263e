"""nki.collectives: what ranks that run a kernel together make of each other's tensors."""

import ml_dtypes
import neuron_sim.nki as nki
import neuron_sim.nki.collectives as ncc
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest

RANDOM = np.random.default_rng(7)


def per_rank(count, *shape, dtype=np.float32):
    """Small whole numbers, which every dtype holds: sums are exact."""
    return [RANDOM.integers(-4, 5, shape).astype(dtype) for _ in range(count)]


def in_hbm(tensor, rows=None):
    """A tensor of the kernel's own of that shape, with `rows` rows if given."""
    shape = tuple(tensor.shape) if rows is None else (rows, *tensor.shape[1:])
    return nl.ndarray(shape, dtype=tensor.dtype, buffer=nl.shared_hbm)


@nki.jit
def reduce(x, group, op):
    src, dst = in_hbm(x), in_hbm(x)
    nisa.dma_copy(dst=src, src=x)
    ncc.all_reduce(srcs=[src], dsts=[dst], replica_group=group, op=op)
    return dst


@nki.jit
def gather(x, group, ranks):
    dst = in_hbm(x, x.shape[0] * ranks)
    ncc.all_gather(srcs=[x], dsts=[dst], replica_group=group, collective_dim=0)
    return dst


@nki.jit
def scatter(x, group, ranks):
    dst = in_hbm(x, x.shape[0] // ranks)
    ncc.reduce_scatter(srcs=[x], dsts=[dst], replica_group=group, collective_dim=0, op=nl.add)
    return dst


@nki.jit
def exchange(x, group):
    dst = in_hbm(x)
    ncc.all_to_all(srcs=[x], dsts=[dst], replica_group=group, collective_dim=0)
    return dst


def run(kernel, arrays, *arguments):
    return nki.simulate(kernel, ranks=len(arrays))(ncc.PerRank(arrays), *arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.int32, np.int8])
@pytest.mark.parametrize(
    "op, oracle", [(nl.add, np.sum), (nl.maximum, np.max), (np.minimum, np.min)]
)
def test_all_reduce_gives_every_rank_the_same(dtype, op, oracle):
    arrays = per_rank(3, 5, 7, dtype=dtype)
    results = run(reduce, arrays, ncc.ReplicaGroup([[0, 1, 2]]), op)
    expected = oracle(np.stack(arrays).astype(np.float64), axis=0)
    for result in results:
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.astype(np.float64), expected)


def test_groups_communicate_apart_and_other_ranks_do_not_take_part():
    arrays = per_rank(5, 4, 3)
    results = run(gather, arrays, ncc.ReplicaGroup([[2, 0], [1, 4]]), 2)
    np.testing.assert_array_equal(results[0], np.concatenate([arrays[2], arrays[0]]))
    np.testing.assert_array_equal(results[2], results[0])
    np.testing.assert_array_equal(results[1], np.concatenate([arrays[1], arrays[4]]))
    np.testing.assert_array_equal(results[4], results[1])
    np.testing.assert_array_equal(results[3], np.zeros((8, 3)))  # what its output held


@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_reduce_scatter_and_all_to_all_share_out_dimension_0(ranks):
    arrays = per_rank(ranks, 2 * ranks, 3)
    group = ncc.ReplicaGroup([list(range(ranks))])
    total = sum(arrays)
    for rank, result in enumerate(run(scatter, arrays, group, ranks)):
        np.testing.assert_array_equal(result, total[2 * rank : 2 * rank + 2])
    for rank, result in enumerate(run(exchange, arrays, group)):
        expected = np.concatenate([each[2 * rank : 2 * rank + 2] for each in arrays])
        np.testing.assert_array_equal(result, expected)


def test_a_plain_call_runs_on_one_rank():
    (x,) = per_rank(1, 4, 3)
    group = ncc.ReplicaGroup([[0]])
    for plain, ranked in [
        (reduce(x, group, nl.add), run(reduce, [x], group, nl.add)),
        (gather(x, group, 1), run(gather, [x], group, 1)),
        (scatter(x, group, 1), run(scatter, [x], group, 1)),
        (exchange(x, group), run(exchange, [x], group)),
    ]:
        np.testing.assert_array_equal(plain, x)
        np.testing.assert_array_equal(ranked[0], x)


def test_tiles_are_gathered_along_their_rows():
    @nki.jit
    def kernel(x, group):
        rows, columns = x.shape
        src = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        dst = nl.ndarray((rows, 2 * columns), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=src, src=x)
        ncc.all_gather(srcs=[src], dsts=[dst], replica_group=group, collective_dim=1)
        out = nl.ndarray(dst.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=out, src=dst)
        return out

    arrays = per_rank(2, 128, 5)
    for result in run(kernel, arrays, ncc.ReplicaGroup([[0, 1]])):
        np.testing.assert_array_equal(result, np.concatenate(arrays, axis=1))


def test_tensors_of_one_call_are_reduced_together():
    @nki.jit
    def kernel(x, y, group):
        outs = [in_hbm(x), in_hbm(y)]
        ncc.all_reduce(srcs=[x, y], dsts=outs, replica_group=group, op=nl.add)
        return tuple(outs)

    xs, ys = per_rank(2, 3, 4), per_rank(2, 5)
    group = ncc.ReplicaGroup([[0, 1]])
    for first, second in nki.simulate(kernel, ranks=2)(ncc.PerRank(xs), ncc.PerRank(ys), group):
        np.testing.assert_array_equal(first, xs[0] + xs[1])
        np.testing.assert_array_equal(second, ys[0] + ys[1])


def test_collective_permute_sends_along_its_pairs():
    @nki.jit
    def kernel(x, pairs):
        dst = in_hbm(x)
        ncc.collective_permute(srcs=[x], dsts=[dst], source_target_pairs=pairs)
        return dst

    arrays = per_rank(4, 3, 2)
    results = run(kernel, arrays, ((0, 2), (2, 0), (1, 1)))
    for result, source in zip(results, [2, 1, 0], strict=False):
        np.testing.assert_array_equal(result, arrays[source])
    np.testing.assert_array_equal(results[3], np.zeros((3, 2)))


@pytest.mark.parametrize("channels", [1, 2])
def test_a_ring_brings_the_rows_of_every_rank(channels):
    ranks = 4

    @nki.jit
    def kernel(x, group):
        rows, columns = x.shape
        out = nl.ndarray((ranks, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        now, following = in_hbm(x), in_hbm(x)
        nisa.dma_copy(dst=now, src=x)
        half = rows // channels
        for step in range(ranks):
            source = ncc.collective_permute_implicit_current_processing_rank_id(
                iteration_id=step, replica_group=group
            )
            if step < ranks - 1:
                parts = [slice(i * half, (i + 1) * half) for i in range(channels)]
                ncc.collective_permute_implicit(
                    srcs_by_channel=[[now[part]] for part in parts],
                    dsts_by_channel=[[following[part]] for part in parts],
                    replica_group=group,
                    channel_ids=list(range(channels)),
                )
            slot = out.ap(
                pattern=[[columns, rows], [1, columns]],
                offset=0,
                scalar_offset=source,
                indirect_dim=0,
            )
            nisa.dma_copy(dst=slot, src=now)
            now, following = following, now
        return out

    arrays = per_rank(2 * ranks, 6, 5)
    groups = [list(range(ranks)), [7, 6, 5, 4]]
    results = run(kernel, arrays, ncc.ReplicaGroup(groups))
    for group in groups:
        for rank in group:  # slots are places in the group
            np.testing.assert_array_equal(results[rank], np.stack([arrays[i] for i in group]))


def test_a_ring_reduces_what_it_passes_on():
    @nki.jit
    def kernel(x, y, group):
        dst = in_hbm(x)
        ncc.collective_permute_implicit_reduce([[x]], [[y]], [[dst]], group, op=nl.add)
        return dst

    xs, ys = per_rank(3, 4), per_rank(3, 4)
    results = nki.simulate(kernel, ranks=3)(
        ncc.PerRank(xs), ncc.PerRank(ys), ncc.ReplicaGroup([[0, 1, 2]])
    )
    for rank, result in enumerate(results):
        np.testing.assert_array_equal(result, xs[rank - 1] + ys[rank - 1])


def test_rank_id_selects_a_slice():
    @nki.jit
    def kernel(x):
        _, rows, columns = x.shape
        out = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        pattern = [[columns, rows], [1, columns]]
        nisa.dma_copy(
            dst=out, src=x.ap(pattern=pattern, scalar_offset=ncc.rank_id(), indirect_dim=0)
        )
        return out

    (x,) = per_rank(1, 3, 4, 5)
    for rank, result in enumerate(nki.simulate(kernel, ranks=3)(x)):
        np.testing.assert_array_equal(result, x[rank])
    np.testing.assert_array_equal(kernel(x), x[0])


@pytest.mark.parametrize("splits", [False, True])
def test_sizes_may_come_from_a_tensor(splits):
    @nki.jit
    def kernel(x, counts, group):
        dst = nl.ndarray((8,), dtype=x.dtype, buffer=nl.shared_hbm)
        metadata = nl.ndarray((3, 2), dtype=nl.uint32, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=metadata, src=counts)
        if splits:
            prepared = ncc.all_to_all_v_prepare([x], [dst], group, metadata)
            ncc.all_to_all_v_trigger(prepared)
        else:
            ncc.all_to_all_v([x], [dst], group, metadata)
        return dst, metadata

    xs = [np.arange(6, dtype=np.float32), np.arange(10, 16, dtype=np.float32)]
    counts = [
        np.array([[1, 3], [5, 0], [0, 0]], np.uint32),
        np.array([[2, 0], [4, 0], [0, 0]], np.uint32),
    ]
    (first, first_counts), (second, second_counts) = nki.simulate(kernel, ranks=2)(
        ncc.PerRank(xs), ncc.PerRank(counts), ncc.ReplicaGroup([[0, 1]])
    )
    np.testing.assert_array_equal(first, [5, 0, 0, 0, 14, 15, 0, 0])
    np.testing.assert_array_equal(second, [0, 1, 2, 0, 0, 0, 0, 0])
    np.testing.assert_array_equal(first_counts[2], [1, 2])
    np.testing.assert_array_equal(second_counts[2], [3, 0])


def test_both_cores_of_a_logical_core_do_their_part():
    @nki.jit
    def kernel(x, group):
        core = nl.program_id(0)
        rows, columns = x.shape[0] // 2, x.shape[1]
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        src = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        dst = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.sbuf)
        half = slice(core * rows, (core + 1) * rows)
        nisa.dma_copy(dst=src, src=x[half])
        ncc.all_reduce([src], [dst], group, nl.add)
        nisa.dma_copy(dst=out[half], src=dst)
        return out

    arrays = per_rank(2, 8, 6)
    results = run(kernel[2], arrays, ncc.ReplicaGroup([[0, 1]]))
    for result in results:
        np.testing.assert_array_equal(result, arrays[0] + arrays[1])


@pytest.mark.parametrize("orders", [True, False])
def test_both_cores_reduce_a_shared_tensor_after_a_barrier(orders):
    @nki.jit
    def kernel(x, group):
        core = nl.program_id(0)
        half = slice(core * 4, (core + 1) * 4)
        src, dst = in_hbm(x), in_hbm(x)
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nisa.dma_copy(dst=src[half], src=x[half])
        if orders:
            nisa.core_barrier(src, (0, 1))
        ncc.all_reduce([src], [dst], group, nl.add)
        nisa.dma_copy(dst=out[half], src=dst[half])
        return out

    arrays = per_rank(2, 8, 6)
    group = ncc.ReplicaGroup([[0, 1]])
    if not orders:
        with pytest.raises(
            ValueError, match="race on tensor .*'all_reduce' of core 1 reads.*no core_barrier"
        ):
            run(kernel[2], arrays, group)
        return
    for result in run(kernel[2], arrays, group):
        np.testing.assert_array_equal(result, arrays[0] + arrays[1])


def test_torch_tensors_and_written_arguments_stay_with_their_rank():
    torch = pytest.importorskip("torch")

    @nki.jit
    def kernel(x, y, group):
        ncc.all_reduce([x], [y], group, nl.add)
        return y

    xs = [torch.full((2, 2), float(rank + 1)) for rank in range(2)]
    ys = [torch.zeros(2, 2) for _ in range(2)]
    group = ncc.ReplicaGroup([[0, 1]])
    nki.simulate(kernel, ranks=2)(ncc.PerRank(xs), ncc.PerRank(ys), group)
    for y in ys:
        assert torch.equal(y, torch.full((2, 2), 3.0))


def test_ranks_may_run_different_programs():
    @nki.jit
    def kernel(x, rank, group):
        dst = in_hbm(x)
        tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
        nisa.memset(tile, float(rank))
        nisa.dma_copy(dst=dst, src=tile)
        ncc.all_reduce([dst], [dst], group, nl.maximum)
        return dst

    (x,) = per_rank(1, 2, 2)
    ranks = nki.simulate(kernel, ranks=3)
    arguments = (x, ncc.PerRank([5, 9, 7]), ncc.ReplicaGroup([[0, 1, 2]]))
    for result in ranks(*arguments):
        np.testing.assert_array_equal(result, np.full((2, 2), 9))
    assert len({id(each) for each in ranks.traced(*arguments)}) == 3


def test_time_is_that_of_the_whole_group():
    x = np.zeros((128, 64), np.float32)
    groups = [[0]], [[0, 1]], [list(range(8))], [list(range(64))]
    times = [reduce.traced(x, ncc.ReplicaGroup(each), nl.add).time()["body_us"] for each in groups]
    assert times == sorted(times) and len(set(times)) > 2
    # One chip: a step to scatter, one to gather, 1.5 us each.
    assert times[1] - times[0] == pytest.approx(3.0, abs=0.2)
