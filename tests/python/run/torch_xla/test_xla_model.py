"""torch_xla.core.xla_model and what belongs to it, in one process."""

import io

import pytest

torch = pytest.importorskip("torch")

import neuron_sim.run.torch_xla.core.xla_model as xm  # noqa: E402
from neuron_sim.run import torch_xla  # noqa: E402
from neuron_sim.run.torch_xla import runtime  # noqa: E402
from neuron_sim.run.torch_xla.debug import metrics  # noqa: E402
from neuron_sim.run.torch_xla.distributed import parallel_loader, xla_multiprocessing  # noqa: E402
from neuron_sim.settings import device_name  # noqa: E402


def batches():
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.rand(4, 8, generator=generator), {"label": torch.tensor([0, 1, 2, 3]), "name": "a"})
        for _ in range(5)
    ]


def losses(device, loader, step):
    torch.manual_seed(0)
    layers = torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)
    model = torch.nn.Sequential(*layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    values = []
    for x, rest in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), rest["label"])
        loss.backward()
        step(optimizer)
        values.append(loss.item())
    return values


def test_a_training_loop_runs_on_the_device_and_has_the_cpus_losses():
    expected = losses("cpu", batches(), torch.optim.SGD.step)
    loader = parallel_loader.MpDeviceLoader(batches(), xm.xla_device())
    torch.neuron_sim.reset_fallback_counts()
    with torch.neuron_sim.record_launches() as launches:
        found = losses("xla", loader, xm.optimizer_step)
    assert len(launches) > 5 * 10
    assert torch.neuron_sim.fallback_counts() == {} == dict.fromkeys(metrics.counter_names())
    assert found == pytest.approx(expected, rel=1e-5)
    assert expected[-1] < expected[0]


def test_a_loader_moves_tensors_in_any_structure_and_ends_steps():
    steps = []
    loader = parallel_loader.ParallelLoader(batches(), ["xla:1"], loader_prefetch_size=2)
    loader = loader.per_device_loader("xla:1")
    for number, (x, rest) in enumerate(loader):
        assert x.device == rest["label"].device == torch.device(device_name(), 1)
        assert rest["name"] == "a"
        xm.add_step_closure(steps.append, (number,), run_async=True)
        assert steps == list(range(number))
    assert steps == list(range(5)) and len(loader) == 5
    with pytest.raises(NotImplementedError, match="input_sharding"):
        next(iter(parallel_loader.MpDeviceLoader(batches(), "xla", input_sharding=object())))


def test_marking_a_step_waits_only_where_it_is_told_to():
    long, short = torch.ones(1024, 1024, device="xla"), torch.ones(1, device="xla:1")
    for wait in (False, True):
        xm.mark_step(wait=True)
        with torch.neuron_sim.record_launches() as launches:
            long @ long
            xm.mark_step(wait=wait)
            short + short
        first, second = launches
        assert (second.start_us > first.start_us + first.latency_us - 0.01) == wait


def test_compiled_functions_and_steps_end_steps():
    ended = []
    xm.add_step_closure(ended.append, ("before",))
    with torch_xla.step():
        assert ended == ["before"]
        xm.add_step_closure(ended.append, ("block",))
    assert ended == ["before", "block"]
    doubled = torch_xla.compile(lambda x: x * 2, full_graph=True)
    xm.add_step_closure(ended.append, ("call",))
    assert doubled(torch.ones(1, device="xla")).tolist() == [2] and ended[-1] == "call"


def test_saved_data_is_on_the_cpu():
    file = io.BytesIO()
    xm.save({"weight": torch.ones(2, device="xla"), "step": 3}, file)
    file.seek(0)
    data = torch.load(file)
    assert data["weight"].device.type == "cpu" and data["step"] == 3
    moved = xm.send_cpu_data_to_device([data], "xla")
    assert xm.is_xla_tensor(moved[0]["weight"]) and not xm.is_xla_tensor(data["weight"])


def test_one_process_is_the_master_of_a_world_of_its_own(capsys):
    assert (xm.get_ordinal(), xm.xrt_world_size(), xm.is_master_ordinal()) == (0, 1, True)
    assert (runtime.world_size(), runtime.global_ordinal(), runtime.is_spmd()) == (1, 0, False)
    assert xm.get_xla_supported_devices() == ["xla:0", "xla:1"]
    assert xm.get_xla_supported_devices(max_devices=1) == ["xla:0"]
    assert [xm.xla_device_hw(name) for name in ("xla", "cpu")] == ["NEURON", "CPU"]
    assert 0 <= xm.get_memory_info("xla:0")["bytes_used"] < xm.get_memory_info()["bytes_limit"]
    xm.master_print("seen")
    assert capsys.readouterr().out == "seen\n"
    assert xla_multiprocessing.spawn(lambda index, word: (index, word), ("a",), nprocs=1) == (
        0,
        "a",
    )
    with pytest.raises(NotImplementedError, match="SPMD is not simulated"):
        runtime.use_spmd()


def test_collectives_of_one_process_give_its_own_tensors():
    x = torch.arange(4.0, device="xla").reshape(2, 2)
    assert xm.all_reduce(xm.REDUCE_MAX, x, scale=0.5).tolist() == [[0, 0.5], [1, 1.5]]
    xm.all_reduce(xm.REDUCE_SUM, [x], scale=2.0)
    assert x.tolist() == [[0, 2], [4, 6]]
    assert torch.equal(xm.all_gather(x, dim=1), x)
    assert xm.reduce_scatter(xm.REDUCE_SUM, x, 0.5, 0, 1).tolist() == [[0, 1], [2, 3]]
    assert torch.equal(xm.all_to_all(x, 0, 1, 1), x)
    assert xm.rendezvous("tag", b"payload") == [b"payload"]
    assert xm.mesh_reduce("tag", 3, sum) == 3


def test_the_seed_decides_what_is_drawn():
    xm.set_rng_state(5)
    first = torch.rand(3, device="xla")
    assert xm.get_rng_state() == 5
    torch_xla.manual_seed(5)
    assert torch.equal(torch.rand(3, device="xla"), first)


def test_a_counter_is_an_operator_that_ran_on_the_cpu():
    metrics.clear_all()
    torch.linalg.svd(torch.eye(3, device="xla"))
    assert metrics.counter_names() == ["aten::_linalg_svd.U"]
    assert metrics.counter_value("aten::_linalg_svd.U") == 1
    assert metrics.counter_value("aten::add") is None
    assert metrics.metrics_report() == "Counter: aten::_linalg_svd.U\n  Value: 1\n"
    metrics.clear_all()
