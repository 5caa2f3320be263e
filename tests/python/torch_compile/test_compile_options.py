"""Options, modes, names and metrics of the backend."""

import threading
import warnings

import pytest
import torch
import torch.nn.functional as F
from compile_support import (
    assert_same,
    compiled,
    fresh_compiler,  # noqa: F401
    on_device,
    only_graph,
)
from device_type import DEVICE_TYPE
from neuron_sim.torch_compile import artifacts, metrics
from torch.nn.attention.flex_attention import create_block_mask, flex_attention


@pytest.mark.parametrize("mode", ["max-autotune", "reduce-overhead", "max-autotune-no-cudagraphs"])
def test_a_mode_warns_and_is_without_effect(mode):
    x = on_device(3)
    with pytest.warns(UserWarning, match=f"has no mode '{mode}'"):
        assert_same(compiled(lambda x: x + 1, mode=mode)(x), x + 1)
    assert only_graph().programs == 1


@pytest.mark.parametrize("mode", [None, "default"])
def test_the_default_mode_does_not_warn(mode):
    x = on_device(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(compiled(lambda x: x + 1, mode=mode)(x), x + 1)


@pytest.mark.parametrize("flags", [
    ["--auto-cast", "matmult", "--auto-cast-type", "fp16"],
    ["--auto-cast=matmult", "--auto-cast-type=fp16"],
    "--auto-cast=matmult --auto-cast-type fp16",
])  # fmt: skip
def test_flags_of_the_compiler_that_have_a_meaning_act(flags):
    x, y = on_device(64, 64), on_device(64, 64, seed=1)
    cast = compiled(torch.mm, options={"compiler_args": flags})(x, y)
    torch._dynamo.reset()
    option = {"auto_cast": "matmult", "auto_cast_type": "fp16"}
    assert_same(cast, compiled(torch.mm, options=option)(x, y))
    assert not torch.equal(cast, x @ y)


@pytest.mark.parametrize("flag", ["-O1", "--auto-cast=all", "--auto-cast-type=tf32"])
def test_flags_without_a_meaning_are_named(flag):
    x = on_device(8, 8)
    with pytest.warns(UserWarning, match=f"does not have: {flag}"):
        assert_same(compiled(torch.mm, options={"compiler_args": [flag]})(x, x), x @ x)


def test_an_option_comes_before_a_flag():
    x = on_device(64, 64)
    options = {"auto_cast": "none", "compiler_args": ["--auto-cast=matmult"]}
    assert_same(compiled(torch.mm, options=options)(x, x), x @ x)


def test_passes_that_order_kernels_can_be_left_out():
    w = [on_device(256, 192), on_device(192, 128), on_device(128, 192)]

    def products(a, b, c):
        return (a @ b) @ c

    accounts = []
    for left_out in (None, [], ["turn_results"]):
        torch._dynamo.reset()
        torch.neuron_sim.reset_compiled_graphs()
        assert_same(compiled(products, options={"left_out": left_out})(*w), products(*w))
        accounts.append(only_graph())
    weighed, turned, as_written = accounts
    assert weighed.left_out == as_written.left_out == ["turn_results"]
    assert weighed.program_bodies_us == as_written.program_bodies_us < turned.program_bodies_us
    assert turned.left_out == []
    torch._dynamo.reset()
    with pytest.raises(Exception, match="pass 'schedule' to leave out does not order a graph's k"):
        compiled(products, options={"left_out": ["schedule"]})(*w)


def test_a_graph_that_cannot_be_compiled_runs_or_is_an_error(monkeypatch):
    def draws(x):
        return x + torch.rand(3).to(DEVICE_TYPE)

    x = on_device(3)
    for options in ({}, {"fallback_execution": True}):
        torch._dynamo.reset()
        with pytest.warns(UserWarning, match="runs operator by operator"):
            compiled(draws, options=options)(x)
    monkeypatch.setenv("TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION", "1")
    torch._dynamo.reset()
    with pytest.raises(RuntimeError, match="cannot be compiled: aten.rand.default draws random"):
        compiled(draws)(x)
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match="runs operator by operator"):
        compiled(draws, options={"fallback_execution": True})(x)


