"""neuron-sim run --clock simulated: a script's stopwatch against the device's events."""

import json
import os
import sysconfig
from pathlib import Path

import pytest
import torch
from device_type import OWN_NAME
from neuron_sim.run import clock
from test_run_command import run_script, written

HEAD = """
import json, time
from time import perf_counter
import torch
torch.manual_seed(0)
device = torch.accelerator.current_accelerator()
figures = {}

def measured(name, call, repeats=3):
    call()
    torch.accelerator.synchronize()
    begin, end = (torch.Event(device, enable_timing=True) for _ in range(2))
    start = perf_counter()
    begin.record()
    for _ in range(repeats):
        call()
    end.record()
    torch.accelerator.synchronize()
    wall = (perf_counter() - start) * 1e3
    figures[name] = wall / repeats, begin.elapsed_time(end) / repeats
"""
TAIL = """
print(json.dumps(figures))
"""


def figures_of(tmp_path, text, *options):
    """What `measured` saw in a script: (stopwatch, events) in milliseconds, by name."""
    script = written(tmp_path, HEAD + text + TAIL)
    options = ("--clock", "simulated", "--no-summary", *options)
    out, err, status = run_script(*options, script, variables=OWN_NAME)
    assert status == 0, err  # where semantics are the vendor's, there are warnings
    figures = json.loads(out.splitlines()[-1])
    for name, (wall, events) in figures.items():
        assert wall == pytest.approx(events, rel=0.01), name
    return {name: wall for name, (wall, _) in figures.items()}


MLP = """
model = torch.nn.Sequential(
    torch.nn.Linear(256, 512), torch.nn.GELU(), torch.nn.LayerNorm(512), torch.nn.Linear(512, 10)
).to(device)
inputs = {batch: torch.randn(batch, 256, device=device) for batch in (1, 8)}
compiled = torch.compile(model, backend=NAME)
with torch.no_grad():
    for batch, x in inputs.items():
        measured(f"eager {batch}", lambda: model(x))
        measured(f"compiled {batch}", lambda: compiled(x))
        measured(f"read {batch}", lambda: model(x).sum().item())
"""


def test_conclusions_about_a_network_have_the_order_of_the_chip(tmp_path):
    times = figures_of(tmp_path, MLP.replace("NAME", "'neuron_sim'"))
    for batch in (1, 8):
        assert times[f"compiled {batch}"] < times[f"eager {batch}"] < times[f"read {batch}"]
    assert times["eager 1"] <= times["eager 8"] < 8 * times["eager 1"]


NETWORKS = """
import transformers
transformers.logging.set_verbosity_error()
config = transformers.GPT2Config(
    n_layer=1, n_head=2, n_embd=32, vocab_size=101, n_positions=16, attn_implementation="eager"
)
model = transformers.GPT2LMHeadModel(config).to(device).train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
tokens = torch.randint(0, 101, (2, 16), device=device)

def step():
    optimizer.zero_grad()
    model(input_ids=tokens, labels=tokens).loss.backward()
    optimizer.step()

measured("training step", step, repeats=1)
config = transformers.ViTConfig(
    hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
    image_size=16, patch_size=8,
)
model = transformers.ViTModel(config).to(device).eval()
with torch.no_grad():
    for batch in (1, 8):
        images = torch.randn(batch, 3, 16, 16, device=device)
        measured(f"images {batch}", lambda: model(images))
"""


@pytest.mark.parametrize("name", ["neuron", "neuron_sim"])
def test_a_training_step_and_a_vision_transformer_take_the_time_of_events(tmp_path, name):
    pytest.importorskip("transformers")
    times = figures_of(tmp_path, NETWORKS, "--device", name)
    assert times["images 1"] < times["images 8"] < 8 * times["images 1"]
    assert times["training step"] > times["images 1"]


COST = """
x = torch.ones(128, 128).to("neuron_sim")
with torch.neuron_sim.record_launches() as launches:
    measured("one", lambda: x @ x, repeats=1)
figures["one"] = figures["one"][0], launches[-1].latency_us / 1e3 + COST
"""


def test_a_launch_costs_the_host_what_is_said(tmp_path):
    figures_of(tmp_path, COST.replace("COST", str(clock.LAUNCH_COST_US / 1e3)))
    script = written(tmp_path, "import torch\ntorch.ones(1, device='neuron_sim') + 1")
    _, err, _ = run_script("--clock", "simulated", script, variables=OWN_NAME)
    assert f"simulated (waits for the device, and {clock.LAUNCH_COST_US:g} us of host time" in err


