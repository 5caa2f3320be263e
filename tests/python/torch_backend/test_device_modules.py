"""Modules, training, autocast and serialization."""

import copy
import io
import pickle

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from device_type import DEVICE_TYPE
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3, bias=False)
        self.second = nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


def test_moving_a_module_keeps_its_parameters():
    module = Tied()
    weight = module.first.weight
    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    module.to(f"{DEVICE_TYPE}:1")
    assert module.first.weight is weight is module.second.weight
    assert weight.device == torch.device(f"{DEVICE_TYPE}:1")
    before = weight.detach().cpu().clone()
    module(torch.ones(2, 3, device=f"{DEVICE_TYPE}:1")).sum().backward()
    optimizer.step()
    assert not torch.equal(weight.cpu(), before)
    module.cpu()
    assert module.first.weight is weight and weight.is_cpu


def small_network():
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(36, 5), nn.LayerNorm(5),
    )  # fmt: skip


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
def test_training_equals_that_on_the_cpu(optimizer):
    losses = {}
    for device in ("cpu", f"{DEVICE_TYPE}:1"):
        torch.manual_seed(0)
        network, data = small_network().to(device), torch.randn(8, 1, 8, 8).to(device)
        target = torch.arange(8).to(device) % 5
        steps = optimizer(network.parameters(), lr=0.05)
        losses[device] = []
        for _ in range(4):
            steps.zero_grad()
            loss = nn.functional.cross_entropy(network(data), target)
            loss.backward()
            steps.step()
            losses[device].append(loss.item())
    assert losses[f"{DEVICE_TYPE}:1"] == pytest.approx(losses["cpu"], rel=1e-4)
    assert losses["cpu"][-1] < losses["cpu"][0]


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("bidirectional", [True, False])
def test_recurrent_networks_and_their_gradients_equal_those_of_the_cpu(kind, bias, bidirectional):
    torch.manual_seed(0)
    here = kind(3, 4, num_layers=2, bias=bias, bidirectional=bidirectional)
    there = copy.deepcopy(here).to(DEVICE_TYPE)
    data = torch.randn(5, 2, 3)
    results = []
    for module, device in ((here, "cpu"), (there, DEVICE_TYPE)):
        inputs = data.clone().to(device).requires_grad_()
        output, state = module(inputs)
        state = state[1] if isinstance(state, tuple) else state  # LSTM: the cell state
        (output.sin().sum() + state.cos().sum()).backward()
        results.append([output, inputs.grad, *(p.grad for p in module.parameters())])
    for expected, found in zip(*results, strict=True):
        torch.testing.assert_close(found.detach().cpu(), expected.detach())


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("needs_gradients", [False, True])
def test_a_step_of_a_recurrent_network_is_a_product_and_a_kernel(kind, needs_gradients):
    layer, data = kind(8, 16).to(DEVICE_TYPE), torch.randn(5, 2, 8, device=DEVICE_TYPE)
    counts = []
    for steps in (3, 5):
        with torch.set_grad_enabled(needs_gradients), torch.neuron_sim.record_launches() as made:
            layer(data[:steps])
        counts.append(len(made))
    # With gradients the output is joined of the states afterwards.
    per_step = 3 if needs_gradients else 2
    assert counts[1] - counts[0] == 2 * per_step
    assert counts[0] <= 3 * per_step + 5  # the inputs' product, the first and the last states


@pytest.mark.parametrize("arguments", [{"num_layers": 2}, {"proj_size": 2}, {"batch_first": True}])
def test_a_recurrent_network_without_gradients_equals_that_of_the_cpu(arguments):
    torch.manual_seed(0)
    here = nn.LSTM(3, 4, bidirectional=True, **arguments)
    there = copy.deepcopy(here).to(f"{DEVICE_TYPE}:1")
    for shape in ((5, 2, 3), (1, 1, 3), (6, 3)):
        data = torch.randn(shape)
        with torch.no_grad():
            expected, found = here(data), there(data.to(f"{DEVICE_TYPE}:1"))
        for x, y in zip((expected[0], *expected[1]), (found[0], *found[1]), strict=True):
            torch.testing.assert_close(y.cpu(), x)


