"""Where the time of a model goes: shares of modules, and which modules are one row."""

import json
import re
import sys

import model_with_kernel
import pytest
import torch
import transformers
from device_type import DEVICE_TYPE
from neuron_sim.command_line import main
from neuron_sim.model import layers
from neuron_sim.model.causal_model import CausalLanguageModel
from neuron_sim.model.estimate import Setting, estimate
from neuron_sim.model.generation import MEASURED_LAYERS, GenerationRequest, generate
from neuron_sim.model.workload import Workload
from neuron_sim.timeline.interval import KINDS, interval
from torch import nn


class Block(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.wide = nn.Linear(64, width, bias=False)
        self.narrow = nn.Linear(width, 64, bias=False)

    def forward(self, x):
        return x + self.narrow(torch.relu(self.wide(x)))


class Stack(nn.Module):
    def __init__(self, *widths):
        super().__init__()
        self.blocks = nn.ModuleList(map(Block, widths))
        self.head = nn.Linear(64, 32, bias=False)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def stack(*widths, rows=256):
    torch.manual_seed(0)
    return Workload(Stack(*widths).eval(), (torch.randn(rows, 64),))


def by_name(found):
    return {row["layer"]: row for row in found}


def test_layers_sum_to_the_run():
    found = estimate(stack(128, 128, 256), Setting("float32"), by_layer=True)
    assert sum(row["time_ms"] for row in found.layers) == pytest.approx(found.body_ms, rel=1e-9)
    assert sum(row["share"] for row in found.layers) == pytest.approx(1)
    assert sum(row["moved_mb"] for row in found.layers) == pytest.approx(found.moved_mb)
    for row in found.layers:
        assert row["time_ms"] == pytest.approx(sum(row["spent_ms"].values()))


def test_the_products_of_a_layer_are_those_of_its_weights():
    rows = by_name(estimate(stack(128, 128, 256), Setting("float32"), by_layer=True).layers)
    products = {
        "blocks.[0-1].wide": 2 * 64 * 128, "blocks.[0-1].narrow": 2 * 64 * 128,
        "blocks.2.wide": 64 * 256, "blocks.2.narrow": 64 * 256, "head": 64 * 32,
    }  # fmt: skip
    for name, weights in products.items():
        assert rows[name]["gflop"] == pytest.approx(2e-9 * 256 * weights)
    assert set(rows) <= {*products, "blocks.[0-1]", "blocks.2", ""}


def test_without_the_question_there_are_no_layers():
    assert estimate(stack(64), Setting("float32")).layers is None


def test_operators_one_by_one_are_named_after_their_kernels():
    found = estimate(stack(64), Setting("float32", compiled=False), by_layer=True)
    assert "matrix_product" in by_name(found.layers)
    assert sum(row["time_ms"] for row in found.layers) == pytest.approx(found.body_ms, rel=1e-9)


def test_modules_that_are_alike_share_a_label():
    module = nn.Module()
    module.stages = nn.ModuleList([Stack(8, 8, 8, 16), Stack(8, 8, 8, 16), Stack(8)])
    label = layers.labels_of(module)
    assert label("stages.0.blocks.2.wide") == "stages.[0-1].blocks.[0-2].wide"
    assert label("stages.1.blocks.3") == "stages.[0-1].blocks.3"
    assert label("stages.2.blocks.0.narrow") == "stages.2.blocks.0.narrow"
    assert label("") == ""


def test_modules_of_one_class_and_other_settings_are_not_alike():
    sizes = nn.Sequential(nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 3, stride=2), nn.Conv2d(4, 4, 3))
    label = layers.labels_of(sizes)
    assert [label(str(i)) for i in range(3)] == ["[0,2]", "1", "[0,2]"]


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([3], "3"), ([0, 1], "0-1"), ([0, 1, 2, 5, 7, 8], "0-2,5,7-8"), ([1, 3], "1,3")],
)
def test_ranges_of_numbers(numbers, text):
    assert layers._ranges(numbers) == text