LIBRARIES = """
import asyncio, multiprocessing, queue, subprocess, sys, threading, timeit
from torch.utils import benchmark
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


def child(times):
    start = perf_counter()
    torch.ones(4, device="neuron_sim") + 1
    torch.neuron_sim.synchronize()
    times.put(perf_counter() - start)


def launched():
    x @ x
    torch.neuron_sim.synchronize()


if __name__ == "__main__":
    assert time.sleep.__name__ == "sleep" and time.perf_counter is perf_counter
    end = time.time() + 0.2
    while time.time() < end:
        pass
    waiting, end = threading.Event(), time.monotonic() + 0.3
    while time.monotonic() < end:
        waiting.wait(0.02)
    try:
        queue.Queue().get(timeout=0.1)
    except queue.Empty:
        print("queue")
    try:
        subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.2)
    except subprocess.TimeoutExpired:
        print("subprocess")
    asyncio.run(asyncio.wait_for(asyncio.sleep(0.05), 10))
    data = TensorDataset(torch.arange(64.).reshape(32, 2))
    print(sum(rows.sum().item() for rows, in DataLoader(data, batch_size=4, num_workers=1)))
    x = torch.ones(128, 128, device="neuron_sim")
    launched()
    start = perf_counter()
    launched()
    once = perf_counter() - start
    threading.Thread(target=time.sleep, args=(0.01,)).run()  # in this thread
    other = threading.Thread(target=time.sleep, args=(0.05,))
    start = perf_counter()
    other.start()
    other.join()
    figures["sleep of another thread"] = perf_counter() - start
    start = perf_counter()
    time.sleep(0.01)
    figures["sleep"] = perf_counter() - start
    figures["timeit"] = timeit.timeit(launched, number=10) / 10 / once
    figures["benchmark"] = benchmark.Timer("f()", globals={"f": launched}).timeit(10).mean / once
    start = perf_counter()
    for _ in tqdm(range(5), disable=None):
        launched()
    figures["tqdm"] = (perf_counter() - start) / 5 / once
    context = multiprocessing.get_context("spawn")
    times = context.Queue()
    worker = context.Process(target=child, args=(times,))
    worker.start()
    figures["child"] = times.get(timeout=100)
    worker.join()
    figures["process"] = time.process_time_ns() / 1e9 - time.process_time()
"""


def test_libraries_wait_in_host_time_and_scripts_measure_in_simulated_time(tmp_path):
    pytest.importorskip("tqdm")
    script = written(tmp_path, HEAD + LIBRARIES + "    " + TAIL.strip())
    options = ("--clock", "simulated", "--no-summary")
    out, err, status = run_script(*options, script, variables=OWN_NAME)
    # A torch with CUDA may say that it has no driver.
    assert not [line for line in err.splitlines() if "No CUDA runtime" not in line]
    assert status == 0
    *lines, last = out.splitlines()
    assert lines == ["queue", "subprocess", "2016.0"]
    figures = json.loads(last)
    assert figures["sleep"] == pytest.approx(0.01, abs=1e-6)
    assert figures["sleep of another thread"] < 1e-6
    for name in ("timeit", "benchmark", "tqdm"):
        assert figures[name] == pytest.approx(1, rel=0.01), name
    assert 5e-6 < figures["child"] < 1e-3
    assert abs(figures["process"]) < 1e-6


RANK = """
import torch.distributed as dist
dist.init_process_group("neuron_sim")
x = torch.ones(64, 64, device="neuron_sim")

def step():
    dist.all_reduce(x @ x)

measured("step", step)
with open(f"rank{dist.get_rank()}.json", "w") as file:
    json.dump(figures, file)
dist.destroy_process_group()
"""


def test_ranks_of_torchrun_have_the_clock_and_the_first_one_reports(tmp_path):
    script = written(tmp_path, HEAD + RANK)
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")
    variables = {**OWN_NAME, "OMP_NUM_THREADS": "1"}
    _, err, status = run_script(
        "--clock", "simulated", *torchrun, script, cwd=tmp_path, variables=variables
    )
    assert status == 0, err
    assert err.count("neuron-sim run: ") == 1
    for rank in range(2):
        wall, events = json.loads((tmp_path / f"rank{rank}.json").read_text())["step"]
        assert wall == pytest.approx(events, rel=0.01)


KERNEL = """
import numpy as np
import time
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl

@nki.jit
def doubled(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(a) * 2)
    return out

a = np.ones((128, 512), np.float32)
doubled(a)
start = time.perf_counter()
doubled(a)
print((time.perf_counter() - start) * 1e6, doubled.traced(a).time()["latency_us"])
"""


def test_a_kernel_on_host_arrays_takes_its_latency(tmp_path):
    out, err, status = run_script("--clock", "simulated", written(tmp_path, KERNEL))
    assert (err, status) == ("", 0)
    wall, latency = map(float, out.split())
    assert wall == pytest.approx(latency, rel=0.01)


def test_the_hosts_clock_is_left_alone(tmp_path):
    script = written(tmp_path, "import time\nprint(type(time.time).__name__)\n")
    assert run_script("--clock", "host", script) == ("builtin_function_or_method\n", "", 0)


def test_an_unknown_clock_is_refused(tmp_path):
    variables = {"NEURON_SIM_CLOCK": "chip"}
    out, err, status = run_script(written(tmp_path, ""), variables=variables)
    sentence = "NEURON_SIM_CLOCK is 'chip'; there are: host, simulated."
    assert (out, err, status) == ("", f"neuron-sim run: error: {sentence}\n", 2)


LIBRARY = Path(sysconfig.get_path("stdlib"))
INSTALLED = Path(torch.__file__).parents[1]


@pytest.mark.parametrize(
    ("file", "module", "measures"),
    [
        ("/home/me/train.py", "__main__", True),
        ("<stdin>", "__main__", True),
        ("<timeit-src>", "timeit", True),
        (LIBRARY / "threading.py", "threading", False),
        (LIBRARY / "timeit.py", "timeit", False),
        ("<frozen importlib._bootstrap>", "importlib._bootstrap", False),
        (INSTALLED / "torch/distributed/elastic/timer/api.py", "torch.distributed.elastic", False),
        (INSTALLED / "torch/utils/benchmark/utils/timer.py", "torch.utils.benchmark.utils", True),
        (INSTALLED / "tqdm/std.py", "tqdm.std", True),
        (INSTALLED / "tqdmother/std.py", "tqdmother.std", False),
        (Path(clock.__file__), "neuron_sim.run.clock", False),
    ],
)
def test_the_place_of_code_decides_whose_time_it_sees(file, module, measures):
    assert clock._is_measuring(os.fspath(file), module) is measures