@pytest.mark.parametrize(
    ("shapes", "weights", "message"),
    [
        (((0, 3, 5), (1, 3, 7), (1, 3, 7)), 4, "sequence length to be larger than 0"),
        (((4, 3, 5), (2, 3, 7), (2, 3, 7)), 4, r"of 1 layers and directions, got \[2, 3, 7\]"),
        (((4, 3, 5), (1, 2, 7), (1, 3, 7)), 4, "of 3 sequences, got 2"),
        (((4, 3, 5), (1, 3, 7), (1, 2, 7)), 4, "of 3 sequences, got 2"),
        (((4, 3, 5), (1, 3, 7), (1, 3, 7)), 3, "has 4 parameters of each, but got 3"),
        (((4, 3, 6), (1, 3, 7), (1, 3, 7)), 4, "cannot be multiplied"),
        (((4, 3), (1, 3, 7), (1, 3, 7)), 4, "input must have 3 dimensions, got 2"),
    ],
)
def test_a_recurrent_network_refuses_what_does_not_fit_together(shapes, weights, message):
    parameters = list(nn.LSTM(5, 7).to(DEVICE_TYPE).parameters())[:weights]
    data, *state = (torch.zeros(shape, device=DEVICE_TYPE) for shape in shapes)
    with torch.no_grad(), pytest.raises(RuntimeError, match=message):
        torch.lstm(data, state, parameters, True, 1, 0.0, False, False, False)


@pytest.mark.parametrize("kind", [nn.LSTMCell, nn.GRUCell])
def test_a_recurrent_cell_of_a_dtype_that_the_chip_lacks_runs_on_the_cpu(kind):
    cell = kind(3, 4, dtype=torch.float64)
    data = torch.randn(2, 3, dtype=torch.float64)
    expected, found = (
        module(inputs)
        for module, inputs in (
            (cell, data),
            (copy.deepcopy(cell).to(DEVICE_TYPE), data.to(DEVICE_TYPE)),
        )
    )
    pick = (lambda state: state[0]) if kind is nn.LSTMCell else (lambda state: state)
    torch.testing.assert_close(pick(found).detach().cpu(), pick(expected).detach())


def test_an_lstm_cell_without_one_of_its_gradients():
    torch.manual_seed(0)
    here = nn.LSTMCell(3, 4)
    there = copy.deepcopy(here).to(DEVICE_TYPE)
    for pick in (0, 1):
        for module, device in ((here, "cpu"), (there, DEVICE_TYPE)):
            module.zero_grad()
            module(torch.ones(2, 3, device=device))[pick].sum().backward()
        for p, q in zip(here.parameters(), there.parameters(), strict=True):
            torch.testing.assert_close(q.grad.cpu(), p.grad)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_convolutions_and_their_gradients_equal_those_of_the_cpu(transposed, dimensions):
    torch.manual_seed(0)
    name = f"Conv{'Transpose' if transposed else ''}{dimensions}d"
    here = getattr(nn, name)(4, 6, 3, stride=2, padding=1, groups=2)
    there = copy.deepcopy(here).to(f"{DEVICE_TYPE}:1")
    data = torch.randn(2, 4, *[7] * dimensions)
    inputs = [data.clone().requires_grad_(), data.to(f"{DEVICE_TYPE}:1").requires_grad_()]
    outputs = [here(inputs[0]), there(inputs[1])]
    for output in outputs:
        output.square().sum().backward()
    pairs = [outputs, [t.grad for t in inputs]]
    pairs += [[p.grad, q.grad] for p, q in zip(here.parameters(), there.parameters(), strict=True)]
    for expected, found in pairs:
        assert found.device == torch.device(f"{DEVICE_TYPE}:1")
        torch.testing.assert_close(found.detach().cpu(), expected.detach(), rtol=1e-4, atol=1e-4)


