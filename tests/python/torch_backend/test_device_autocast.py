"""torch.autocast("neuron_sim"): regions, their cache of weights, custom functions, models."""

import copy
import importlib
import sys
from pathlib import Path

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch import nn
from torch.nn import functional

DEVICE = f"{DEVICE_TYPE}:1"
LOWER_DTYPES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "models"))


@pytest.fixture(autouse=True)
def strict_and_seeded():
    torch.manual_seed(0)
    with device_module.strict():
        yield


def there(*shape, dtype=torch.float32):
    return torch.randn(shape).to(dtype).to(DEVICE)


def autocast(dtype, **options):
    return torch.autocast(DEVICE_TYPE, dtype=dtype, **options)


# Regions


def test_regions_nest_and_end_even_by_an_error():
    x = there(3, 3)
    with autocast(torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16
        with autocast(torch.float16):
            assert (x @ x).dtype == torch.float16
            with autocast(torch.bfloat16, enabled=False):
                assert not torch.is_autocast_enabled(DEVICE_TYPE)
                assert (x @ x).dtype == torch.float32
            assert (x @ x).dtype == torch.float16
        assert torch.get_autocast_dtype(DEVICE_TYPE) == torch.bfloat16
        assert (x @ x).dtype == torch.bfloat16
        with pytest.raises(ZeroDivisionError), autocast(torch.float16):
            raise ZeroDivisionError
        assert (x @ x).dtype == torch.bfloat16
    assert (x @ x).dtype == torch.float32
    assert not torch.is_autocast_enabled(DEVICE_TYPE)


def test_a_region_may_be_a_decorator_and_is_of_its_own_device():
    @autocast(torch.bfloat16)
    def product(x):
        return x @ x

    x = there(3, 3)
    assert product(x).dtype == torch.bfloat16
    assert product(x.cpu()).dtype == torch.float32
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.float32
        assert product(x).dtype == torch.bfloat16


@pytest.mark.parametrize("dtype", [torch.float64, torch.int32])
def test_dtypes_that_a_region_cannot_have_disable_it_with_a_warning(dtype):
    x = there(3, 3)
    with pytest.warns(UserWarning, match="not supported"), autocast(dtype):
        assert (x @ x).dtype == torch.float32


def test_the_default_dtype_of_a_region_is_one_of_the_supported_ones():
    assert torch.get_autocast_dtype(DEVICE_TYPE) in device_module.get_amp_supported_dtype()
    x = there(3, 3)
    with torch.autocast(DEVICE_TYPE):
        assert (x @ x).dtype == torch.get_autocast_dtype(DEVICE_TYPE)


class Square(torch.autograd.Function):
    """Says which dtype its parts saw."""

    seen: list[torch.dtype] = []

    @staticmethod
    @torch.amp.custom_fwd(device_type=DEVICE_TYPE)
    def forward(context, x, weight):
        context.save_for_backward(x, weight)
        product = x @ weight
        Square.seen.append(product.dtype)
        return product

    @staticmethod
    @torch.amp.custom_bwd(device_type=DEVICE_TYPE)
    def backward(context, gradient):
        x, weight = context.saved_tensors
        inner = gradient @ weight.t()
        Square.seen.append(inner.dtype)
        return inner, x.t() @ gradient


class Wide(torch.autograd.Function):
    """Runs without autocast, on inputs of float32."""

    @staticmethod
    @torch.amp.custom_fwd(device_type=DEVICE_TYPE, cast_inputs=torch.float32)
    def forward(context, x):
        assert not torch.is_autocast_enabled(DEVICE_TYPE)
        return x @ x

    @staticmethod
    @torch.amp.custom_bwd(device_type=DEVICE_TYPE)
    def backward(context, gradient):
        return gradient


@LOWER_DTYPES
def test_custom_functions_run_their_backward_in_the_region_of_their_forward(dtype):
    Square.seen.clear()
    x = there(3, 4).requires_grad_()
    weight = there(4, 4).requires_grad_()
    with autocast(dtype):
        result = Square.apply(x, weight)
    result.sum().backward()
    assert Square.seen == [dtype, dtype]
    assert x.grad.dtype == weight.grad.dtype == torch.float32
    with autocast(dtype):
        low = there(3, 3, dtype=dtype).requires_grad_()
        wide = Wide.apply(low)
    assert wide.dtype == torch.float32
    wide.sum().backward()
    assert low.grad.dtype == dtype


# The cache of cast weights


def casts_of_two_uses(layer, x, **options):
    """How many casts of 60 elements two uses of the layer take inside one region."""
    with device_module.record_launches() as launches, autocast(torch.bfloat16, **options):
        layer(x)
        layer(x)
    return sum(
        launch.arguments.count("[60]") == 2 and "bfloat16" in launch.arguments.split(" -> ")[1]
        for launch in launches
    )


def test_a_weight_is_cast_once_per_region_and_again_in_the_next():
    layer, x = nn.Linear(12, 5, bias=False).to(DEVICE), there(2, 12)
    assert casts_of_two_uses(layer, x) == 1
    assert casts_of_two_uses(layer, x) == 1
    assert casts_of_two_uses(layer, x, cache_enabled=False) == 2


def test_a_region_after_a_step_of_the_optimizer_sees_the_new_weight():
    layer, x = nn.Linear(4, 4, bias=False).to(DEVICE), there(3, 4)
    for _ in range(2):
        with autocast(torch.bfloat16):
            found = layer(x)
        expected = x.cpu().bfloat16().double() @ layer.weight.detach().cpu().bfloat16().double().t()
        torch.testing.assert_close(found.detach().cpu().double(), expected, rtol=2**-7, atol=1e-5)
        found.sum().backward()
        torch.optim.SGD(layer.parameters(), 0.5).step()


# Models


class Block(nn.Module):
    """A transformer's layer between convolutions and logits."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.head = nn.Linear(8, 4)

    def forward(self, images):
        tokens = functional.avg_pool2d(self.stem(images), 2).flatten(2).transpose(1, 2)
        return self.head(self.layer(tokens).mean(1))


def losses_of_training(network, device, dtype, steps=12):
    torch.manual_seed(1)
    images, labels = torch.randn(8, 1, 8, 8).to(device), (torch.arange(8) % 4).to(device)
    optimizer = torch.optim.AdamW(network.parameters(), 1e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast(torch.device(device).type, dtype=dtype, enabled=dtype is not None):
            loss = functional.cross_entropy(network(images), labels)
        assert loss.dtype == torch.float32
        loss.backward()
        assert all(p.grad.dtype == torch.float32 for p in network.parameters())
        optimizer.step()
        losses.append(loss.item())
    return losses


@LOWER_DTYPES
def test_a_network_trains_in_autocast_as_it_does_in_float32(dtype):
    network = Block()
    expected = losses_of_training(copy.deepcopy(network), "cpu", None)
    found = losses_of_training(network.to(DEVICE), DEVICE, dtype)
    assert found[-1] < 0.9 * found[0]
    assert found == pytest.approx(expected, abs=0.05)
    assert found != pytest.approx(expected, rel=1e-6)  # it did run in the low dtype


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@LOWER_DTYPES
def test_recurrent_networks_run_in_autocast(kind, dtype):
    here = kind(3, 4)
    there_ = copy.deepcopy(here).to(DEVICE)
    data = torch.randn(5, 2, 3)
    with autocast(dtype):
        output, _ = there_(data.to(DEVICE))
    assert output.dtype == dtype
    output.float().sum().backward()
    here(data)[0].sum().backward()
    torch.testing.assert_close(output.detach().cpu().float(), here(data)[0].detach(), rtol=0.05,
                               atol=0.05)  # fmt: skip
    for ours, theirs in zip(there_.parameters(), here.parameters(), strict=True):
        assert ours.grad.dtype == torch.float32
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=0.1, atol=0.1)


SMALL_NETWORKS = {
    "ResNet-18": lambda c: (c.random_resnet(18, 10), c.images(1, 40)),
    "ViT": lambda c: (c.vit(48, 2, 3, 32), c.images(2, 32)),
    "GPT-2": lambda c: (c.gpt2(48, 2, 3, 96), c.tokens(2, 17, 96)),
    "Llama": lambda c: (c.llama(64, 2, 4, 96), c.tokens(1, 19, 96)),
}


@pytest.mark.parametrize("name", SMALL_NETWORKS)
@LOWER_DTYPES
def test_whole_networks_run_in_autocast_with_the_error_of_the_low_dtype(name, dtype):
    catalogue = importlib.import_module("zoo.catalogue")
    forward = importlib.import_module("zoo.forward")
    network, inputs = SMALL_NETWORKS[name](catalogue)
    with torch.no_grad():
        reference = forward.first_output(
            copy.deepcopy(network).double()(
                *(x.double() if x.is_floating_point() else x for x in inputs)
            )
        )
        network.to(DEVICE)
        with autocast(dtype):
            found = forward.first_output(network(*(x.to(DEVICE) for x in inputs)))
    assert 1e-6 < forward.relative_error(found, reference) < 8 * torch.finfo(dtype).eps
