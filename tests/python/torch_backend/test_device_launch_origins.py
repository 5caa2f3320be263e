"""Launches name their operator, module, tensors and the user's line; so do profiles."""

import inspect
import json
import threading

import pytest
import torch
from device_type import DEVICE_TYPE
from neuron_sim.calling_place import path_of
from neuron_sim.timeline import read_timeline
from torch import nn
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

DEVICE = DEVICE_TYPE
HERE = __file__


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(8, 12)
        self.narrow = nn.Linear(12, 8)

    def forward(self, x):
        return x + self.narrow(torch.tanh(self.wide(x)))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return torch.relu(self.head(x))


def recorded(call):
    with torch.neuron_sim.record_launches() as launches:
        call()
    return launches


def line_of(holder, text):
    """`file:line` of the first line of a class or function that has the text."""
    lines, start = inspect.getsourcelines(holder)
    return f"{HERE}:{next(start + i for i, line in enumerate(lines) if text in line)}"


@pytest.mark.parametrize("index", [0, 1])
def test_a_linear_layer_names_operator_and_tensors(index):
    layer = nn.Linear(64, 128).to(f"{DEVICE}:{index}")
    x = torch.ones(32, 64, device=f"{DEVICE}:{index}")
    (launch,) = recorded(lambda: layer(x))
    assert (launch.device, launch.operator, launch.module) == (index, "aten::addmm", "")
    assert launch.shapes == (
        "self [128] float32, mat1 [32, 64] float32, mat2 [64, 128] float32 -> out [32, 128] float32"
    )
    assert launch.arguments.count("tensor") == 4  # of the program, flat
    shown = repr(launch)
    assert "operator='aten::addmm'" in shown and "module=''" in shown


def test_modules_are_named_by_their_path_and_lines_are_the_users():
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    launches = recorded(lambda: net(x))
    block = ["wide", "", "narrow", ""]
    expected = [f"blocks.{i}.{name}".rstrip(".") for i in range(2) for name in block]
    assert [launch.module for launch in launches] == [*expected, "head", ""]
    assert {launch.source_line for launch in launches[:8]} == {line_of(Block, "return x +")}
    assert launches[-1].source_line == line_of(Net, "torch.relu")


def test_a_module_called_twice_and_one_that_is_not_registered():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(8, 8)
            self.hidden = [nn.Tanh()]

        def forward(self, x):
            return self.hidden[0](self.layer(self.layer(x)))

    net, x = Twice().to(DEVICE), torch.ones(2, 8, device=DEVICE)
    assert [each.module for each in recorded(lambda: net(x))] == ["layer", "layer", "(Tanh)"]


def test_a_module_that_changed_its_name_has_the_new_one():
    net, x = nn.Sequential(nn.Tanh(), nn.Identity()).to(DEVICE), torch.ones(3, device=DEVICE)
    assert [each.module for each in recorded(lambda: net(x))] == ["0"]
    net[0], net[1] = net[1], net[0]
    assert [each.module for each in recorded(lambda: net(x))] == ["1"]


def test_a_path_goes_through_the_modules_that_call_each_other():
    net = Net()
    assert path_of([]) == path_of([net]) == path_of([net, net]) == ""
    assert path_of([net, net.blocks[1], net.blocks[1].wide]) == "blocks.1.wide"
    assert path_of([net, net.blocks[1].wide]) == "blocks.1.wide"


def test_a_call_outside_of_modules_has_no_module():
    x = torch.ones(3, 4, device=DEVICE)
    (launch,) = recorded(lambda: x.neg())
    assert (launch.operator, launch.module) == ("aten::neg", "")
    assert launch.shapes == "self [3, 4] float32 -> out [3, 4] float32"
    assert launch.source_line == line_of(
        test_a_call_outside_of_modules_has_no_module, "lambda: x.neg()"
    )


