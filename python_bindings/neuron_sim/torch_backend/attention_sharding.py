"""How DTensor may shard the device's attention, of which torch knows only other devices' forms."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from neuron_sim.after_import import after_import


def install() -> None:
    """Registers the shardings, now or when torch.distributed.tensor is imported."""
    after_import("torch.distributed.tensor", _register)


def _register(module: ModuleType) -> None:
    import torch  # the package works without it
    from torch.distributed.tensor.experimental import register_sharding  # imported by now

    aten = torch.ops.aten
    replicated, sharded = module.Replicate(), module.Shard

    def placements(dim: int | None, query: Any, argument: Any) -> Any:
        """Of a tensor, whose batch (0) or heads (1) are divided where it has as many as the query;
        None of anything else."""
        if not hasattr(argument, "placements"):
            return None
        same = dim is not None and argument.ndim > 2 and argument.shape[dim] == query.shape[dim]
        return sharded(dim) if same else replicated

    def dimensions(query: Any, key: Any) -> list[int | None]:
        return [None, 0, 1] if query.shape[1] == key.shape[1] else [None, 0]

    def forward(query: Any, key: Any, *others: Any, **_options: Any) -> list[Any]:
        shardings = []
        for dim in dimensions(query, key):
            result = replicated if dim is None else sharded(dim)
            results = [result, result, None, None, None, None, replicated, replicated, None]
            tensors = [placements(dim, query, argument) for argument in (query, key, *others)]
            shardings.append((results, tensors))
        return shardings

    def backward(
        gradient: Any, query: Any, key: Any, value: Any, bias: Any, *others: Any, **_options: Any
    ) -> list[Any]:
        shardings = []
        for dim in dimensions(query, key):
            arguments = (gradient, query, key, value, bias, *others)
            tensors = [placements(dim, query, argument) for argument in arguments]
            for_bias = tensors[4]
            if dim is not None and for_bias == replicated:
                for_bias = module.Partial()  # each rank has the sum over its batch or heads
            shardings.append(([*tensors[1:4], for_bias], tensors))
        return shardings

    register_sharding(aten._scaled_dot_product_fused_attention_overrideable.default)(forward)
    register_sharding(aten._scaled_dot_product_fused_attention_overrideable_backward.default)(
        backward
    )
