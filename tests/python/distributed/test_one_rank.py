"""One rank of a group without the other processes, while only time is wanted."""

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
import torch.distributed as dist
from device_type import DEVICE_TYPE
from torch.distributed import _functional_collectives as collectives


@pytest.fixture
def group():
    with torch.neuron_sim.timing_only(), torch.neuron_sim.one_rank_of(24):
        yield


def captured(function, *tensors):
    """The one launch of a compiled function."""
    call = torch.compile(function, backend=DEVICE_TYPE)
    with torch.no_grad():
        call(*tensors)
        with torch.neuron_sim.record_launches() as launches:
            call(*tensors)
    assert len(launches) == 1
    return launches[0]


def test_collectives_take_the_time_of_their_group_at_once(group):
    x = torch.empty(1 << 20, device=DEVICE_TYPE)
    with torch.neuron_sim.record_collectives() as found:
        dist.all_reduce(x)
        dist.all_gather_into_tensor(torch.empty(24 << 20, device=DEVICE_TYPE), x)
    assert [(one.ranks, one.waited_us) for one in found] == [(24, 0), (24, 0)]
    assert found[0].bytes == 4 << 20
    assert all(one.latency_us > 0 for one in found)


def test_a_compiled_graph_has_its_collectives_in_its_program(group):
    def step(x, weight):
        return collectives.all_reduce(x @ weight, "sum", dist.group.WORLD) + 1

    x = torch.empty(8, 128, dtype=torch.bfloat16, device=DEVICE_TYPE)
    weight = torch.empty(128, 64, dtype=torch.bfloat16, device=DEVICE_TYPE)
    alone = captured(lambda x, w: x @ w + 1, x, weight)
    hop = 1.5  # collective.hop_latency; a small all-reduce has two passes or more
    assert captured(step, x, weight).body_us > alone.body_us + 2 * hop


def test_a_captured_reduction_reads_its_input_where_it_is(group):
    def one(x):
        return collectives.all_reduce(x, "sum", dist.group.WORLD)

    def two(x, y):
        return collectives.all_reduce_coalesced([x, y], "sum", dist.group.WORLD)

    x = torch.empty(64, 1024, device=DEVICE_TYPE)
    for launch, instructions in ((captured(one, x), 1), (captured(two, x, x[:32]), 2)):
        assert (launch.instructions, launch.dma_bytes) == (instructions, 0)
    # Read again afterwards: two loads and a store, but no copy of it.
    assert captured(lambda x: one(x) + x, x).dma_bytes == 3 * x.nbytes
    # A strided input has to become dense, once.
    assert captured(one, x.t()).dma_bytes == 2 * x.nbytes


def test_a_tensor_parallel_plan_runs_on_one_rank(group):
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    with torch.device(DEVICE_TYPE):
        module = torch.nn.Sequential(torch.nn.Linear(48, 96), torch.nn.Linear(96, 48))
    plan = {"0": ColwiseParallel(), "1": RowwiseParallel()}
    module = parallelize_module(module, DeviceMesh(DEVICE_TYPE, list(range(24))), plan)
    assert module[0].weight.to_local().shape == (4, 48)
    with torch.no_grad(), torch.neuron_sim.record_collectives() as found:
        assert module(torch.empty(5, 48, device=DEVICE_TYPE)).shape == (5, 48)
    assert [one.call.split("(")[0] for one in found] == ["allreduce"]


def test_a_collective_that_would_move_bytes_is_refused():
    with torch.neuron_sim.one_rank_of(2):
        with pytest.raises(RuntimeError, match="this process has no peers"):
            dist.all_reduce(torch.ones(3, device=DEVICE_TYPE))


def test_a_group_has_a_rank_and_is_the_only_default_one():
    with pytest.raises(ValueError, match="at least one rank, not 0"):
        with torch.neuron_sim.one_rank_of(0):
            pass
    with torch.neuron_sim.one_rank_of(2), pytest.raises(RuntimeError, match="already"):
        with torch.neuron_sim.one_rank_of(2):
            pass
    assert not dist.is_initialized()