def test_long_lists_are_cut_and_empty_tensors_launch_nothing():
    arguments = network()
    launch = recorded(lambda: torch.ops.neuron_sim.ffnn_predict(*arguments))[0]
    listed = [f"weights[{i}] [4, 4] float32" for i in range(4)]
    assert ", ".join(listed) + ", 2 more, biases[0]" in launch.shapes
    assert recorded(lambda: torch.ones(0, 4, device=DEVICE).neg()) == []


def network():
    """Arguments of ffnn_predict: six layers of four units."""
    x = torch.ones(3, 4, device=DEVICE)
    return x, [torch.ones(4, 4, device=DEVICE)] * 6, [torch.ones(4, device=DEVICE)] * 6


def test_a_backward_pass_belongs_to_the_modules_of_its_forward_pass():
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    launches = recorded(lambda: net(x).sum().backward())
    products = [each for each in launches if each.operator == "aten::mm"]
    # Gradients of weights and inputs, but for the first layer, whose input needs none.
    modules = ["head", "blocks.1.narrow", "blocks.1.wide", "blocks.0.narrow"]
    expected = [name for name in modules for _ in range(2)] + ["blocks.0.wide"]
    assert [each.module for each in products] == expected
    assert products[0].source_line == line_of(Net, "torch.relu")
    # Sums of the gradients of biases, which the engine of autograd makes after the node.
    sums = [each.module for each in launches if each.operator == "aten::sum"]
    assert sums[1:] == [*modules, "blocks.0.wide"]


def test_a_backward_pass_alone_has_no_module():
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    total = net(x).sum()
    launches = recorded(lambda: total.backward())
    assert launches and {each.module for each in launches} == {""}


