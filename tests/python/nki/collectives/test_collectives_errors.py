"""What nki.collectives refuses, and how ranks that cannot go on are told."""

import neuron_sim.nki as nki
import neuron_sim.nki.collectives as ncc
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import target
from nki_errors import error_of

X = np.ones((4, 6), np.float32)
PAIR = ncc.ReplicaGroup([[0, 1]])
HBM, SBUF = nl.shared_hbm, nl.sbuf


def refused(body, kind=ValueError, ranks=2):
    """The first line of what `body(x, new)` raises in a kernel; new(shape, buffer) is a tensor."""

    @nki.jit
    def kernel(x):
        def new(shape=(4, 6), buffer=HBM, dtype=nl.float32):
            return nl.ndarray(shape, dtype=dtype, buffer=buffer)

        body(x, new)
        return new()

    return error_of(nki.simulate(kernel, ranks=ranks), X, kind=kind).splitlines()[0]


def test_a_replica_group_is_a_list_of_lists():
    assert error_of(ncc.ReplicaGroup, [0, 1], kind=TypeError) == (
        "ReplicaGroup is [0, 1], but must be a list of lists of ranks, as [[0, 1], [2, 3]]."
    )
    assert (
        refused(lambda x, new: ncc.all_reduce([x], [new()], [[0, 1]], nl.add), TypeError)
        == "replica_group of 'all_reduce' is [[0, 1]], not a nki.collectives.ReplicaGroup."
    )
    assert refused(
        lambda x, new: ncc.all_reduce([x], [new()], ncc.ReplicaGroup([[0, 1], [1]]), nl.add)
    ) == (
        "'all_reduce': replica group [[0, 1], [1]] has rank 1 twice; sub-groups should not have "
        "any overlap."
    )


def test_tensors_come_in_lists_of_one_length():
    assert (
        refused(lambda x, new: ncc.all_reduce(x, [new()], PAIR, nl.add), TypeError)
        == "srcs of 'all_reduce' is a Tensor, not a list of tensors."
    )
    assert (
        refused(lambda x, new: ncc.all_reduce([x], [3], PAIR, nl.add), TypeError)
        == "dsts of 'all_reduce' has a int, not a tensor."
    )
    assert (
        refused(lambda x, new: ncc.all_reduce([], [], PAIR, nl.add))
        == "srcs of 'all_reduce' has no tensors."
    )
    assert (
        refused(lambda x, new: ncc.all_reduce([x, x], [new()], PAIR, nl.add))
        == "'all_reduce' has 2 srcs, but 1 dsts."
    )
    assert refused(
        lambda x, new: ncc.collective_permute([x, x], [new(), new()], [(0, 1), (1, 0)])
    ) == ("'collective_permute' of 2 tensors: each list parameter must contain exactly one tensor.")


def test_tiles_are_alone_and_only_where_the_vendor_takes_them():
    def tiles(new, count):
        return [new(buffer=SBUF) for _ in range(count)]

    assert refused(lambda x, new: ncc.all_reduce(tiles(new, 2), tiles(new, 2), PAIR, nl.add)) == (
        "'all_reduce' of 2 tensors: coalesced collective communication is only supported when "
        "tensors are on HBM."
    )
    assert refused(lambda x, new: ncc.all_reduce([x], tiles(new, 1), PAIR, nl.add)) == (
        "'all_reduce': all tensors must be on HBM or all must be on SBUF, but dst is in sbuf and "
        "src in hbm."
    )
    assert refused(lambda x, new: ncc.all_to_all(tiles(new, 1), tiles(new, 1), PAIR, 0)) == (
        "Expected operand 'dst' of 'all_to_all' to be in address space 'hbm', but got a tile in "
        "'sbuf' instead."
    )


def test_collective_dim_is_0_or_for_gathered_tiles_1():
    assert (
        refused(lambda x, new: ncc.all_gather([x], [new((4, 12))], PAIR, 1))
        == "collective_dim 1 of 'all_gather' is not supported for tensors in hbm; expected 0."
    )
    assert (
        refused(lambda x, new: ncc.all_gather([new(buffer=SBUF)], [new((4, 12), SBUF)], PAIR, 2))
        == "collective_dim 2 of 'all_gather' is not supported for tensors in sbuf; expected 0 or 1."
    )
    assert (
        refused(
            lambda x, new: ncc.reduce_scatter(
                [new(buffer=SBUF)], [new((4, 3), SBUF)], PAIR, 1, nl.add
            )
        )
        == "collective_dim 1 of 'reduce_scatter' is not supported for tensors in sbuf; expected 0."
    )


