"""Evaluates the expressions of torchneuron_surface.csv in one process with the device `neuron`, and
prints as JSON what each gives: true, false or the error. Run by test_torchneuron_surface.py."""

import csv
import functools
import importlib
import io
import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import torch  # isort: skip - makes the vendor's packages importable
import nki
import nki.isa as nisa
import nki.language as nl
import numpy  # noqa: F401 - expressions use it
import torch.nn.functional as F
import torch_neuronx
from neuron_sim.torch_backend.vendor_environment import ACTING  # noqa: F401 - also
from torch_neuronx.profiling import (  # noqa: F401 - also
    NeuronConfig,
    NeuronProfiler,
    ProfileMode,
)

N = torch.neuron
HERE = Path(__file__).parent
imports = importlib.import_module
scratch = functools.partial(tempfile.mkdtemp, prefix="torchneuron_surface_")


@nki.jit
def kernel_plus_one(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    nisa.tensor_scalar(dst=tile, data=tile, op0=nl.add, operand0=1.0)
    nisa.dma_copy(dst=out, src=tile)
    return out


def plus_one(x):
    return x + 1


def raised(kind, call):
    try:
        call()
    except kind:
        return True
    return False


def enters(context):
    with context:
        return True


def grows_with_a_tensor(count):
    N.reset_peak_memory_stats()
    before = count()
    kept = torch.empty(1 << 20, device="neuron")
    return count() - before >= kept.nbytes


def time_of(call):
    N.synchronize()
    before = N.simulated_time()
    call()
    N.synchronize()
    return N.simulated_time() - before


def occupies_the_device(call):
    return time_of(call) > 0


def elapsed():
    start, end = N.Event(enable_timing=True), N.Event(enable_timing=True)
    start.record()
    torch.ones(512, 512, device="neuron") @ torch.ones(512, 512, device="neuron")
    end.record()
    N.synchronize()
    return start.elapsed_time(end)


def records_memory_history():
    N.memory._record_memory_history()
    kept = torch.empty(1 << 20, device="neuron")
    snapshot = N.memory._snapshot()
    N.memory._record_memory_history(None)
    actions = {event["action"] for event in snapshot["device_traces"][0]}
    return kept.is_neuron and "alloc" in actions and bool(snapshot["segments"])


def executed_names(call):
    torch_neuronx.clear_op_tracking()
    call()
    return set(torch_neuronx.get_executed_ops())


def fallback_names(call):
    torch_neuronx.clear_op_tracking()
    call()
    return set(torch_neuronx.get_fallback_ops())


def compiles(backend="neuron", **options):
    torch._dynamo.reset()
    function = torch.compile(plus_one, backend=backend, **options)
    return function(torch.ones(3, device="neuron")).tolist() == [2, 2, 2]


def compiles_with_a_graph_break():
    def function(x):
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

    compiled = torch.compile(function, backend="neuron")
    return compiled(torch.ones(2, device="neuron")).tolist() == [4, 4]


def autocast_dtype(dtype):
    layer = torch.nn.Linear(4, 4).to("neuron")
    with torch.autocast("neuron", dtype=dtype):
        return layer(torch.ones(2, 4, device="neuron")).dtype


def grouped_product_agrees():
    torch.manual_seed(0)
    a = torch.randn(32, 16, dtype=torch.bfloat16)
    b = torch.randn(2, 16, 32, dtype=torch.bfloat16)
    ends = torch.tensor([16, 32], dtype=torch.int32)
    result = torch._grouped_mm(a.to("neuron"), b.to("neuron"), offs=ends.to("neuron")).cpu()
    wanted = torch.cat([a[:16].float() @ b[0].float(), a[16:].float() @ b[1].float()])
    return torch.allclose(result.float(), wanted, atol=0.1, rtol=0.05)


def scaled_grouped_product():
    a = torch.ones(32, 16, device="neuron").to(torch.float8_e4m3fn)
    b = torch.ones(2, 32, 16, device="neuron").to(torch.float8_e4m3fn).transpose(-2, -1)
    scales = torch.ones(32, device="neuron"), torch.ones(2, 32, device="neuron")
    ends = torch.tensor([16, 32], dtype=torch.int32, device="neuron")
    return torch._scaled_grouped_mm(a, b, *scales, offs=ends, out_dtype=torch.bfloat16)


def flex_attention_agrees():
    from torch.nn.attention.flex_attention import flex_attention

    q, k, v = torch.randn(3, 1, 2, 128, 32).unbind()
    attend = torch.compile(flex_attention, backend="neuron")
    result = attend(*(each.to("neuron") for each in (q, k, v))).cpu()
    return torch.allclose(result, F.scaled_dot_product_attention(q, k, v), atol=1e-3)


def optimizer_steps(**options):
    weight = torch.nn.Parameter(torch.ones(4, device="neuron"))
    optimizer = torch.optim.AdamW([weight], **options)
    weight.sum().backward()
    optimizer.step()
    return bool((weight.detach().cpu() < 1).all())


def reloaded(tensor):
    file = io.BytesIO()
    torch.save(tensor, file)
    file.seek(0)
    return torch.load(file)


def same_numbers(draw):
    torch.manual_seed(7)
    on_device = draw(5, device="neuron").cpu()
    torch.manual_seed(7)
    return torch.equal(on_device, draw(5))


def profile_of_the_device(config):
    from torch.profiler import ProfilerActivity, profile

    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1],
        experimental_config=config,
        on_trace_ready=NeuronProfiler(config).export_trace,
    ):
        torch.ones(4, device="neuron") + 1
        N.synchronize()
    names = {path.name for path in Path(config.profile_output_dir).glob("*_pid_*/*")}
    return {"index.html", "index.json", "pytorch_trace.json"} <= names