def test_a_forward_pass_that_runs_again_names_its_modules():
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE).requires_grad_()

    class Saving(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            return checkpoint(self.net, x, use_reentrant=False)

    total = Saving()(x).sum()
    launches = recorded(lambda: total.backward())
    again = [each.module for each in launches if each.operator == "aten::addmm"]
    assert again == [f"blocks.{i}.{name}" for i in range(2) for name in ("wide", "narrow")] + [
        "head"
    ]


def test_gradients_of_custom_operators_name_their_module():
    class Product(nn.Module):
        def forward(self, a, b):
            return torch.ops.neuron_sim.matmul(a, b)

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.product = Product()

        def forward(self, a, b):
            return self.product(a, b)

    a, b = (torch.ones(8, 8, device=DEVICE).requires_grad_() for _ in range(2))
    launches = recorded(lambda: Outer()(a, b).sum().backward())
    products = [each for each in launches if each.name.startswith("matmul")]
    assert len(products) == 3 and {each.module for each in products} == {"product"}


def test_operators_of_other_threads_are_their_own():
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    with torch.neuron_sim.record_launches() as launches:
        thread = threading.Thread(target=lambda: net.head(x))
        thread.start()
        thread.join()
        x.neg()
    assert [(each.operator, each.module) for each in launches] == [
        ("aten::addmm", ""),
        ("aten::neg", ""),
    ]


def test_a_launch_knows_the_memory_of_tensors_when_it_ran():
    x = torch.ones(1024, device=DEVICE)
    before = torch.neuron_sim.memory_allocated()
    with torch.neuron_sim.record_launches() as launches:
        y = x.neg()
        del y
        x.neg_()
    assert [each.allocated_bytes - before for each in launches] == [4096, 0]


# The profiler of PyTorch


def test_a_profile_shows_what_launches_say(tmp_path):
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiled:
        launches = recorded(lambda: net(x))
    profiled.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    kernels = [each["args"] for each in events if each.get("cat") == "kernel"]
    assert len(kernels) == len(launches)
    for found, launch in zip(kernels, launches, strict=True):
        names = ("operator", "module", "shapes", "source_line")
        assert [found.get(name, "") for name in names] == [getattr(launch, n) for n in names]


# Compiled graphs


def compiled_launch(module, x):
    compiled = torch.compile(module, backend=DEVICE)
    with torch.no_grad():
        compiled(x)
        (launch,) = recorded(lambda: compiled(x))
    return launch


def test_instructions_of_a_graph_name_module_operator_and_line():
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    launch = compiled_launch(net, x)
    assert (launch.name, launch.operator, launch.module) == ("graph", "neuron_sim::graph", "")
    assert "[12, 8] float32" in launch.shapes
    shares = launch.shares_by_source()
    assert sum(sum(each["path_us"].values()) for each in shares) == pytest.approx(launch.body_us)
    assert sum(each["dma_bytes"] for each in shares) == launch.dma_bytes
    assert sum(each["instructions"] for each in shares) == launch.instructions
    products = {each["module"]: each for each in shares if each["multiply_accumulates"]}
    names = [f"blocks.{i}.{name}" for i in range(2) for name in ("wide", "narrow")]
    assert set(products) == {*names, "head"}
    assert products["blocks.0.wide"]["operator"] == "aten::addmm"
    assert products["blocks.0.wide"]["source_line"] == line_of(Block, "return x +")
    # relu is applied as the product leaves PSUM
    assert products["head"]["operator"] == "aten::_addmm_activation"


def test_views_of_a_graph_show_them_too(tmp_path):
    launch = compiled_launch(Net().to(DEVICE), torch.ones(5, 8, device=DEVICE))
    expected = f"blocks.1.wide: aten::addmm, {line_of(Block, 'return x +')}"
    launch.write_perfetto(tmp_path / "graph.pftrace")
    assert expected.encode() in (tmp_path / "graph.pftrace").read_bytes()


def test_a_graph_inside_a_module_has_the_path_of_both():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.compile(Net(), backend=DEVICE)

        def forward(self, x):
            return self.inner(x).neg()

    outer, x = Outer().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    with torch.no_grad():
        outer(x)
        graph, negation = recorded(lambda: outer(x))
    assert (graph.module, negation.module) == ("inner", "")
    assert "inner.blocks.0.wide" in {each["module"] for each in graph.shares_by_source()}


def test_shares_of_an_operator_alone_are_its_own():
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    (share,) = recorded(lambda: net(x))[0].shares_by_source()
    assert (share["module"], share["operator"]) == ("blocks.0.wide", "aten::addmm")
    assert share["source_line"] == line_of(Block, "return x +")


def test_counters_of_a_product_are_its_operands_and_sums():
    a, b = (torch.ones(64, 64, device=DEVICE) for _ in range(2))
    (first, second) = recorded(lambda: (a @ b, a @ b))
    assert first.kernel_id == second.kernel_id
    counters = first.counters()
    assert counters["multiply_accumulates"] == 64**3
    assert counters["hbm_read_bytes"] == 2 * 64 * 64 * 4
    assert counters["hbm_write_bytes"] == 64 * 64 * 4


def test_a_scripted_module_is_an_origin():
    """It has no ordinary table of its children."""
    model = torch.jit.script(nn.Sequential(nn.Linear(2, 2))).to(DEVICE)
    x = torch.ones(1, 2, device=DEVICE)
    with torch.neuron_sim.record_launches() as launches:
        nn.Sequential(model, nn.ReLU())(x)
    assert [launch.module for launch in launches] == ["0", "1"]


def test_the_page_of_all_launches_lasts_as_long_as_they_do(tmp_path):
    net, x = Net().to(DEVICE), torch.ones(5, 8, device=DEVICE)
    with torch.neuron_sim.record_launches() as launches:
        net(x)
    launches.write_timeline(tmp_path / "net.html", "a net")
    run = read_timeline(tmp_path / "net.html")
    assert run.title == "a net" and run.header["architecture"] == "trn2"
    assert run.header["body"] / 1e6 == pytest.approx(sum(each.latency_us for each in launches))
    names = {each["name"] for each in run.header["names"]["instructions"]}
    assert names >= {each.operator for each in launches if each.operator}
    assert names >= {"blocks[0]", "head"}
