"""torch.compile(backend="neuron_sim") of transformers: activations stay on chip."""

import math

import pytest
import torch
from compile_support import (
    compiled,
    fresh_compiler,  # noqa: F401
    on_device,
    only_graph,
)
from device_type import DEVICE_TYPE
from torch import nn
from torch.nn import functional as F

CAST = {"auto_cast": "matmult"}


def written_out_gelu(x):
    """As models write it."""
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
    return 0.5 * x * (1.0 + torch.tanh(inner))


def kernels_left(function, *inputs, **options):
    """Programs of the chip move what the kernels exchange: the kernels after joining."""
    with torch.no_grad():
        found = compiled(function, options=options)(*inputs)
        expected = function(*inputs)
    return only_graph().kernels_after_fusion, found.cpu(), expected.cpu()


def test_the_written_out_gelu_of_a_linear_layer_leaves_psum_with_it():
    x, weight, bias = on_device(70, 90), on_device(50, 90, seed=1), on_device(50, seed=2)
    emitted, found, expected = kernels_left(
        lambda *operands: written_out_gelu(F.linear(*operands)), x, weight, bias
    )
    assert emitted == 1
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("factor", [0.0446, 0.0448])
def test_another_constant_is_no_gelu(factor):
    def almost(x):
        inner = math.sqrt(2.0 / math.pi) * (x + factor * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))

    x = on_device(70, 50) * 3
    _, found, expected = kernels_left(almost, x)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)
    assert (found - F.gelu(x.cpu(), approximate="tanh")).abs().max() > 1e-5


@pytest.mark.parametrize("rows", [1, 128, 131])
def test_a_residual_and_its_norm_are_one_kernel(rows):
    norm = nn.LayerNorm(600).to(DEVICE_TYPE)
    x, y = on_device(rows, 600), on_device(rows, 600, seed=1)
    emitted, found, expected = kernels_left(lambda x, y: norm(x + y), x, y)
    assert emitted == 1
    assert torch.equal(found, expected)


def test_what_only_products_read_is_never_stored_unrounded():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Linear(96, 200), nn.GELU(), nn.Linear(200, 96)).to(DEVICE_TYPE)
    x = on_device(130, 96)
    emitted, found, _ = kernels_left(layers, x, **CAST)
    assert emitted == 3, "the input is rounded, the hidden values are as they are written"
    weights = [p.detach().cpu().bfloat16().float() for p in (layers[0].weight, layers[2].weight)]
    hidden = F.gelu(F.linear(x.cpu().bfloat16().float(), weights[0], layers[0].bias.detach().cpu()))
    expected = F.linear(hidden.bfloat16().float(), weights[1], layers[2].bias.detach().cpu())
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-3)


def test_an_encoder_layer_moves_little_more_than_its_weights():
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(256, 4, 512, dropout=0.0, batch_first=True).eval()
    layer.to(DEVICE_TYPE)
    x = on_device(1, 128, 256)
    call = compiled(layer, options=CAST)
    with torch.no_grad():
        call(x)
        with torch.neuron_sim.record_launches() as launches:
            call(x)
    # Weights of products are stored in bf16, vectors in fp32.
    weights = sum(p.numel() * (2 if p.dim() == 2 else 4) for p in layer.parameters())
    moved = sum(launch.dma_bytes for launch in launches)
    assert moved <= weights + 3 * x.numel() * 4, (moved, weights)


@pytest.mark.parametrize("keys", [256, 384])
@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
def test_one_row_attends_to_many_keys_without_the_sums_that_nobody_reads(keys, device):
    q = on_device(1, 3, 1, 64, device=device)
    k, v = (on_device(1, 3, keys, 64, seed=seed, device=device) for seed in (1, 2))
    emitted, found, expected = kernels_left(F.scaled_dot_product_attention, q, k, v)
    assert emitted == 1
    assert torch.equal(found, expected)
    exact = F.scaled_dot_product_attention(*(tensor.cpu().double() for tensor in (q, k, v)))
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=1e-6)
