"""Attention of a few rows over long caches: decode steps."""

import math

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from device_type import DEVICE_TYPE
from torch.nn.functional import scaled_dot_product_attention

TOLERANCES = {torch.float32: 2e-6, torch.bfloat16: 2e-2}


def case(batch, key_heads, rows, keys, depth=32, width=32, dtype=torch.float32, members=True):
    """Queries, keys and values; `rows` share a key head: query heads, or queries of one."""
    torch.manual_seed(0)
    grouped = (batch, key_heads * rows, 1, depth) if members else (batch, key_heads, rows, depth)
    return [
        torch.randn(*sizes).to(dtype)
        for sizes in (
            grouped,
            (batch, key_heads, keys, depth),
            (batch, key_heads, keys, width),
        )
    ]


def check(tensors, mask=None, **options):
    q, k, v = tensors
    gqa = q.shape[1] != k.shape[1]
    expected = scaled_dot_product_attention(
        *(tensor.float() for tensor in tensors), mask, enable_gqa=gqa, **options
    )
    on_device = [tensor.to(DEVICE_TYPE) for tensor in tensors]
    device_mask = None if mask is None else mask.to(q.dtype).to(DEVICE_TYPE)
    found = scaled_dot_product_attention(*on_device, device_mask, enable_gqa=gqa, **options)
    tolerance = TOLERANCES[q.dtype]
    torch.testing.assert_close(found.cpu().float(), expected, atol=tolerance, rtol=tolerance)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("members", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 8, 9])
def test_rows_up_to_the_limit_and_beyond_it(rows, members, dtype):
    check(case(2, 3, rows, 256, dtype=dtype, members=members))


@pytest.mark.parametrize("keys", [128, 256, 257, 384])
@pytest.mark.parametrize(("depth", "width"), [(32, 48), (128, 128), (129, 32), (7, 1)])
def test_lengths_and_widths(keys, depth, width):
    check(case(1, 2, 2, keys, depth, width))


def test_more_heads_than_share_their_row_operations():
    check(case(9, 5, 4, 256))


def test_a_mask_hides_keys_per_head_and_for_all():
    tensors = case(2, 3, 1, 384, members=False)
    hidden = torch.zeros(384)
    hidden[200:] = -math.inf
    check(tensors, hidden.expand(1, 1, 1, 384))
    torch.manual_seed(1)
    check(tensors, torch.randn(2, 3, 1, 384))


def test_a_row_without_any_key_is_zero():
    tensors = [tensor.to(DEVICE_TYPE) for tensor in case(1, 2, 1, 256, members=False)]
    mask = torch.full((1, 1, 1, 256), -math.inf, device=DEVICE_TYPE)
    found = scaled_dot_product_attention(*tensors, mask)
    assert torch.equal(found.cpu(), torch.zeros_like(found.cpu()))


def test_a_nan_of_one_head_stays_there():
    q, k, v = case(1, 3, 1, 256, members=False)
    k[0, 1, 5, 0] = math.nan
    found = scaled_dot_product_attention(*(t.to(DEVICE_TYPE) for t in (q, k, v))).cpu()
    assert found[0, 1].isnan().all() and not found[0, [0, 2]].isnan().any()


def test_large_scores_do_not_overflow():
    q, k, v = case(1, 1, 1, 256, members=False)
    check([q * 1e3, k * 1e3, v])


def test_strided_caches_and_queries():
    q, k, v = case(2, 2, 1, 256, members=False)
    swapped = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in (q, k, v)]
    expected = scaled_dot_product_attention(q, k, v)
    found = scaled_dot_product_attention(
        *(tensor.transpose(1, 2).to(DEVICE_TYPE).transpose(1, 2) for tensor in swapped)
    )
    torch.testing.assert_close(found.cpu(), expected, atol=2e-6, rtol=2e-6)


def test_gradients_use_its_sums():
    tensors = case(1, 2, 1, 256, members=False)
    gradients = []
    for device in ("cpu", DEVICE_TYPE):
        inputs = [tensor.to(device).detach().clone().requires_grad_() for tensor in tensors]
        scaled_dot_product_attention(*inputs).sum().backward()
        gradients.append([tensor.grad.cpu() for tensor in inputs])
    for expected, found in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-4)
