"""What single operators need, so that their results on two devices can be compared."""

from __future__ import annotations

from typing import Any

import torch
from placement import fresh, to_device
from torch.utils._python_dispatch import TorchDispatchMode

# Their results are whatever was in memory: structure is all there is to compare.
UNDEFINED = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty",
             "new_empty_strided"}  # fmt: skip
# The Vector engine draws their random numbers, which are not those of the CPU.
OWN_RANDOM = {"nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d",
              "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout",
              "nn.functional.multi_head_attention_forward",
              "nn.functional.scaled_dot_product_attention"}  # fmt: skip
# Tensors after the first one must be on the CPU, whatever the device of the first.
HOST_INDICES = {"tensor_split"}
# Which of several equal elements they name is not specified; the place of their argument
# `dim` after the input.
UNORDERED_TIES = {"sort": 0, "argsort": 0, "topk": 1, "kthvalue": 1, "mode": 0}

Arguments = tuple[Any, tuple[Any, ...], dict[str, Any]]


class RandomCalls(TorchDispatchMode):
    """Sees whether an operator inside of it draws random numbers."""

    seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.seen |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


def plain_name(op: Any) -> str:
    """The name of an operator or of its Python reference."""
    return op.name.removeprefix("_refs.")


def placed(op: Any, arguments: Arguments) -> Arguments:
    """The arguments for a call on the device."""
    if plain_name(op) not in HOST_INDICES:
        return to_device(arguments)
    first, others, options = arguments
    return to_device(first), *fresh((others, options))


def without_ties(op: Any, arguments: Arguments, result: Any) -> Any:
    """`result`; of an operator that orders, with the elements that the indices name, whether no
    index is twice in a row, and zeros of the indices' shape, dtype and place instead of them."""
    name = plain_name(op)
    first, others, options = arguments
    if name not in UNORDERED_TIES or options.get("stable"):
        return result
    place = UNORDERED_TIES[name]
    dimension = options.get("dim", others[place] if len(others) > place else -1)
    indices = result if isinstance(result, torch.Tensor) else result[-1]
    named, input_ = indices.detach().cpu(), first.detach().cpu()
    if named.dim() < input_.dim():  # kthvalue and mode without keepdim
        named = named.unsqueeze(dimension)
    elements = input_.gather(dimension, named).to(indices.device)
    once = True
    if named.numel() > 0 and named.dim() > 0:
        once = bool((named.sort(dimension).values.diff(dim=dimension) != 0).all())
    values = [] if indices is result else [result[0]]
    return [*values, elements, once, indices * 0]
