"""Weights that are bytes in HBM: QuantizationConfig(quant_dtype="s8") of transformers-neuronx."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional


class Int8Linear(nn.Module):
    """x @ weight.T (+ bias) of an int8 weight [outputs, inputs], which is cast to the dtype of x
    for the product; results are scaled by output."""

    weight: Tensor

    def __init__(self, weight: Tensor, bias: nn.Parameter | None) -> None:
        """Rounds a floating weight: the largest of an output becomes 127."""
        super().__init__()
        scale = weight.detach().abs().amax(1).clamp(min=torch.finfo(weight.dtype).tiny) / 127
        self.scale = nn.Parameter(scale, requires_grad=False)
        # No parameter: a gradient needs a floating dtype.
        rounded = torch.round(weight.detach() / scale[:, None])
        self.register_buffer("weight", rounded.to(torch.int8))
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        """[..., inputs] to [..., outputs]."""
        result = functional.linear(x, self.weight.to(x.dtype)) * self.scale
        return result if self.bias is None else result + self.bias


def narrow(model: Any, head: nn.Module | None) -> None:
    """Replaces the products of the model, but for `head`, in place; routers of experts stay as they
    are. ValueError naming experts, whose weights are no module's own."""
    for path, module in list(model.named_modules()):
        if isinstance(getattr(module, "down_proj", None), nn.Parameter):
            raise ValueError(f"--weight-dtype has no rule for the experts '{path}'.")
        if module is head:
            continue
        if isinstance(module, nn.Linear):
            model.set_submodule(path, Int8Linear(module.weight, module.bias))
        elif type(module).__name__ == "Conv1D":  # of transformers: [inputs, outputs]
            model.set_submodule(path, Int8Linear(module.weight.T, module.bias))