def share(time, moved):
    return layers.LayerShare({"Tensor": time}, moved, 10 * time)


def test_further_layers_add_the_difference():
    one = {"head": share(5, 1), "layer": share(10, 2)}
    three = {"layer": share(26, 6), "head": share(7, 1)}
    found = layers.combined([(1 - 3.5, one), (3.5, three)])  # one and seven more
    assert found["layer"].time_us == pytest.approx(10 + 3.5 * 16)
    assert found["layer"].moved == pytest.approx(2 + 3.5 * 4)
    assert found["head"].time_us == pytest.approx(5 + 3.5 * 2)
    assert found["layer"].multiply_accumulates == pytest.approx(100 + 3.5 * 160)


def test_a_part_without_time_has_no_utilisation():
    (row,) = layers.rows({"a": layers.LayerShare()}, peak=1.0)
    assert row["utilisation"] is None and row["bound"] == "nothing" and row["share"] == 0


@pytest.mark.parametrize("count", [1, 2, MEASURED_LAYERS + 4])
def test_layers_of_a_generation_sum_to_its_phases(count):
    config = transformers.LlamaConfig(
        num_hidden_layers=count, hidden_size=32, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=48, vocab_size=50,
    )  # fmt: skip
    model = CausalLanguageModel(config, "small")
    found = generate(model, GenerationRequest(ranks=2, context=16, input=4, by_layer=True))
    name = f"model.model.layers.{f'[0-{count - 1}]' if count > 1 else '0'}"
    for phase in (found.prefill, found.decode):
        rows = by_name(phase.layers)
        assert sum(row["time_ms"] for row in phase.layers) == pytest.approx(phase.body_ms)
        assert sum(row["moved_mb"] for row in phase.layers) == pytest.approx(phase.moved_mb)
        assert f"{name}.mlp.gate_proj" in rows and "model.lm_head.head.linear" in rows
        of_layers = [row for row in rows if row.startswith("model.model.layers.")]
        assert all(row.startswith(name) for row in of_layers)


