"""scaled_dot_product_attention and its gradients: sizes, layouts and masks of all kinds."""

import pytest
import torch
import torch.nn.functional as functional
from dense_oracle import check, on_device, random


def attention(q, k, v, mask=None, **options):
    return functional.scaled_dot_product_attention(q, k, v, mask, **options)


def causal_attention(q, k, v):
    return attention(q, k, v, is_causal=True)


def shared_attention(q, k, v, mask=None):
    return attention(q, k, v, mask, enable_gqa=True)


def qkv(batch, heads, queries, keys, width, key_heads=None, values=None):
    key_heads = key_heads or heads
    return (
        random(batch, heads, queries, width, seed=1),
        random(batch, key_heads, keys, width, seed=2),
        random(batch, key_heads, keys, values or width, seed=3),
    )


@pytest.mark.parametrize("batch, heads", [(1, 1), (1, 2), (1, 3), (1, 13), (5, 4), (2, 8)])
def test_any_number_of_heads_takes_its_turn(batch, heads):
    check(attention, *qkv(batch, heads, 21, 34, 8))
    check(causal_attention, *qkv(batch, heads, 34, 34, 8))


def test_more_rows_than_a_section_keeps_numbers_of():
    check(attention, *qkv(3, 701, 2, 3, 4), factor=2)
    check(attention, *qkv(2, 211, 640, 2, 4), factor=2)


@pytest.mark.parametrize(
    "queries, keys", [(128, 384), (129, 129), (40, 300), (300, 40), (257, 512)]
)
def test_keys_that_no_row_sees_have_no_gradient(queries, keys):
    check(causal_attention, *qkv(1, 2, queries, keys, 16), factor=3)
    k, v = (on_device(random(1, 1, keys, 4)).requires_grad_() for _ in range(2))
    causal_attention(on_device(random(1, 1, queries, 4)), k, v).sum().backward()
    assert not k.grad.cpu()[:, :, queries:].any() and not v.grad.cpu()[:, :, queries:].any()


@pytest.mark.parametrize("width", [1, 33, 96, 127, 128, 129, 160, 257, 512])
def test_widths_need_not_be_multiples_of_anything(width):
    check(attention, *qkv(1, 2, 130, 150, width), factor=3)
    check(causal_attention, *qkv(1, 1, 150, 150, width, values=width // 2 + 1), factor=3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_several_tiles_of_keys_are_scaled_to_the_largest_score(dtype):
    q, k, v = qkv(1, 2, 140, 2500, 16)
    k = k * torch.linspace(0, 4, 2500)[:, None]  # the largest scores come last
    check(attention, q, k, v, dtype=dtype, factor=6)
    check(attention, q, k.flip(2), v, dtype=dtype, factor=6)


def test_rows_without_keys_in_some_tiles_or_all():
    keep = torch.ones(5, 2300, dtype=torch.bool)
    keep[1, :1100] = False
    keep[2, 1030:] = False
    keep[3] = False
    q, k, v = qkv(2, 2, 5, 2300, 8)
    check(lambda q, k, v: attention(q, k, v, keep.to(q.device)), q, k, v, factor=3)


@pytest.mark.parametrize("shape", [(1, 1, 37, 600), (2, 1, 1, 600), (1, 4, 37, 1), (600,)])
def test_masks_broadcast_and_so_do_their_gradients(shape):
    check(attention, *qkv(2, 4, 37, 600, 16), random(*shape, seed=9), factor=4)


def test_members_of_a_key_head_have_masks_of_their_own():
    operands = qkv(2, 6, 140, 150, 16, key_heads=2)
    check(shared_attention, *operands, random(2, 6, 140, 150, seed=9), factor=4)
    check(shared_attention, *operands, random(150, seed=9), factor=4)


def test_operands_are_read_where_they_lie():
    def turned(*sizes, seed):  # contiguous along the length
        return random(*sizes[:2], sizes[3], sizes[2], seed=seed).transpose(2, 3)

    q, k, v = (turned(2, 3, 140, 24, seed=i) for i in range(3))
    check(attention, q, k, v, factor=3)
    q, k, v = (random(2, 140, 3, 24, seed=i).transpose(1, 2) for i in range(3))
    check(attention, q, k, v, factor=3)
    q, k, v = random(2, 140, 3, 3, 24).permute(2, 0, 3, 1, 4)
    check(attention, q, k, v, factor=3)
    check(attention, random(1, 1, 9, 8).expand(3, 2, 9, 8), *qkv(3, 2, 9, 9, 8)[1:])


def test_the_gradient_of_a_sum_repeats_one_element():
    operands = qkv(1, 2, 130, 140, 16)
    exact = [x.double().requires_grad_() for x in operands]
    attention(*exact).sum().backward()
    with torch.neuron_sim.strict():
        moved = [on_device(x).requires_grad_() for x in operands]
        attention(*moved).sum().backward()
    for tensor, other in zip(moved, exact, strict=True):
        assert torch.allclose(tensor.grad.cpu().double(), other.grad, atol=2e-5)


@pytest.mark.parametrize("index", range(3))
def test_an_operand_may_be_the_only_one_with_a_gradient(index):
    exact = [x.double().requires_grad_(i == index) for i, x in enumerate(qkv(1, 2, 30, 40, 8))]
    moved = [on_device(x.float()).requires_grad_(i == index) for i, x in enumerate(exact)]
    attention(*exact).square().sum().backward()
    attention(*moved).square().sum().backward()
    assert torch.allclose(moved[index].grad.cpu().double(), exact[index].grad, atol=2e-5)
    assert [x.grad is None for x in moved] == [i != index for i in range(3)]


@pytest.mark.parametrize("scale", [1.5, 1e-3, 0.0, -0.25])
def test_scores_may_be_scaled_by_anything(scale):
    check(lambda q, k, v: attention(q, k, v, scale=scale), *qkv(1, 2, 37, 45, 16), factor=4)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_special_scores_spoil_their_rows_as_in_torch(value):
    q, k, v = qkv(1, 2, 20, 30, 8)
    q[0, 1, 7, 3] = value
    check(attention, q, k, v, backward=False)
    check(causal_attention, q, k, v, backward=False)


@pytest.mark.parametrize("value", [torch.nan, torch.inf, -torch.inf])
def test_special_values_reach_all_rows_as_in_torch(value):
    q, k, v = qkv(1, 2, 20, 30, 8)
    v[0, 1, 0, 3] = value
    check(attention, q, k, v, backward=False)


def test_large_scores_stay_in_range():
    q, k, v = qkv(1, 2, 40, 50, 16)
    check(attention, q * 40, k * 40, v, backward=False, factor=400)


def test_the_lowest_number_as_a_mask_leaves_its_keys_out():
    bias = torch.zeros(37, 45)
    bias[:, 20:] = torch.finfo(torch.float32).min
    check(attention, *qkv(1, 2, 37, 45, 16), bias, factor=3)


def test_empty_heads_and_no_keys_are_composed():
    with torch.neuron_sim.strict():
        q, k, v = (on_device(torch.zeros(2, 0, 4, 8)) for _ in range(3))
        assert attention(q, k, v).shape == (2, 0, 4, 8)
        moved = [on_device(x) for x in qkv(1, 2, 4, 4, 8)]
        assert torch._fused_sdp_choice(moved[0], moved[1][:, :, :0], moved[2][:, :, :0]) == 0
