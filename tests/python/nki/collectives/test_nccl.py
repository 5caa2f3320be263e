"""neuronxcc.nki.nccl: collectives of the old language, as public kernels call them."""

import neuron_sim.neuronxcc.nki as old_nki
import neuron_sim.neuronxcc.nki.language as nl
import neuron_sim.neuronxcc.nki.nccl as nccl
import neuron_sim.neuronxcc.nki.typing as nt
import neuron_sim.nki as nki
import numpy as np
import pytest
from neuron_sim.neuronxcc.nki.nccl.collectives import collective_permute_implicit
from neuron_sim.nki.collectives import PerRank
from nki_errors import error_of

RANDOM = np.random.default_rng(3)


def arrays(ranks, *shape):
    return [RANDOM.integers(-9, 9, shape).astype(np.float32) for _ in range(ranks)]


def on_ranks(kernel, values, *others):
    return nki.simulate(kernel, ranks=len(values))(PerRank(values), *others)


def test_all_gather_concatenates_columns():
    @old_nki.jit
    def kernel(x):
        local = nl.ndarray((1, 4), dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(local[0:1, 0:4], nl.load(x[0:1, 0:4]))
        gathered = nl.ndarray((1, 12), dtype=nl.float32, buffer=nl.shared_hbm)
        nccl.all_gather(
            op=np.add, srcs=[local], dsts=[gathered], replica_groups=[list(range(3))],
            all_gather_dim=1,
        )  # fmt: skip
        return gathered

    values = arrays(3, 1, 4)
    for result in on_ranks(kernel, values):
        np.testing.assert_array_equal(result, np.concatenate(values, axis=1))


def test_all_reduce_writes_an_indexed_part():
    @old_nki.jit
    def kernel(x):
        rows, columns = x.shape
        out = nl.ndarray((1, rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.arange(rows)[:, None], nl.arange(columns)[None, :]
        temporary = nl.ndarray((rows, columns), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(temporary, nl.load(x))
        nccl.all_reduce(
            op=np.add, srcs=[temporary], dsts=[out[0, i_p, i_f]], replica_groups=[[0, 1]],
            dtype=x.dtype,
        )  # fmt: skip
        return out

    values = arrays(2, 5, 7)
    for result in on_ranks(kernel, values):
        np.testing.assert_array_equal(result[0], values[0] + values[1])


@pytest.mark.parametrize("nested", [True, False])
def test_all_to_all_into_an_argument(nested):
    ranks = list(range(2))

    @old_nki.jit
    def kernel(send, received: nt.mutable_tensor):
        groups = [ranks] if nested else ranks
        nccl.all_to_all(np.add, [send], [received], groups, 1, 1)
        return received

    values, targets = arrays(2, 1, 6, 3), [np.zeros((1, 6, 3), np.float32) for _ in range(2)]
    results = nki.simulate(kernel, ranks=2)(PerRank(values), PerRank(targets))
    for rank, result in enumerate(results):
        expected = np.concatenate([each[:, 3 * rank : 3 * rank + 3] for each in values], axis=1)
        np.testing.assert_array_equal(result, expected)


def test_reduce_scatter_shares_out_rows():
    @old_nki.jit
    def kernel(x):
        out = nl.ndarray((2, 3), dtype=x.dtype, buffer=nl.shared_hbm)
        nccl.reduce_scatter(np.maximum, [x], [out], [[0, 1]], reduce_scatter_dim=0)
        return out

    values = arrays(2, 4, 3)
    largest = np.maximum(*values)
    for rank, result in enumerate(on_ranks(kernel, values)):
        np.testing.assert_array_equal(result, largest[2 * rank : 2 * rank + 2])


def test_permutes_take_one_tensor():
    @old_nki.jit
    def kernel(x):
        out = nl.ndarray((2, 128, 1), dtype=x.dtype, buffer=nl.shared_hbm)
        nccl.collective_permute(dst=out[0], src=x, source_target_pairs=[(0, 1), (1, 0)])
        collective_permute_implicit(
            src=x[0:1, 0:1], dst=out[1, 0:1, 0:1], replica_groups=[[0, 1]], channel_id=0,
            num_channels=1,
        )  # fmt: skip
        return out

    values = arrays(2, 128, 1)
    for rank, result in enumerate(on_ranks(kernel, values)):
        np.testing.assert_array_equal(result[0], values[1 - rank])
        assert result[1, 0, 0] == values[1 - rank][0, 0]


def test_a_collective_in_a_loop_runs_in_every_iteration():
    @old_nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for i in nl.sequential_range(x.shape[0]):
            nccl.all_reduce(np.add, [x[i]], [out[i]], [[0, 1]])
        return out

    values = arrays(2, 6, 4, 5)
    for result in on_ranks(kernel, values):
        np.testing.assert_array_equal(result, values[0] + values[1])


def test_wrong_options_are_named():
    def refused(kind=ValueError, **options):
        @old_nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
            nccl.all_reduce(np.add, [x], [out], [[0]], **options)
            return out

        return error_of(kernel, arrays(1, 2, 2)[0], kind=kind).splitlines()[0]

    assert refused(dtype=nl.bfloat16) == (
        "dtype bfloat16 of 'all_reduce' is not that of its tensors, float32."
    )
    assert refused(TypeError, tiles=3) == (
        "all_reduce() got an unexpected keyword argument 'tiles'"
    )

    @old_nki.jit
    def kernel(x):
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nccl.all_to_all(np.add, [x], [out], [[0]], 0, 1)
        return out

    assert error_of(kernel, arrays(1, 2, 2)[0]).splitlines()[0] == (
        "split_dimension 0 of 'all_to_all' must be concat_dimension 1."
    )