def test_the_command_prints_layers_when_asked(tmp_path, monkeypatch, capsys):
    (tmp_path / "deep.py").write_text(
        "import torch\nfrom torch import nn\n"
        "def build():\n"
        "  return nn.Sequential(*[nn.Linear(64, 64) for _ in range(3)]), (torch.ones(8, 64),)\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["model", "deep:build", "--layers", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert "[0-2]" in by_name(row["layers"])
    assert main(["model", "deep:build", "--layers"]) == 0
    text = capsys.readouterr().out
    assert "batch 1; launches take" in text and "[0-2]" in text
    assert main(["model", "deep:build"]) == 0
    assert "[0-2]" not in capsys.readouterr().out


def test_a_kernel_of_nki_is_timed_within_the_graph(capsys):
    command = ["model", "model_with_kernel:build", "--layers", "--dtype", "float32", "--json"]
    assert main(command) == 0
    (row,) = json.loads(capsys.readouterr().out)
    found = by_name(row["layers"])
    assert {"0", "1", "2"} <= set(found)
    rows, width = model_with_kernel.ROWS, model_with_kernel.WIDTH
    x = torch.ones(rows, width, device=DEVICE_TYPE)
    with torch.neuron_sim.record_launches() as launches:
        model_with_kernel.activation(x)
    # What it reads stays in SBUF.
    assert 0 < found["1"]["time_ms"] < launches[0].body_us / 1e3 / 2
    assert found["1"]["moved_mb"] == pytest.approx(rows * width * 4 / 1e6)
    assert row["launches"] == 1
    overhead = launches[0].latency_us - launches[0].body_us
    assert row["latency_ms"] - row["body_ms"] == pytest.approx(overhead / 1e3)


BLOCK = """
import torch
import neuron_sim.nki as nki
import neuron_sim.nki.isa as nisa
import neuron_sim.nki.language as nl
from neuron_sim.nki.torch import nki_op
from torch import nn

TOKENS, WIDTH, INNER = 64, 128, 96

def loaded(tensor):
    tile = nl.ndarray(tensor.shape, dtype=tensor.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=tensor)
    return tile

def product(stationary, moving):
    shape = (stationary.shape[1], moving.shape[1])
    sums = nl.ndarray(shape, dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=sums, stationary=stationary, moving=moving)
    return sums

@nki.jit
def gated_mlp(columns, gate, up, down):
    x = loaded(columns)
    gated = nl.ndarray((INNER, TOKENS), dtype=columns.dtype, buffer=nl.sbuf)
    nisa.activation(dst=gated, op=nl.silu, data=product(loaded(gate), x))
    nisa.tensor_tensor(dst=gated, data1=gated, data2=product(loaded(up), x), op=nl.multiply)
    rows = nl.ndarray((TOKENS, WIDTH), dtype=columns.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(dst=rows, src=product(gated, loaded(down)))
    out = nl.ndarray((TOKENS, WIDTH), dtype=columns.dtype, buffer=nl.shared_hbm)
    nisa.dma_copy(dst=out, src=rows)
    return out

operator = nki_op("model_layers_test::gated_mlp", gated_mlp)

class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = (WIDTH, INNER), (WIDTH, INNER), (INNER, WIDTH)
        self.gate, self.up, self.down = (nn.Parameter(torch.randn(n) / 10) for n in sizes)

    def forward(self, x):
        return operator(x.T.contiguous(), self.gate, self.up, self.down)

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mlp, self.head = nn.RMSNorm(WIDTH), Mlp(), nn.Linear(WIDTH, 32)

    def forward(self, x):
        return self.head(x + self.mlp(self.norm(x)))

def build():
    torch.manual_seed(0)
    return Block(), (torch.randn(TOKENS, WIDTH),)
"""


def test_an_mlp_that_is_a_kernel_of_nki_takes_the_time_of_the_kernel(tmp_path, monkeypatch, capsys):
    (tmp_path / "with_mlp.py").write_text(BLOCK)
    monkeypatch.chdir(tmp_path)
    assert main(["model", "with_mlp:build", "--layers", "--dtype", "float32", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    found = by_name(row["layers"])["mlp"]
    used = sys.modules["with_mlp"]
    block, (x,) = used.build()
    operands = [x.T.contiguous(), block.mlp.gate, block.mlp.up, block.mlp.down]
    operands = [each.detach().to(DEVICE_TYPE) for each in operands]
    with torch.neuron_sim.record_launches() as launches:
        result = used.operator(*operands).cpu()
    gated = torch.nn.functional.silu(x @ block.mlp.gate) * (x @ block.mlp.up)
    torch.testing.assert_close(result, gated @ block.mlp.down, atol=1e-4, rtol=1e-4)
    # The transpose before it is of the same module.
    kernel_ms = launches[0].body_us / 1e3
    assert kernel_ms < found["time_ms"] < kernel_ms + 0.01
    assert found["gflop"] == pytest.approx(3 * 2 * 64 * 128 * 96 / 1e9)
    assert row["latency_ms"] > kernel_ms


def test_layers_are_printed_by_time_and_latencies_with_their_interval(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n\ndef build():\n"
        "    return nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 4096)), (torch.zeros(1, 8),)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["model", "net:build", "--layers", "--json", "--no-cache"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert main(["model", "net:build", "--layers", "--no-cache"]) == 0
    lines = capsys.readouterr().out.splitlines()
    low, high = interval(KINDS[row["bound"]]).around(row["latency_ms"])
    assert f"{low:.3f} to {high:.3f}" in lines[2] and "on a chip" in lines[1]
    found = (re.search(r"  (\d+\.\d{4})  ", line) for line in lines)
    times = [float(each[1]) for each in found if each is not None]
    assert times == sorted(times, reverse=True) and len(times) == len(row["layers"]) > 1
