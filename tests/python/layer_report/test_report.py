"""neuron_sim.report(): what a module takes in eager mode, forward and backward."""

import pytest
import torch
from device_type import DEVICE_TYPE
from neuron_sim.layer_report.tree import OUTSIDE
from reports import DEVICE, Block, by_name, latencies, reported, stack, values
from torch import nn
from torch.utils.checkpoint import checkpoint


@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
def test_the_time_of_the_model_is_that_of_its_launches(device):
    model, x = stack().to(device), values(32, 64, device=device)
    report = reported(model, (x,))
    with torch.no_grad(), torch.neuron_sim.record_launches() as launches:
        model(x)
    assert report.root.use.time_ps == latencies(launches)
    assert len(report.root.use.launches) == len(launches)
    assert report.root.use.peak_bytes == max(each.allocated_bytes for each in launches)
    assert report.device == device and not report.compiled and not report.backward
    for path, layer in by_name(report).items():
        if layer.kind == "Linear":
            own = [each for each in launches if each.module == path]
            assert layer.use.time_ps == latencies(own) > 0


def test_products_and_traffic_are_those_of_the_tensors():
    model, x = nn.Sequential(nn.Linear(64, 96, bias=False)).to(DEVICE), values(32, 64)
    report = reported(model, x)
    (layer,) = report.root.children
    assert layer.use.multiply_accumulates == 32 * 64 * 96
    assert layer.use.hbm_bytes == 4 * (32 * 64 + 64 * 96 + 32 * 96)
    seconds = layer.use.time_ps * 1e-12
    peak = 2 * 128 * 128 * 2.4e9 / 4  # trn2: 2.4 GHz, four passes of fp32
    assert report.utilisation(layer) == pytest.approx(2 * 32 * 64 * 96 / seconds / peak)


def test_what_a_module_does_itself_is_a_row_below_it():
    layers = by_name(reported(stack(), values(32, 64)))
    own = layers[f"0{OUTSIDE}"]
    assert len(own.use.launches) == 2  # tanh and the sum
    assert [child.name for child in layers["0"].children] == ["wide", "narrow", OUTSIDE]
    assert OUTSIDE not in layers  # a Sequential does nothing itself
    assert layers["2"].children == []


def test_a_shared_module_is_one_row_with_all_its_calls():
    layer = nn.Linear(64, 64)
    report = reported(nn.Sequential(layer, nn.ReLU(), layer).to(DEVICE), values(32, 64))
    shared = by_name(report)["0"]
    assert (shared.calls, shared.aliases, len(shared.use.launches)) == (2, ["2"], 2)
    alone = by_name(reported(nn.Sequential(layer), values(32, 64)))["0"]
    assert shared.use.time_ps == 2 * alone.use.time_ps
    assert "0 (also 2)" in str(report)


def test_a_module_of_two_parents_is_a_row_below_each():
    layer = nn.Linear(64, 64)
    model = nn.Sequential(layer, nn.Sequential(layer, layer)).to(DEVICE)
    report = reported(model, values(32, 64))
    layers = by_name(report)
    assert (layers["0"].calls, layers["1.0"].calls, layers["1.0"].kind) == (1, 2, "Linear")
    assert layers["1.0"].aliases == ["0", "1.1"]
    assert layers["1"].use.time_ps == 2 * layers["0"].use.time_ps
    assert report.idle == {}


def test_modules_that_launch_nothing_are_counted_by_class():
    model = nn.Sequential(nn.Linear(64, 8), nn.Identity(), nn.Identity(), nn.Flatten()).to(DEVICE)
    report = reported(model, values(4, 64))
    assert report.idle == {"Identity": 2, "Flatten": 1}
    assert "Modules without launches: Identity 2, Flatten 1." in str(report)


def test_a_module_that_is_registered_nowhere_has_its_class_as_its_name():
    class Hidden(nn.Module):
        def forward(self, x):
            return nn.Tanh()(x)

    layers = by_name(reported(nn.Sequential(Hidden()).to(DEVICE), values(4, 64)))
    assert layers["0.(Tanh)"].use.time_ps == layers["0"].use.time_ps > 0


def test_custom_operators_belong_to_the_module_that_calls_them():
    class Doubled(nn.Module):
        def forward(self, x):
            return torch.ops.neuron_sim.vector_add(x, x)

    report = reported(nn.Sequential(Doubled(), nn.ReLU()), values(128, 64))
    assert by_name(report)["0"].use.hbm_bytes == 3 * 128 * 64 * 4


