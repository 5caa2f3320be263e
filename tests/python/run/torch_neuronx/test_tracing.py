"""torch_neuronx.trace, and what is done with traced modules."""

import copy
import io
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from neuron_sim.run.torch_neuronx import experimental, tracing  # noqa: E402
from neuron_sim.run.torch_neuronx.xla_impl.data_parallel import DataParallel  # noqa: E402


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)
        self.register_buffer("scale", torch.arange(4.0))

    def forward(self, x, y):
        hidden = torch.nn.functional.gelu(self.first(x))
        return {"hidden": hidden, "scores": self.second(hidden) * self.scale + y}


def inputs(rows=3, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(rows, 8, generator=generator), torch.rand(rows, 4, generator=generator)


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    return Network().eval()


@pytest.fixture(scope="module")
def traced(network):
    return tracing.trace(network, inputs())


def reloaded(traced):
    file = io.BytesIO()
    torch.jit.save(traced, file)
    file.seek(0)
    return torch.jit.load(file)


def assert_same(found, expected):
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name].device.type == "cpu"
        torch.testing.assert_close(found[name], value, rtol=1e-5, atol=1e-5)


def launches_of(call):
    with torch.neuron_sim.record_launches() as launches:
        call()
    return [(launch.name, launch.device) for launch in launches]


def test_a_model_is_one_launch_with_the_cpus_values(network, traced):
    assert isinstance(traced, torch.jit.ScriptModule)
    for seed in (1, 2):
        with torch.neuron_sim.record_launches() as launches:
            found = traced(*inputs(seed=seed))
        assert_same(found, network(*inputs(seed=seed)))
        assert [launch.name for launch in launches] == ["graph"]


def test_it_is_saved_loaded_and_copied(network, traced, tmp_path):
    for again in (reloaded(traced), copy.deepcopy(traced)):
        assert_same(again(*inputs(seed=3)), network(*inputs(seed=3)))
    torch.jit.save(traced, tmp_path / "model.pt")
    script = (
        "import torch, neuron_sim.run.torch_neuronx\n"
        f"model = torch.jit.load({str(tmp_path / 'model.pt')!r})\n"
        "print(model(torch.ones(3, 8), torch.zeros(3, 4))['scores'].sum().item())\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", script]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    expected = network(torch.ones(3, 8), torch.zeros(3, 4))["scores"].sum().item()
    assert float(out) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("given", "sentence"), [
    ((torch.ones(2, 8), torch.ones(2, 4)), r"input 0 is \[2, 8\] of torch.float32, but the module"),
    ((torch.ones(3, 8), torch.ones(3, 5)), r"input 1 is \[3, 5\] of torch.float32, but the module"),
    ((torch.ones(3, 8).double(), torch.ones(3, 4)), r"input 0 is \[3, 8\] of torch.float64"),
    ((torch.ones(3, 8, device="meta"), torch.ones(3, 4)), "input 0 is on meta: a traced module"),
])  # fmt: skip
def test_other_inputs_are_refused_in_a_sentence(traced, given, sentence):
    with pytest.raises(RuntimeError, match=sentence):
        traced(*given)


def test_outputs_keep_their_structure():
    def nested(x):
        return x + 1, [(x * 2, {"a": x - 1}), [x, x]]

    x = torch.arange(4.0)
    first, ((second, third), last) = tracing.trace(nested, x)(x)
    assert (first.tolist(), second.tolist()) == ([1, 2, 3, 4], [0, 2, 4, 6])
    assert third["a"].tolist() == [-1, 0, 1, 2] and isinstance(last, list)
    mixed = tracing.trace(lambda x: {"a": x, "b": (x + 1, x + 2)}, x)(x)
    assert isinstance(mixed, tuple) and mixed[1][1].tolist() == [2, 3, 4, 5]


def test_control_flow_is_that_of_the_example():
    traced = tracing.trace(lambda x: x * 2 if x.sum() > 0 else -x, torch.ones(3))
    assert traced(torch.ones(3)).tolist() == [2, 2, 2]
    assert traced(-torch.ones(3)).tolist() == [-2, -2, -2]


@pytest.mark.parametrize(("function", "error", "sentence"), [
    (lambda x: torch.linalg.svd(x)[1], NotImplementedError, "_linalg_svd.U' would run on the CPU"),
    (lambda x: (x, None), TypeError, "torch_neuronx.trace: output 1 is NoneType, not a tensor"),
])  # fmt: skip
def test_what_cannot_be_traced_is_refused(function, error, sentence):
    with pytest.raises(error, match=sentence):
        tracing.trace(function, torch.rand(3, 3))
    assert torch.neuron_sim.fallback_policy() != "error"


