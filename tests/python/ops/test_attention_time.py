"""Attention that one launch cannot hold, and the simulated time of the kernels."""

import math

import pytest
import torch
import torch.nn.functional as functional
from dense_oracle import check, on_device, random

FORWARD, BACKWARD = "attention", "attention_backward"


def attention(q, k, v, mask=None, **options):
    return functional.scaled_dot_product_attention(q, k, v, mask, **options)


def composed(q, k, v, mask=None):
    scores = torch.matmul(q * (1 / math.sqrt(q.size(-1))), k.transpose(-2, -1))
    return torch.matmul(torch.softmax(scores if mask is None else scores + mask, -1), v)


def launches_of(call):
    with torch.neuron_sim.record_launches() as launches:
        call()
    return launches


def body_us(call):
    return sum(launch.body_us for launch in launches_of(call))


def counts(function, *tensors):
    """Launches of both kernels, forward and backward."""
    tensors = [on_device(x).requires_grad_(x.is_floating_point()) for x in tensors]
    with torch.neuron_sim.strict():
        names = [x.name for x in launches_of(lambda: function(*tensors).sum().backward())]
    return names.count(FORWARD), names.count(BACKWARD)


def qkv(batch, heads, queries, keys, width, key_heads=None):
    key_heads = key_heads or heads
    return (
        random(batch, heads, queries, width, seed=1),
        random(batch, key_heads, keys, width, seed=2),
        random(batch, key_heads, keys, width, seed=3),
    )


def test_heads_that_do_not_fit_are_taken_in_parts():
    operands = qkv(1, 1, 1900, 1500, 512)
    forward, backward = counts(attention, *operands)
    assert forward > 1 and backward > 1
    check(attention, *operands, factor=4)


@pytest.mark.parametrize("queries, keys", [(1900, 1900), (1500, 700), (700, 1600)])
def test_parts_above_the_diagonal_are_left_out(queries, keys):
    def causal(q, k, v):
        return attention(q, k, v, is_causal=True)

    operands = qkv(1, 1, queries, keys, 512)
    check(causal, *operands, factor=4)
    if queries == keys:
        assert counts(causal, *operands)[0] < counts(attention, *operands)[0]


def test_parts_have_masks_and_rows_without_keys():
    bias = random(1700, 1600, seed=9)
    bias[3] = -torch.inf
    bias[4, :1000] = -torch.inf
    bias[5, 200:] = -torch.inf
    operands = qkv(1, 1, 1700, 1600, 512)
    check(lambda q, k, v: attention(q, k, v, bias.to(q)), *operands, factor=4)


def test_members_of_a_key_head_are_taken_in_parts():
    def shared(q, k, v):
        return attention(q, k, v, enable_gqa=True)

    operands = qkv(1, 24, 100, 100, 512, key_heads=1)
    forward, backward = counts(shared, *operands)
    assert forward > 1 and backward > forward
    check(shared, *operands, factor=4)


SHAPES = [(1, 8, 128, 64), (2, 8, 64, 32), (3, 5, 197, 48), (1, 4, 512, 64), (1, 1, 2048, 128)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_kernels_are_faster_than_their_composition(shape, causal, dtype):
    operands = [on_device(random(*shape, seed=i).to(dtype)).requires_grad_() for i in range(3)]
    length = shape[2]
    above = torch.full((length, length), -torch.inf).triu(1)
    mask = on_device(above.to(dtype)) if causal else None
    gradient = on_device(random(*shape, seed=9).to(dtype))
    times = []
    for function in (lambda *x: attention(*x, is_causal=causal), lambda *x: composed(*x, mask)):
        results = []
        forward = body_us(lambda f=function, r=results: r.append(f(*operands)))
        times.append((forward, body_us(lambda r=results: r[0].backward(gradient))))
    (forward, backward), (composed_forward, composed_backward) = times
    assert 2 * forward < composed_forward
    assert 1.5 * backward < composed_backward


def test_a_causal_mask_saves_time():
    operands = [on_device(x) for x in qkv(1, 4, 1024, 1024, 64)]
    whole = body_us(lambda: attention(*operands))
    assert body_us(lambda: attention(*operands, is_causal=True)) < 0.8 * whole


def test_no_tensor_of_all_scores_is_made():
    q, k, v = (on_device(x).requires_grad_() for x in qkv(1, 2, 640, 640, 16))
    launches = launches_of(lambda: attention(q, k, v).sum().backward())
    assert [x.name for x in launches].count(BACKWARD) == 1
    assert not any("640, 640" in launch.arguments for launch in launches)