def test_metrics_say_which_graphs_were_compiled_and_how():
    metrics.reset_dynamo_metrics()
    before = metrics.get_model_name()
    metrics.set_model_name("by_name")
    try:
        x = on_device(4, 4)
        run = compiled(lambda x: (x @ x).relu())
        run(x), run(x)
        compiled(lambda x: x - 1, options={"model_name": "by_option"})(x)
    finally:
        metrics.set_model_name(before)
    first, second = metrics.get_dynamo_metrics()
    assert (first.model_name, second.model_name) == ("by_name", "by_option")
    assert first.graph_name.startswith("by_name_") and "inference" in first.graph_name
    assert first.graph_id != second.graph_id
    assert first.graph_node_count == 4  # input, product, function, output
    assert int(first.timestamp) < int(second.timestamp)
    assert first.torch_neuronx_lower_us > 0 and first.torch_neuronx_compile_us > 0
    assert not first.has_collectives
    metrics.reset_dynamo_metrics()
    assert metrics.get_dynamo_metrics() == []


def test_the_backend_has_both_names():
    assert {"neuron_sim", "neuron"} <= set(torch.compiler.list_backends())
    x = on_device(3)
    assert_same(torch.compile(lambda x: x + 1, backend="neuron")(x), x + 1)
    assert only_graph().programs == 1


def test_threads_that_compile_at_once_do_not_meet():
    start, results = threading.Barrier(6), {}

    def work(number):
        start.wait()
        results[number] = compiled(lambda x: x * number + 1)(on_device(3))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(6):
        assert_same(results[number], on_device(3) * number + 1)


@pytest.mark.parametrize("mode", ["linear", "nearest", "nearest-exact"])
def test_gradients_of_interpolation_have_sizes_that_change(mode):
    def enlarged(x):
        return F.interpolate(x.reshape(1, 1, -1), scale_factor=2.0, mode=mode)

    run = compiled(enlarged, dynamic=True)
    for shape in ((6, 10), (7, 12)):
        x, reference = (torch.ones(shape, device=d) for d in (DEVICE_TYPE, "cpu"))
        run(x.requires_grad_()).sum().backward()
        enlarged(reference.requires_grad_()).sum().backward()
        torch.testing.assert_close(x.grad.cpu(), reference.grad)


def test_flex_attention_is_compiled():
    q, k, v = (on_device(1, 2, 32, 8, seed=seed) for seed in range(3))
    mask = create_block_mask(
        lambda b, h, i, j: i >= j, 1, 1, 32, 32, device=DEVICE_TYPE, BLOCK_SIZE=16
    )

    def attention(q, k, v):
        return flex_attention(q, k, v, lambda score, b, h, i, j: score + (i - j), mask)

    rows = torch.arange(32)
    distance = (rows[:, None] - rows).float()
    bias = torch.where(distance >= 0, distance, float("-inf"))
    reference = [each.cpu().requires_grad_() for each in (q, k, v)]
    expected = F.scaled_dot_product_attention(*reference, attn_mask=bias)
    found = compiled(attention)(*(each.requires_grad_() for each in (q, k, v)))
    torch.testing.assert_close(found.cpu(), expected)
    found.square().sum().backward()
    expected.square().sum().backward()
    for one, other in zip((q, k, v), reference, strict=True):
        torch.testing.assert_close(one.grad.cpu(), other.grad, rtol=1e-4, atol=1e-4)
    assert all(graph.not_compiled == "" for graph in torch.neuron_sim.compiled_graphs())


def test_cache_artefacts_tell_of_a_graph_that_changed(monkeypatch):
    x = on_device(4, 4)
    compiled(lambda x: (x @ x).relu())(x)
    saved, info = torch.compiler.save_cache_artifacts()
    key = metrics.get_dynamo_metrics()[-1].graph_id
    assert key in info.neuron_artifacts
    monkeypatch.setattr(artifacts, "_loaded", {})
    assert key in torch.compiler.load_cache_artifacts(saved).neuron_artifacts
    torch._dynamo.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiled(lambda x: (x @ x).relu())(x)
    artifacts._loaded[key]["programs"] = 2
    torch._dynamo.reset()
    with pytest.warns(UserWarning, match="differs from its cache artefact: programs is 1, was 2"):
        compiled(lambda x: (x @ x).relu())(x)


@pytest.mark.parametrize("preserve", ["0", "1"])
def test_graphs_are_written_where_the_environment_says(preserve, tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS", preserve)
    monkeypatch.setenv("TORCH_NEURONX_DEBUG_DIR", str(tmp_path))
    compiled(lambda x: x + 1, options={"model_name": "little"})(on_device(3))
    names = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.txt"))
    stamp = metrics.get_dynamo_metrics()[-1].timestamp
    if preserve == "0":
        assert names == []
    else:
        assert names == [
            f"fx_graphs/proc_0/little_{stamp}.fx.txt",
            f"programs/proc_0/little_{stamp}.program.txt",
        ]
        assert "torch.ops.aten.add" in (tmp_path / names[0]).read_text()
        assert "programs=1" in (tmp_path / names[1]).read_text()