def test_sizes_divide_into_the_ranks():
    three = ncc.ReplicaGroup([[0, 1, 2]])
    assert "does not divide into the 3 ranks of a group." in refused(
        lambda x, new: ncc.reduce_scatter([x], [new((1, 6))], three, 0, nl.add), ranks=3
    )
    assert "does not divide into the 3 ranks of a group." in refused(
        lambda x, new: ncc.all_to_all([x], [new()], three, 0), ranks=3
    )
    assert "must have 2 times the elements of src" in refused(
        lambda x, new: ncc.all_gather([x], [new()], PAIR, 0)
    )


def test_op_is_add_minimum_or_maximum():
    assert (
        refused(lambda x, new: ncc.all_reduce([x], [new()], PAIR, nl.multiply))
        == "op multiply of 'all_reduce' is not supported; expected add, minimum or maximum."
    )


def test_priority_needs_neuron_core_4():
    def body(priority):
        return lambda x, new: ncc.all_reduce([x], [new()], PAIR, nl.add, priority=priority)

    assert refused(body(0), NotImplementedError) == (
        "parameter 'priority' of 'all_reduce' needs NeuronCore-v4 or newer."
    )
    with target("trn3"):
        assert refused(body(4)) == (
            "parameter 'priority' of 'all_reduce' is 4, but must be 0 to 3."
        )

        @nki.jit
        def kernel(x):
            out = nl.ndarray(x.shape, dtype=x.dtype, buffer=HBM)
            ncc.all_reduce([x], [out], PAIR, nl.add, priority=3)
            return out

        np.testing.assert_array_equal(nki.simulate(kernel, ranks=2)(X)[1], 2 * X)


def test_permutes_are_circular():
    assert refused(lambda x, new: ncc.collective_permute([x], [new()], [(0, 1)])) == (
        "'collective_permute': source_target_pairs [[0, 1]]: rank 0 sends but does not receive; "
        "only circular permute patterns are supported."
    )


def test_channels_count_from_0_to_3():
    def body(ids, count=None):
        def emit(x, new):
            lists = [[x] for _ in range(len(ids) if count is None else count)]
            outs = [[new()] for _ in lists]
            ncc.collective_permute_implicit(lists, outs, PAIR, channel_ids=ids)

        return emit

    consecutive = "must be consecutive integers from 0, at most 4 of them."
    for ids in ([1], [0, 2], [], [0, 1, 2, 3, 4]):
        assert refused(body(ids)) == (
            f"channel_ids {ids} of 'collective_permute_implicit' {consecutive}"
        )
    assert refused(body([0, 1], count=1)) == (
        "'collective_permute_implicit' of 2 channels has lists of 1 sources and 1 destinations."
    )


def test_metadata_have_the_documented_shape():
    assert (
        refused(lambda x, new: ncc.all_to_all_v([x], [new()], PAIR, new((2, 2), HBM, nl.uint32)))
        == "metadata_tensor of 'all_to_all_v' has shape (2, 2), but must have (3, 2)."
    )
    assert refused(
        lambda x, new: ncc.all_gather_v([x], [new()], PAIR, new((3, 2), HBM, nl.uint32))
    ) == (
        "each rank-list of 'all_gather_v' must have exactly 4 ranks, but replica_group is "
        "ReplicaGroup([[0, 1]])."
    )


def test_a_prepare_has_one_trigger_and_no_other_prepare_in_between():
    def metadata(new):
        return new((3, 2), HBM, nl.uint32)

    def prepared(x, new):
        return ncc.all_to_all_v_prepare([x], [new()], PAIR, metadata(new))

    def twice(x, new):
        prepared(x, new)
        prepared(x, new)

    def triggered_twice(x, new):
        first = prepared(x, new)
        ncc.all_to_all_v_trigger(first)
        ncc.all_to_all_v_trigger(first)

    assert refused(twice) == (
        "'all_to_all_v_prepare' comes before the trigger of 'all_to_all_v_prepare': one prepare at "
        "a time has a slot."
    )
    needs = "'{0}_trigger' needs the '{0}_prepare' before it, once."
    assert refused(triggered_twice) == needs.format("all_to_all_v")
    assert refused(lambda x, new: ncc.all_gather_v_trigger(prepared(x, new))) == needs.format(
        "all_gather_v"
    )
    assert refused(lambda x, _: ncc.all_to_all_v_trigger(x), kind=TypeError) == (
        "'all_to_all_v_trigger' takes what 'all_to_all_v_prepare' returned, not a Tensor."
    )


