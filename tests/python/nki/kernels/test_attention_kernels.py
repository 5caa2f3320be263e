"""neuronxcc.nki.kernels.attention against NumPy: values, gradients, masks, dropout, limits."""

import ml_dtypes
import numpy as np
import pytest
from neuron_sim.neuronxcc.nki.kernels import (
    FlashConfig,
    allocated_fused_self_attn_for_SD_small_head_size,
    flash_attn_bwd,
    flash_fwd,
    fused_self_attn_for_SD_small_head_size,
)
from nki_errors import error_of

RANDOM = np.random.default_rng(11)
SMALL = FlashConfig(seq_tile_size=512)


def uniform(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def scores_of(q, k, causal, window=-1, bias=None, scale=None):
    """Scores [batch, heads, queries, keys] in fp64, those that a mask removes -9984."""
    scale = scale or 1 / np.sqrt(q.shape[2])
    k = np.repeat(k.astype(np.float64), q.shape[1] // k.shape[1], axis=1)
    scores = q.astype(np.float64).swapaxes(2, 3) @ k * scale
    scores += 0 if bias is None else bias
    row, column = np.ogrid[: scores.shape[2], : scores.shape[3]]
    hidden = (column > row) & causal | (window > 0) & (column <= row - window)
    return np.where(hidden, -9984.0, scores)


def attention(q, k, v, causal, **options):
    """(output, logarithms of the sums as flash_fwd lays them out) in fp64."""
    scores = scores_of(q, k, causal, **options)
    largest = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - largest)
    sums = powers.sum(axis=-1, keepdims=True)
    v = np.repeat(v, q.shape[1] // v.shape[1], axis=1)
    lse = (largest + np.log(sums)).reshape(*q.shape[:2], -1, 128).swapaxes(2, 3)
    return powers / sums @ v, lse


CASES = {  # heads of q, of k, queries, keys, depth, options
    "causal, grouped heads": (2, 1, 512, 1024, 64, {"use_causal_mask": True}),
    "all keys, two steps": (1, 1, 256, 1024, 128, {"use_causal_mask": False}),
    "fewer keys than queries": (1, 1, 1024, 512, 32, {"use_causal_mask": True}),
    "a window": (1, 1, 1024, 1024, 64, {"use_causal_mask": True, "sliding_window": 200}),
    "a scale": (1, 1, 128, 512, 16, {"use_causal_mask": False, "softmax_scale": 0.5}),
}


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_flash_attention_is_attention(case, mixed):
    heads, kv_heads, queries, keys, depth, options = CASES[case]
    q, k, v = uniform(1, heads, depth, queries), *(uniform(1, kv_heads, depth, keys) for _ in "kv")
    v = v.swapaxes(2, 3).copy()
    out, lse = flash_fwd[1, kv_heads](q, k, v, None, mixed_precision=mixed, config=SMALL, **options)
    expected, sums = attention(q, k, v, options["use_causal_mask"],
        window=options.get("sliding_window", -1), scale=options.get("softmax_scale"))  # fmt: skip
    tolerance = 2e-2 if mixed else 2e-5
    np.testing.assert_allclose(out, expected, atol=tolerance)
    np.testing.assert_allclose(lse, sums, atol=tolerance)


def test_a_bias_is_added_and_values_may_be_turned_outside_of_training():
    q, k, v = uniform(2, 1, 32, 128), uniform(2, 1, 32, 512), uniform(2, 1, 32, 512)
    bias = uniform(2, 1, 128, 512)
    config = FlashConfig(seq_tile_size=512, training=False, should_transpose_v=True)
    out = flash_fwd[2, 1](
        q, k, v, None, bias, use_causal_mask=False, mixed_precision=False, config=config
    )
    expected, _ = attention(q, k, v.swapaxes(2, 3), False, bias=bias)
    np.testing.assert_allclose(out, expected, atol=2e-5)


def test_the_logarithms_have_the_dtype_that_the_configuration_names():
    q, k, v = (uniform(1, 1, 512, 64).astype(ml_dtypes.bfloat16) for _ in "qkv")
    q, k = q.swapaxes(2, 3).copy(), k.swapaxes(2, 3).copy()
    for name, mixed in (("float32", False), ("", True), ("", False)):
        config = FlashConfig(seq_tile_size=512, lse_dtype=name)
        out, lse = flash_fwd[1, 1](q, k, v, None, mixed_precision=mixed, config=config)
        assert out.dtype == ml_dtypes.bfloat16
        assert lse.dtype == (np.float32 if name or mixed else ml_dtypes.bfloat16)


def gradients(q, k, v, dy, causal, **options):
    """Gradients of q, k and v in fp64."""
    scores = scores_of(q, k, causal, **options)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    out = v @ weights.swapaxes(2, 3)
    from_values = dy.swapaxes(2, 3) @ v
    slope = weights * (from_values - (dy * out).sum(axis=2)[..., None]) / np.sqrt(q.shape[2])
    return k @ slope.swapaxes(2, 3), q @ slope, dy @ weights


@pytest.mark.parametrize(("causal", "window", "mixed", "biased"), [
    (False, -1, False, True), (True, -1, False, False), (True, 200, False, False),
    (True, -1, True, False),
])  # fmt: skip
def test_the_way_back_gives_the_gradients(causal, window, mixed, biased):
    q, k, v, dy = (uniform(1, 2, 64, 1024) for _ in range(4))
    bias = uniform(1, 2, 1024, 1024) if biased else None
    out, lse = attention(q, k, v.swapaxes(2, 3), causal, window=window, bias=bias)
    made = flash_attn_bwd[1, 2](
        q, k, v, out.swapaxes(2, 3).astype(np.float32), dy, lse.astype(np.float32), None, bias,
        use_causal_mask=causal, mixed_precision=mixed, sliding_window=window,
    )  # fmt: skip
    for result, expected in zip(
        made, gradients(q, k, v, dy, causal, window=window, bias=bias), strict=True
    ):
        np.testing.assert_allclose(result, expected, atol=2e-2 if mixed else 5e-5)


def test_dropout_removes_the_same_weights_forward_and_backward():
    """With values and scores of 0 all weights are equal: the output counts those that are kept."""
    rate, seed = 0.25, np.array([5], np.int32)
    zeros, ones = np.zeros((1, 1, 32, 512), np.float32), np.ones((1, 1, 512, 32), np.float32)
    options = {"use_causal_mask": False, "mixed_precision": False, "dropout_p": rate}
    out, lse = flash_fwd[1, 1](zeros, zeros, ones, seed, config=SMALL, **options)
    again, _ = flash_fwd[1, 1](zeros, zeros, ones, seed, config=SMALL, **options)
    other, _ = flash_fwd[1, 1](zeros, zeros, ones, seed + 1, config=SMALL, **options)
    assert np.array_equal(out, again)
    assert not np.array_equal(out, other)
    kept = out[0, 0, :, 0] * 512 * (1 - rate)
    np.testing.assert_allclose(kept, np.round(kept), atol=1e-3)
    assert abs(kept.mean() / 512 - (1 - rate)) < 0.01
    dy = np.ones((1, 1, 32, 512), np.float32)
    _, _, dv = flash_attn_bwd[1, 1](zeros, zeros, zeros, zeros, dy, lse, seed, **options)
    np.testing.assert_allclose(dv[0, 0, 0].sum(), out[0, 0, :, 0].sum(), rtol=1e-4)


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize(("sequence", "causal"), [(512, False), (384, True)])
def test_attention_of_stable_diffusion(sequence, causal, mixed):
    q, k, v = uniform(2, 64, sequence), uniform(2, sequence, 64), uniform(2, sequence, 64)
    turned = k.swapaxes(1, 2).copy()
    expected, _ = attention(q[:, None], turned[:, None], v[:, None], causal, scale=0.125)
    words = {"use_causal_mask": causal, "mixed_precision": mixed}
    out = fused_self_attn_for_SD_small_head_size[2](q, k, v, **words)
    other = allocated_fused_self_attn_for_SD_small_head_size[2](q, turned, v, **words)
    np.testing.assert_allclose(out, expected[:, 0], atol=2e-2 if mixed else 2e-5)
    np.testing.assert_array_equal(other, out.swapaxes(1, 2))


def test_shapes_that_the_kernels_do_not_take_are_refused():
    q, k, v = uniform(1, 2, 64, 256), uniform(1, 1, 64, 512), uniform(1, 1, 512, 64)

    def refused(*arrays, **words):
        return error_of(lambda: flash_fwd[1, 1](*arrays, None, **words)).splitlines()[0]

    assert refused(q, k, v) == "need seqlen_k to be divisible by 2048 but got 512"
    assert refused(q[..., :200], k, v, config=SMALL) == (
        "need seqlen_q to be divisible by 128 but got 200"
    )
    assert refused(uniform(1, 3, 64, 256), uniform(1, 2, 64, 512), uniform(1, 2, 512, 64),
        config=SMALL) == "3 heads of q are no multiple of 2 of k"  # fmt: skip
    assert refused(q, k, v.swapaxes(2, 3), config=SMALL) == (
        "v shape (1, 1, 64, 512) does not match, expected (1, 1, 512, 64)"
    )
    assert refused(q, k, v, config=SMALL, dropout_p=0.1) == "dropout_p needs a seed of shape (1,)"
    wide = uniform(1, 1, 129, 512)
    assert refused(wide, wide, v, config=SMALL) == (
        "we do not support head_dim > 128, got head dim 129"
    )