def test_attention_equals_that_of_the_cpu():
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 2, 4, 6, 8).unbind()
    there = [t.to(DEVICE_TYPE) for t in (query, key, value)]
    for causal in (False, True):
        expected = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        found = nn.functional.scaled_dot_product_attention(*there, is_causal=causal)
        torch.testing.assert_close(found.cpu(), expected)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast_lowers_products_and_keeps_reductions(dtype):
    layer = nn.Linear(4, 4).to(DEVICE_TYPE)
    data = torch.randn(3, 4, device=DEVICE_TYPE)
    with torch.autocast(DEVICE_TYPE, dtype=dtype):
        product = layer(data)
        assert product.dtype == dtype
        assert nn.functional.softmax(product, dim=1).dtype == torch.float32
        assert (product + data).dtype == torch.float32  # promotes
        assert (data * 2).dtype == torch.float32
    assert layer(data).dtype == torch.float32
    product.float().sum().backward()
    assert layer.weight.grad.dtype == torch.float32


def test_gradients_are_scaled():
    layer = nn.Linear(2, 1).to(DEVICE_TYPE)
    scaler = torch.amp.GradScaler(DEVICE_TYPE, init_scale=4.0)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    scaler.scale(layer(torch.ones(1, 2, device=DEVICE_TYPE)).sum()).backward()
    assert layer.weight.grad.tolist() == [[4, 4]]
    scaler.step(optimizer)
    scaler.update()
    assert layer.weight.grad.tolist() == [[1, 1]]


def saved(thing) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    buffer.seek(0)
    return buffer


@pytest.mark.parametrize(
    "target", [None, "cpu", f"{DEVICE_TYPE}:0", {f"{DEVICE_TYPE}:1": f"{DEVICE_TYPE}:0"}]
)
def test_saving_and_loading_keeps_values_device_and_sharing(target):
    base = torch.arange(10.0, device=f"{DEVICE_TYPE}:1")
    loaded = torch.load(saved([base, base[2:5]]), map_location=target)
    expected = {None: f"{DEVICE_TYPE}:1", "cpu": "cpu"}.get(
        target if isinstance(target, str) or target is None else "", f"{DEVICE_TYPE}:0"
    )
    assert all(t.device == torch.device(expected) for t in loaded)
    assert loaded[0].tolist() == base.tolist() and loaded[1].tolist() == [2, 3, 4]
    loaded[0][2] = 99
    assert loaded[1][0].item() == 99


def test_cpu_files_load_to_the_device_and_modules_round_trip():
    network = small_network()
    state = torch.load(saved(network.state_dict()), map_location=f"{DEVICE_TYPE}:1")
    assert all(t.device == torch.device(f"{DEVICE_TYPE}:1") for t in state.values())
    there = small_network().to(f"{DEVICE_TYPE}:1")
    there.load_state_dict(state)
    for expected, found in zip(network.parameters(), there.parameters(), strict=True):
        assert torch.equal(found.cpu(), expected)


def test_deepcopy_and_pickle_stay_on_the_device():
    tensor = torch.arange(5.0, device=f"{DEVICE_TYPE}:1", requires_grad=True)
    for twin in (copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
        assert twin.device == tensor.device and twin.requires_grad
        assert twin.tolist() == tensor.tolist() and twin.data_ptr() != tensor.data_ptr()


def test_torchscript_runs_on_the_device(tmp_path):
    with pytest.warns((DeprecationWarning, FutureWarning)):
        scripted = torch.jit.script(small_network().eval())
    scripted.save(str(tmp_path / "network.pt"))
    data = torch.randn(2, 1, 8, 8)
    expected = scripted(data)
    loaded = torch.jit.load(str(tmp_path / "network.pt"), map_location=f"{DEVICE_TYPE}:1")
    assert loaded(data.to(f"{DEVICE_TYPE}:1")).device == torch.device(f"{DEVICE_TYPE}:1")
    moved = torch.jit.load(str(tmp_path / "network.pt")).to(DEVICE_TYPE)
    torch.testing.assert_close(moved(data.to(DEVICE_TYPE)).cpu(), expected)


def test_functional_transforms_work():
    data = torch.randn(4, 3, device=DEVICE_TYPE)
    rows = torch.func.vmap(lambda row: row.sin().sum())(data)
    torch.testing.assert_close(rows.cpu(), data.cpu().sin().sum(1))
    gradient = torch.func.grad(lambda x: (x * x).sum())(data)
    torch.testing.assert_close(gradient.cpu(), 2 * data.cpu())
