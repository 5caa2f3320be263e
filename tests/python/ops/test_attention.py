"""scaled_dot_product_attention on the device, and the modules that use it."""

import math

import pytest
import torch
import torch.nn.functional as functional
from dense_oracle import all_floats, assert_same, check, on_device, random
from device_type import DEVICE_TYPE


def attention(q, k, v, mask=None, causal=False, gqa=False):
    return functional.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=gqa)


def qkv(batch, heads, queries, keys, width, key_heads=None, values=None):
    key_heads = key_heads or heads
    return (
        random(batch, heads, queries, width, seed=1),
        random(batch, key_heads, keys, width, seed=2),
        random(batch, key_heads, keys, values or width, seed=3),
    )


@all_floats
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", [(2, 3, 37, 37, 16), (1, 2, 130, 130, 64), (1, 1, 1, 1, 1)])
def test_attention_and_its_gradients_are_those_of_float64(sizes, causal, dtype):
    check(lambda q, k, v: attention(q, k, v, causal=causal), *qkv(*sizes), dtype=dtype, factor=3)


@pytest.mark.parametrize("causal", [False, True])
def test_long_sequences_and_wide_heads_stream(causal):
    check(lambda q, k, v: attention(q, k, v, causal=causal), *qkv(1, 1, 300, 1100, 32), factor=3)
    check(lambda q, k, v: attention(q, k, v, causal=causal), *qkv(1, 2, 40, 50, 256), factor=3)
    check(lambda q, k, v: attention(q, k, v, causal=causal), *qkv(1, 2, 9, 7, 8, values=20))


def test_masks_of_bools_and_floats_broadcast():
    operands = qkv(2, 3, 37, 45, 16)
    keep = random(37, 45) > 0
    keep[5] = False  # a row without any key gives 0
    check(lambda q, k, v: attention(q, k, v, keep.to(q.device)), *operands, factor=3)
    bias = random(2, 1, 37, 45, seed=9)
    check(attention, *operands, bias, factor=3)


def test_query_heads_share_key_heads():
    check(lambda q, k, v: attention(q, k, v, gqa=True), *qkv(2, 6, 17, 17, 16, key_heads=2))
    check(lambda q, k, v: attention(q, k, v, gqa=True, causal=True),
          *qkv(1, 4, 130, 130, 8, key_heads=1), factor=3)  # fmt: skip


def test_permuted_heads_are_read_where_they_lie():
    q, k, v = (random(2, 9, 4, 8, seed=i).transpose(1, 2) for i in range(3))
    check(attention, q, k, v)


def test_attention_is_one_kernel():
    with torch.neuron_sim.strict():
        operands = [on_device(x) for x in qkv(1, 2, 20, 20, 8)]
        choice = torch._fused_sdp_choice(*operands)
        dropped = torch._fused_sdp_choice(*operands, dropout_p=0.5)
    assert choice == 4 and dropped == 0  # overrideable, math


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("norm_first", [False, True])
def test_a_transformer_layer_is_that_of_the_cpu(norm_first, training):
    torch.manual_seed(3)
    layer = torch.nn.TransformerEncoderLayer(
        32, 4, 64, dropout=0, batch_first=True, norm_first=norm_first
    )
    layer.train(training)
    x = random(2, 11, 32)
    padding = torch.zeros(2, 11, dtype=torch.bool)
    padding[1, 7:] = True
    with torch.no_grad():
        expected = layer(x, src_key_padding_mask=padding)
        layer.to(DEVICE_TYPE)
        with torch.neuron_sim.strict():
            actual = layer(on_device(x), src_key_padding_mask=on_device(padding))
    assert_same(actual.cpu()[~padding], expected[~padding], torch.float32, 10)


def test_multi_head_attention_returns_averaged_weights():
    torch.manual_seed(3)
    module = torch.nn.MultiheadAttention(24, 3, batch_first=True).eval()
    x = random(2, 7, 24)
    with torch.no_grad():
        expected, weights = module(x, x, x)
        module.to(DEVICE_TYPE)
        with torch.neuron_sim.strict():
            moved = on_device(x)
            actual, actual_weights = module(moved, moved, moved)
    assert_same(actual, expected, torch.float32, 10)
    assert_same(actual_weights, weights, torch.float32, 10)
    assert math.isclose(actual_weights.sum().item(), 14, rel_tol=1e-5)