def test_a_backward_pass_belongs_to_the_modules_of_its_forward_pass():
    report = reported(stack(), values(32, 64), backward=True)
    layers = by_name(report)
    wide = layers["1.wide"].use
    assert 0 < wide.forward_ps == by_name(reported(stack(), values(32, 64)))["1.wide"].use.time_ps
    assert wide.multiply_accumulates == 3 * 32 * 64 * 96  # of both gradients, too
    assert wide.backward_ps > 0
    # The first layer needs no gradient of its input.
    assert layers["0.wide"].use.multiply_accumulates == 2 * 32 * 64 * 96
    assert "backward us" in str(report)


def test_a_module_that_checkpointing_calls_again_is_where_it_was():
    class Checkpointed(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.block = nn.Linear(64, 64), Block()

        def forward(self, x):
            return checkpoint(self.block, self.first(x), use_reentrant=False)

    report = reported(Checkpointed().eval().to(DEVICE), values(32, 64), backward=True)
    layers = by_name(report)
    assert set(layers) - {f"block{OUTSIDE}", OUTSIDE} == {
        "", "first", "block", "block.wide", "block.narrow"
    }  # fmt: skip
    assert (report.root.calls, layers["block"].calls, layers["block.wide"].calls) == (1, 2, 2)
    # Forward, again, and both gradients.
    assert layers["block.wide"].use.multiply_accumulates == 4 * 32 * 64 * 96


def test_a_model_within_a_call_of_another_has_its_own_paths():
    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = stack()

        def forward(self, x):
            return reported(self.inner, x)

    found = Outer()(values(32, 64))
    assert str(found) == str(reported(stack(), values(32, 64)))


def test_a_module_of_the_loss_has_its_class_as_its_name():
    loss = nn.MSELoss()
    report = reported(
        stack(), values(32, 64), backward=lambda output: loss(output, torch.ones_like(output))
    )
    layers = by_name(report)
    assert layers["(MSELoss)"].calls == 1 and layers["(MSELoss)"].use.backward_ps > 0


def test_the_loss_is_where_a_backward_pass_starts():
    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.other = nn.Linear(64, 8), nn.Linear(64, 8)

        def forward(self, x):
            return {"loss": self.used(x).sum(), "logits": self.other(x)}

    model, x = Classifier().to(DEVICE), values(4, 64)
    layers = by_name(reported(model, x, backward=True))
    assert layers["used"].use.backward_ps > 0 == layers["other"].use.backward_ps
    chosen = reported(model, x, backward=lambda output: output["logits"].mean())
    assert by_name(chosen)["used"].use.backward_ps == 0 < by_name(chosen)["other"].use.backward_ps


def test_gradients_and_buffers_are_afterwards_as_before():
    model, x = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8)).to(DEVICE), values(16, 8)
    kept = torch.ones(8, 8).to(DEVICE)
    model[0].weight.grad = kept
    before = {name: each.cpu() for name, each in model.named_buffers()}
    reported(model, x, backward=True)
    assert model[0].weight.grad is kept and model[0].bias.grad is None
    for name, each in model.named_buffers():
        assert torch.equal(each.cpu(), before[name]), name
    assert model.training and not x.requires_grad


def test_inputs_are_a_tensor_a_tuple_or_named():
    model, x = Block().eval().to(DEVICE), values(4, 64)
    times = [reported(model, each).time_us for each in (x, (x,), [x], {"x": x})]
    assert len(set(times)) == 1


def test_operators_of_the_cpu_are_named():
    class Inverse(nn.Module):
        def forward(self, x):
            return torch.linalg.matrix_exp(x) + x

    report = reported(Inverse(), values(4, 4))
    assert "aten::linalg_matrix_exp" in report.host_operators
    assert "On the CPU, whose time is not simulated: aten::linalg_matrix_exp" in str(report)


def test_a_model_is_measured_without_values():
    expected = reported(stack(), values(32, 64)).time_us
    with torch.neuron_sim.timing_only():
        assert reported(stack(), torch.empty(32, 64, device=DEVICE)).time_us == expected


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_utilisation_relates_to_the_dtype_of_the_parameters(dtype):
    report = reported(stack().to(dtype), values(32, 64).to(dtype))
    assert (report.dtype, report.peak) == (str(dtype)[6:], 2 * 128 * 128 * 2.4e9)
    assert reported(stack(), values(32, 64), dtype=dtype).peak == report.peak
    with torch.autocast(DEVICE_TYPE, dtype=dtype):
        assert reported(stack(), values(32, 64)).dtype == report.dtype


def test_the_fast_path_of_an_encoder_shows_its_operators():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    model = nn.TransformerEncoder(layer, 2).eval().to(DEVICE)
    report = reported(model, values(1, 16, 64))
    layers = by_name(report)
    inner = {path.rpartition(".")[2] for path in layers if path.startswith("layers.1.")}
    assert inner == {"(attention)", "(matrix_product)", "(pointwise)", "(rows)"}
    assert len(layers["layers.1"].use.launches) == sum(
        len(layers[f"layers.1.{name}"].use.launches) for name in inner
    )