def profile_of_a_script():
    folder = Path(scratch())
    script = folder / "script.py"
    script.write_text("import torch\nprint((torch.ones(4, device='neuron') + 1).sum().item())\n")
    command = [sys.executable, "-m", "neuron_sim", "run", "--profile", str(folder / "profile")]
    subprocess.run([*command, str(script)], check=True, capture_output=True)
    return (folder / "profile" / "index.html").exists()


def launches_of(call):
    """Without the launches that make and read tensors: those of graphs and kernels."""
    with N.record_launches() as launches:
        assert call()
    return sum(launch.name == "graph" or "kernel" in launch.name for launch in launches)


def nki_in_a_graph(kernel):
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: kernel(x * 2) * 3, backend="neuron", fullgraph=True)
    return compiled(torch.ones(128, 4, device="neuron")).tolist() == [[9] * 4] * 128


@functools.cache
def nki_operator():
    @torch_neuronx.nki_op("torchneuron_surface::plus_one", mutates_args={})
    def operator(x: torch.Tensor) -> torch.Tensor:
        return kernel_plus_one(x)

    operator.register_autograd(lambda context, gradient: gradient)
    return operator


def nki_operator_compiles():
    nki_operator()
    function = torch.ops.torchneuron_surface.plus_one
    compiled = torch.compile(lambda x: function(x) * 2, backend="neuron", fullgraph=True)
    return compiled(torch.ones(128, 4, device="neuron")).tolist() == [[4] * 4] * 128


def nki_operator_has_gradients():
    x = torch.ones(128, 4, device="neuron", requires_grad=True)
    nki_operator()(x).sum().backward()
    # opcheck knows the devices of PyTorch only.
    torch.library.opcheck(nki_operator(), (torch.ones(128, 4, requires_grad=True),))
    return x.grad.tolist() == [[1] * 4] * 128


@functools.cache
def two_ranks():
    """What collectives.py found on two ranks, by name."""
    folder = Path(scratch())
    script = HERE / "two_ranks.py"
    results = [
        subprocess.Popen([sys.executable, script, str(folder), str(rank)]) for rank in range(2)
    ]
    assert [process.wait(timeout=300) for process in results] == [0, 0]
    ranks = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(2)]
    return {name: all(rank[name] is True for rank in ranks) for name in ranks[0]}


def verdict(expression):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return bool(eval(expression, globals()))
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


def main():
    with (HERE / "torchneuron_surface.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    chosen = [row["expression"] for row in rows if row["expression"]]
    if len(sys.argv) > 2:
        chosen = [expression for expression in chosen if sys.argv[2] in expression]
    Path(sys.argv[1]).write_text(json.dumps({each: verdict(each) for each in chosen}, indent=1))


if __name__ == "__main__":
    main()