def test_arguments_that_are_not_simulated_are_refused(network):
    with pytest.raises(TypeError, match="input 1 is int, not a tensor"):
        tracing.trace(network, (torch.rand(3, 8), 1))
    for name in ("input_output_aliases", "partitioner_config"):
        with pytest.raises(NotImplementedError, match=f"{name} is not simulated"):
            tracing.trace(network, inputs(), **{name: {torch.ones(1): 0}})
    with pytest.raises(ValueError, match="auto_cast 'some'"):
        tracing.trace(network, inputs(), compiler_args="--auto-cast some")


def test_compiler_flags_reach_the_graph(network, tmp_path):
    flags = ["--model-type=transformer", "--auto-cast=matmult", "--auto-cast-type", "bf16"]
    traced = tracing.trace(network, inputs(), compiler_args=flags, compiler_workdir=tmp_path / "a")
    found, expected = traced(*inputs())["scores"], network(*inputs())["scores"]
    assert 1e-6 < (found - expected).abs().max() < 0.1
    assert "torch.ops.aten.gelu" in (tmp_path / "a" / "graph.txt").read_text()


def test_models_go_to_the_cores_in_turn_and_can_be_moved(traced):
    models = [reloaded(traced) for _ in range(3)]
    for model in models:
        model(*inputs())
    cores = [launches_of(lambda model=model: model(*inputs()))[0][1] for model in models]
    assert cores in ([0, 1, 0], [1, 0, 1])
    tracing.move_trace_to_device(models[0], 1)
    models[0](*inputs())
    assert launches_of(lambda: models[0](*inputs())) == [("graph", 1)]
    experimental.set_multicore(models[0])
    models[0](*inputs())
    models[0](*inputs())
    assert {launches_of(lambda: models[0](*inputs()))[0][1] for _ in range(2)} == {0, 1}
    experimental.set_neuron_cores(models[0], start_nc=0)
    assert launches_of(lambda: models[0](*inputs())) == [("graph", 0)]
    with pytest.raises(ValueError, match="NeuronCore 2 is not there: this process has 2"):
        experimental.set_neuron_cores(models[0], start_nc=1, nc_count=2)


def test_any_batch_runs_after_dynamic_batch(network, traced):
    dynamic = tracing.dynamic_batch(reloaded(traced))
    for model in (dynamic, reloaded(dynamic)):
        for rows, count in ((1, 1), (3, 1), (4, 2), (7, 3)):
            assert_same(model(*inputs(rows)), network(*inputs(rows)))
            assert len(launches_of(lambda m=model, n=rows: m(*inputs(n)))) == count
    with pytest.raises(RuntimeError, match=r"input 1 is \[3, 5\]"):
        dynamic(torch.rand(3, 8), torch.rand(3, 5))
    with pytest.raises(RuntimeError, match=r"\[4, 8\], \[3, 4\] differ in dimension 0"):
        dynamic(torch.rand(4, 8), torch.rand(3, 4))


def test_data_parallel_runs_pieces_on_all_cores_at_once(network, traced):
    parallel = DataParallel(reloaded(traced))
    for rows in (1, 6, 7):
        assert_same(parallel(*inputs(rows)), network(*inputs(rows)))
    parallel = DataParallel(reloaded(traced), ["nc:0", "nc:1"], set_dynamic_batching=False)
    assert_same(parallel(*inputs(6)), network(*inputs(6)))
    with torch.neuron_sim.record_launches() as launches:
        parallel(*inputs(6))
    first, second = launches
    assert (first.device, second.device) == (0, 1)
    assert second.start_us < first.start_us + first.latency_us
    with pytest.raises(RuntimeError, match=r"input 0 is \[4, 8\]"):
        parallel(*inputs(8))
    with pytest.raises(ValueError, match="NeuronCore 2 is not there"):
        DataParallel(reloaded(traced), [2])


def test_separate_weights_are_replaced_and_stay_where_they_are_moved(network):
    model = tracing.trace(network, inputs(), inline_weights_to_neff=False)
    torch.manual_seed(9)
    other = Network().eval()
    for weights, expected in ((other.state_dict(), other), (network, network)):
        tracing.replace_weights(model, weights)
        assert_same(model(*inputs()), expected(*inputs()))
        assert_same(reloaded(model)(*inputs()), expected(*inputs()))
    tracing.move_trace_to_device(model, 0)
    tracing.replace_weights(model, other)
    for _ in range(2):
        assert_same(model(*inputs()), other(*inputs()))
    with pytest.raises(KeyError, match="first.weight"):
        tracing.replace_weights(model, {})


def test_inlined_weights_stay_as_they_were(network, traced):
    with pytest.warns(UserWarning, match="traced with its weights inside"):
        tracing.replace_weights(traced, Network())
    assert_same(traced(*inputs()), network(*inputs()))
    for load in (tracing.lazy_load, tracing.async_load):
        load(traced)
        with pytest.raises(TypeError, match="a module that torch_neuronx.trace returned"):
            load(network)
