"""The torch.distributed backend: collectives of two processes, their simulated time, errors.

Both processes run all cases of distributed_cases.py once; the tests look at what they returned.
"""

import re
from pathlib import Path

import distributed_cases
import pytest
import torch
import torch.distributed as dist
from device_type import DEVICE_TYPE, OWN_NAME
from distributed_cases import FLOATS, WHOLE, WORLD, values
from processes import results_of, run_python

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What every case returned or raised, by rank."""
    return results_of(distributed_cases.__file__, tmp_path_factory.mktemp("group"))


def assert_equal(found, expected):
    assert isinstance(found, torch.Tensor), found
    assert found.dtype == expected.dtype and found.shape == expected.shape
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


def of_all(results, case, expected):
    for rank in range(WORLD):
        assert_equal(results[rank][case], expected)


# Bytes


@pytest.mark.parametrize("dtype", FLOATS + WHOLE, ids=str)
def test_allreduce_sums_every_dtype(results, dtype):
    expected = values(0).double() + values(1).double()
    of_all(results, f"allreduce {dtype}", expected.to(dtype))


ORACLES = {
    "SUM": torch.add, "AVG": lambda a, b: (a + b) / 2, "PRODUCT": torch.mul, "MIN": torch.minimum,
    "MAX": torch.maximum, "BAND": torch.bitwise_and, "BOR": torch.bitwise_or,
    "BXOR": torch.bitwise_xor,
}  # fmt: skip


@pytest.mark.parametrize("reduction", ORACLES)
def test_allreduce_has_every_reduction(results, reduction):
    dtype = torch.int32 if reduction[0] == "B" else torch.float32
    expected = ORACLES[reduction](values(0, dtype=dtype), values(1, dtype=dtype))
    of_all(results, f"allreduce {reduction}", expected)


def test_scalars_and_empty_tensors_are_reduced(results):
    of_all(results, "allreduce scalar", values(0, ()) + values(1, ()))
    of_all(results, "allreduce nothing", torch.zeros(0, 3))


def test_a_strided_tensor_is_reduced_and_what_lies_between_stays(results):
    total = values(0, (6, 4)) + values(1, (6, 4))
    for rank in range(WORLD):
        expected = values(rank, (6, 4))
        expected[::2, 1:3] = total[::2, 1:3]
        assert_equal(results[rank]["allreduce_strided"], expected)


def test_several_tensors_are_reduced_as_one_collective(results):
    for rank in range(WORLD):
        for found, shape in zip(
            results[rank]["allreduce_coalesced"], [(2, 3), (4,), (1, 1, 1)], strict=True
        ):
            assert_equal(found, values(0, shape) + values(1, shape))


@pytest.mark.parametrize("dtype", FLOATS + WHOLE, ids=str)
def test_broadcast_gives_all_what_the_root_has(results, dtype):
    of_all(results, f"broadcast {dtype}", values(1, dtype=dtype))


def test_reduce_changes_the_root_only(results):
    assert_equal(results[0]["reduce"], values(0))
    assert_equal(results[1]["reduce"], values(0) + values(1))


def test_gathers_give_every_rank_all_inputs(results):
    for rank in range(WORLD):
        for case, shape in (("allgather", lambda r: (3, 5)), ("allgather_uneven", lambda r: r + 2)):
            for other, found in enumerate(results[rank][case]):
                of = shape(other) if isinstance(shape(other), tuple) else (shape(other),)
                assert_equal(found, values(other, of))
    of_all(results, "allgather_into_tensor", torch.cat([values(0), values(1)]))


def test_one_tensor_for_all_ranks_is_scattered_by_its_rows(results):
    total = (values(0, (3, 4)) + values(1, (3, 4))).t()
    for rank in range(WORLD):
        assert_equal(results[rank]["reduce_scatter_one"], total[2 * rank : 2 * rank + 2])


def test_a_premultiplied_sum_scales_what_every_rank_gives(results):
    for rank in range(WORLD):
        whole, part, other = results[rank]["premultiplied"]
        assert_equal(whole, 0.5 * values(0) + 0.5 * values(1))
        assert_equal(part, (0.5 * (values(0, (4, 3)) + values(1, (4, 3))))[2 * rank :][:2])
        assert_equal(other, 4 * (values(0) + values(1)) if rank == 0 else values(rank))


def test_sync_batch_norm_normalises_the_batches_of_all_ranks_as_one(results):
    oracle = torch.nn.BatchNorm1d(3, dtype=torch.float64)
    with torch.no_grad():
        oracle.weight.copy_(torch.tensor([0.5, 2.0, -1.0]))
    parts = [distributed_cases.batch(rank).double().requires_grad_() for rank in range(WORLD)]
    outputs = oracle(torch.cat(parts))
    outputs.pow(3).sum().backward()
    shares = outputs.detach().split([len(part) for part in parts])
    for rank in range(WORLD):
        expected = [shares[rank], parts[rank].grad, oracle.weight.grad, oracle.bias.grad,
                    oracle.running_mean, oracle.running_var]  # fmt: skip
        for found, right in zip(results[rank]["sync_batch_norm"], expected, strict=True):
            torch.testing.assert_close(found.double(), right, rtol=1e-4, atol=1e-4)


def test_reduce_scatter_gives_every_rank_its_part(results):
    for rank in range(WORLD):
        total = values(0, (4,)) + values(1, (4,))
        assert_equal(results[rank]["reduce_scatter"], total[2 * rank : 2 * rank + 2])
        total = values(0, (4, 3)) + values(1, (4, 3))
        assert_equal(results[rank]["reduce_scatter_tensor"], total[2 * rank : 2 * rank + 2])


def test_gather_and_scatter_have_one_root(results):
    assert results[0]["gather"] == []
    for other, found in enumerate(results[1]["gather"]):
        assert_equal(found, values(other))
    for rank in range(WORLD):
        assert_equal(results[rank]["scatter"], values(0, (2, 2)) + rank)


def test_all_to_all_transposes_the_parts(results):
    sources = [values(0, (4, 2)), values(1, (4, 2))]
    rows = [values(0, (4, 3)), values(1, (2, 3))]
    for rank in range(WORLD):
        expected = torch.cat([source.chunk(2)[rank] for source in sources])
        assert_equal(results[rank]["alltoall_single"], expected)
        for other, found in enumerate(results[rank]["alltoall_list"]):
            assert_equal(found, values(other, (2,)) * (rank + 1))
    assert_equal(results[0]["alltoall_uneven"], torch.cat([rows[0][:1], rows[1]]))
    assert_equal(results[1]["alltoall_uneven"], rows[0][1:])


def test_messages_arrive_in_order_and_from_anybody(results):
    for rank in range(WORLD):
        first, second = results[rank]["messages"]
        assert_equal(first, values(1 - rank, (2, 3)))
        assert_equal(second, values(1 - rank, (5,)))
    assert_equal(results[1]["message_from_anybody"], values(0, (4,)))


def test_a_group_of_both_backends_takes_cpu_tensors_too(results):
    for rank in range(WORLD):
        for found in results[rank]["cpu_tensors"]:
            assert_equal(found, values(0) + values(1))


# Time


def test_clocks_meet_at_the_last_rank(results):
    times = [results[rank]["clocks_meet"] for rank in range(WORLD)]
    assert times[0][1:].equal(times[1][1:]), times  # start, end and both clocks afterwards
    ready = [float(time[0]) for time in times]
    assert ready[0] < ready[1] == float(times[0][1])
    # Two passes, each a step of 1.5 us and 2,000 bytes: at half of 16 engines' 27.2 bytes/ns
    # where it reduces, at all of it where it gathers.
    expected = 3 + 2000 / 217.6e3 + 2000 / 435.2e3
    assert float(times[0][2] - times[0][1]) == pytest.approx(expected, abs=1e-4)


def test_an_asynchronous_collective_overlaps_a_kernel(results):
    collective, kernel, *spans = results[0]["overlap"].tolist()
    starts, ends = spans[::2], spans[1::2]
    assert min(collective, kernel) > 0
    assert max(starts) < min(ends), "they overlap"


# Errors


ERRORS = {
    "error_shapes": r"ValueError: .*rank {rank} calls allreduce\(SUM\) of float32 \[{mine}\] while "
    r"rank {other} calls allreduce\(SUM\) of float32 \[{theirs}\]; all ranks of a group make the "
    r"same calls in the same order\.",
    "error_calls": r"ValueError: .*rank {rank} calls .* while rank {other} calls ",
    "error_dtypes": r"ValueError: .*rank {rank} calls allreduce\(SUM\) of float(32|16) \[2\] while",
    "error_reduction": r"TypeError: .*PREMUL_SUM takes floating-point and complex .*not int32",
    "error_split": r"ValueError: reduce_scatter_tensor.*float32 \[3\] has not 2 times the elements",
    "error_reduction_dtype": r"TypeError: .*BAND takes integers and bool, not float32\.",
    "error_devices": r"(ValueError|RuntimeError): .*(cpu|neuron_sim)",
    "error_splits": r"ValueError: .*rank \d sends \d elements to rank \d, which expects \d\.",
    "error_message": r"ValueError: .*rank {rank} calls (send|recv) of float32 .* but rank {other} ",
    "error_self": r"ValueError: .*tag -1 is out of range",
}


@pytest.mark.parametrize("case", ERRORS)
def test_calls_that_do_not_fit_raise_on_every_rank(results, case):
    for rank in range(WORLD):
        pattern = ERRORS[case].format(rank=rank, other=1 - rank, mine=2 + rank, theirs=3 - rank)
        assert re.search(pattern, results[rank][case], re.DOTALL), results[rank][case]


def test_a_rank_that_cannot_take_part_tells_the_others_why(results):
    assert "float32 [2] have different numbers of elements" in results[1]["error_one_rank"]
    assert re.search(
        r"ValueError: .*rank 1 cannot take part in allgather .*different numbers of elements",
        results[0]["error_one_rank"],
    )


def test_the_backend_is_known_by_its_name_and_for_its_device():
    assert dist.Backend(DEVICE_TYPE) == DEVICE_TYPE
    assert dist.Backend.default_device_backend_map[DEVICE_TYPE] == DEVICE_TYPE


# Examples


def run_example(name, *arguments) -> str:
    process = run_python(ROOT / "models" / name, *arguments, **OWN_NAME)
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return output


def test_ddp_has_the_gradients_of_one_process():
    shown = run_example("ddp.py", "--steps", "2")
    difference = re.search(r"gradients: (\S+) from those of one process", shown)
    assert difference and float(difference[1]) < 1e-4, shown
    assert re.search(r"step 1: loss \d", shown)
    assert "allreduce(SUM) of float32" in shown


def test_tensor_parallel_has_the_results_of_the_whole_mlp():
    shown = run_example("tensor_parallel.py", "--width", "64")
    assert "rank 0 holds (128, 64) of up's (256, 64)" in shown
    differences = re.findall(r"(\S+): (\S+) from the whole MLP", shown)
    assert {name for name, _ in differences} == {
        "output", "up.weight", "up.bias", "down.weight", "down.bias",
    }  # fmt: skip
    assert all(float(number) < 1e-4 for _, number in differences), shown