@nki.jit
def reduce(x, group):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=HBM)
    ncc.all_reduce([x], [out], group, nl.add)
    return out


def test_a_group_has_no_more_ranks_than_run():
    assert error_of(reduce, X, PAIR, kind=IndexError).splitlines()[0] == (
        "'all_reduce' of kernel 'reduce': rank 1 of replica group [[0, 1]] does not exist; the "
        "kernel runs on 1 rank."
    )
    group = ncc.ReplicaGroup([[0, 3]])
    assert error_of(nki.simulate(reduce, ranks=2), X, group, kind=IndexError).splitlines()[0] == (
        "'all_reduce' of kernel 'reduce': rank 3 of replica group [[0, 3]] does not exist; the "
        "kernel runs on 2 ranks."
    )


def test_ranks_that_issue_different_collectives_deadlock():
    @nki.jit
    def kernel(x, gathers, group):
        out = nl.ndarray((8, 6), dtype=x.dtype, buffer=HBM)
        if gathers is None:
            return x
        if gathers:
            ncc.all_gather([x], [out], group, 0)
        else:
            ncc.all_reduce([x], [out[0:4]], group, nl.add)
        return out

    ranks = nki.simulate(kernel, ranks=2)
    different = error_of(ranks, X, ncc.PerRank([True, False]), PAIR, kind=RuntimeError)
    assert different.splitlines()[0] == (
        "kernel 'kernel' deadlocks: core 0 of rank 0 at 'all_gather' of replica group [[0, 1]], "
        "core 0 of rank 1 at 'all_reduce' of replica group [[0, 1]]."
    )
    alone = error_of(ranks, X, ncc.PerRank([None, True]), PAIR, kind=RuntimeError)
    assert alone.splitlines()[0] == (
        "kernel 'kernel' deadlocks: core 0 of rank 1 at 'all_gather' of replica group [[0, 1]] "
        "waits for rank 0, which has ended."
    )


def test_an_error_of_one_rank_ends_the_others():
    @nki.jit
    def kernel(x, index, group):
        rows = nl.ndarray((4, 1), dtype=nl.int32, buffer=SBUF)
        nisa.dma_copy(dst=rows, src=index)
        tile = nl.ndarray((4, 6), dtype=x.dtype, buffer=SBUF)
        nisa.dma_copy(dst=tile, src=x.ap([[6, 4], [1, 6]], vector_offset=rows, indirect_dim=0))
        out = nl.ndarray((4, 6), dtype=x.dtype, buffer=HBM)
        nisa.dma_copy(dst=out, src=tile)
        ncc.all_reduce([out], [out], group, nl.add)
        return out

    good, bad = np.zeros((4, 1), np.int32), np.full((4, 1), 4, np.int32)
    ranks = nki.simulate(kernel, ranks=2)
    np.testing.assert_array_equal(ranks(X, ncc.PerRank([good, good]), PAIR)[0], 2 * X)
    for order in ([good, bad], [bad, good]):
        message = error_of(ranks, X, ncc.PerRank(order), PAIR, kind=IndexError)
        assert "Out-of-bound access for tensor `x` on dimension 0: index 4" in message


def test_arguments_per_rank_are_as_many_as_ranks():
    assert error_of(nki.simulate(reduce, ranks=2), ncc.PerRank([X, X, X]), PAIR) == (
        "kernel 'reduce' runs on 2 ranks, but an argument is a PerRank of 3 ranks."
    )
    assert error_of(lambda: nki.simulate(reduce, ranks=0)) == (
        "kernel 'reduce' runs on 0 ranks; at least 1 is."
    )


def test_a_written_argument_belongs_to_one_rank():
    @nki.jit
    def kernel(x, y, group):
        ncc.all_reduce([x], [y], group, nl.add)
        return y

    y = np.zeros_like(X)
    assert error_of(nki.simulate(kernel, ranks=2), X, y, PAIR) == (
        "kernel 'kernel' writes input 'y', so every rank needs an array of its own: give them as "
        "PerRank."
    )
    nki.simulate(kernel, ranks=1)(X, y, ncc.ReplicaGroup([[0]]))
    np.testing.assert_array_equal(y, X)


def test_the_number_of_a_rank_is_no_python_number():
    with pytest.raises(TypeError, match="the value of a register is not known"):
        refused(lambda x, new: range(ncc.rank_id()))
