"""Attention and experts of models of `transformers`, through its interfaces, as one program.

Heads of keys are never copied for each query, and routing of experts stays on the device.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS, batched_mm_experts_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

KERNELS = "neuron_sim"
"""The name of attention and experts at transformers' interfaces."""


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """[B, H, T, D] to [B, T, H, D]; the queries of one head of keys are rows of one product."""
    batch, heads, tokens, _ = query.shape
    groups = heads // key.shape[1]
    if softcap is not None or s_aux is not None:
        result = _capped(query, key, value, attention_mask, scaling, softcap, s_aux)
    elif tokens == 1:
        rows = query.reshape(batch, key.shape[1], groups, -1)
        result = functional.scaled_dot_product_attention(
            rows, key, value, attn_mask=attention_mask, scale=scaling
        ).reshape(batch, heads, 1, -1)
    else:
        result = functional.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=attention_mask,
            is_causal=attention_mask is None,
            scale=scaling,
            enable_gqa=groups > 1,
        )
    return result.transpose(1, 2), None


def _capped(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    scaling: float | None,
    cap: float | None,
    sinks: Tensor | None,
) -> Tensor:
    """Attention with capped scores (Gemma 2) or with a sink for each head (GPT-OSS)."""
    batch, heads, tokens, width = query.shape
    rows = query.reshape(batch, key.shape[1], -1, width)
    scores = rows @ key.transpose(-1, -2) * (width**-0.5 if scaling is None else scaling)
    scores = scores.reshape(batch, heads, tokens, -1)
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
    if mask is None:
        places = torch.arange(tokens, device=query.device)
        mask = places[:, None] >= places
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    if sinks is not None:
        column = sinks.reshape(1, -1, 1, 1).expand(batch, -1, tokens, 1)
        scores = torch.cat([scores, column], -1)
    shares = torch.softmax(scores, -1, dtype=torch.float32).to(query.dtype)[..., : key.shape[2]]
    shares = shares.reshape(batch, key.shape[1], -1, key.shape[2])
    return (shares @ value).reshape(batch, heads, tokens, -1)


def _experts(module: Any, x: Tensor, chosen: Tensor, weights: Tensor) -> Tensor:
    """The experts' weighted sum for tokens [T, width], `chosen` [T, k]: those that are chosen
    while they are fewer than all, else every expert for every token, as NxD Inference does."""
    if chosen.numel() <= module.num_experts:
        return batched_mm_experts_forward(module, x, chosen, weights)
    routing = torch.zeros(x.shape[0], module.num_experts, dtype=weights.dtype, device=x.device)
    routing = routing.scatter(1, chosen, weights)

    def product(rows: Tensor, name: str) -> Tensor:
        matrix = getattr(module, name)
        result = rows @ (matrix if module.is_transposed else matrix.transpose(1, 2))
        return result + getattr(module, f"{name}_bias")[:, None] if module.has_bias else result

    rows = x.expand(module.num_experts, *x.shape)
    if module.has_gate:
        inner = module._apply_gate(product(rows, "gate_up_proj"))
    else:
        inner = module.act_fn(product(rows, "up_proj"))
    return (product(inner, "down_proj") * routing.T[..., None]).sum(0).to(x.dtype)


ALL_ATTENTION_FUNCTIONS.register(KERNELS, _attention)
ALL_MASK_ATTENTION_FUNCTIONS.register(KERNELS, sdpa_mask)
ALL_EXPERTS_FUNCTIONS.register(KERNELS, _experts)
