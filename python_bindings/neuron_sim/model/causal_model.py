"""Prompt and token programs of any causal language model of `transformers`.

The model is built from its configuration and runs as NxD Inference runs it: with caches of the
whole context, a prompt that attends to itself, a token that attends to the caches under a mask, and
logits of the last token only. Its modules are those of `transformers`, with the attention and the
experts of causal_kernels.py.
"""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, distributed, nn
from transformers import AutoModelForCausalLM, DynamicCache
from transformers.cache_utils import Cache, LinearAttentionCacheLayerMixin, StaticLayer

from neuron_sim.model.causal_kernels import KERNELS
from neuron_sim.model.heads import Rank
from neuron_sim.model.int8_weights import narrow
from neuron_sim.model.tensor_parallel import gathered, is_product, shard


class _CacheLayer(StaticLayer):
    """Keys and values of one layer in given tensors, at `position` [1]; None: of a prompt."""

    def __init__(self, keys: Tensor, values: Tensor, position: Tensor | None) -> None:
        self.keys, self.values, self.position = keys, values, position
        self.max_cache_len = keys.shape[2]
        self.is_initialized = True

    def update(self, keys: Tensor, values: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        """Keeps them; what the tokens attend to."""
        if self.position is None:
            self.keys[:, :, : keys.shape[2]] = keys
            self.values[:, :, : keys.shape[2]] = values
            return keys, values
        self.keys.index_copy_(2, self.position, keys)
        self.values.index_copy_(2, self.position, values)
        return self.keys, self.values

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Tokens that are attended to, and the first one's position."""
        return (query_length if self.position is None else self.max_cache_len), 0

    def get_seq_length(self) -> Any:
        """The position of the first query."""
        return 0 if self.position is None else self.position


class _LastToken(nn.Module):
    """The head for the last token alone."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, x: Tensor) -> Tensor:
        return self.head(x[:, -1:])


_Shapes = dict[int, tuple[Sequence[int], Sequence[int]]]
"""Of keys and values, by index of layer."""


class CausalProgram(nn.Module):
    """A causal language model with its caches: forward() is the program of a prompt, or of a
    token."""

    def __init__(self, model: Any, shapes: _Shapes, ranks: int) -> None:
        super().__init__()
        self.model, self.indices, self.ranks = model, tuple(shapes), ranks
        self.takes_positions = "position_ids" in inspect.signature(model.forward).parameters
        self.counts_mask = any(map(_counts_mask, model.modules()))
        for index, (keys, values) in shapes.items():
            dtype = model.dtype
            for name, shape in (("keys", keys), ("values", values)):
                empty = torch.zeros(*shape, dtype=dtype, device=model.device)
                self.register_buffer(f"{name}_{index}", empty)

    def forward(self, words: Tensor, position: Tensor) -> Tensor:
        """The logits [B, vocabulary] after the last of `words` [B, T] (int64). T == 1: the word at
        `position` [1] (int64) of every sequence; T > 1: the first T words."""
        is_prompt = words.shape[1] > 1
        layers = {
            i: _CacheLayer(
                getattr(self, f"keys_{i}"),
                getattr(self, f"values_{i}"),
                None if is_prompt else position,
            )
            for i in self.indices
        }
        options: dict[str, Any] = {}
        if self.takes_positions:
            options["position_ids"] = (
                torch.arange(words.shape[1], device=words.device) if is_prompt else position
            )[None]
        if self.counts_mask and not is_prompt:  # else a mask as long as the position, of values
            context = layers[self.indices[0]].max_cache_len
            options["attention_mask"] = words.new_ones(words.shape[0], context)
        first = layers[self.indices[0]]  # stands where a layer is left out
        cache = Cache(layers=[layers.get(i, first) for i in range(self.indices[-1] + 1)])
        return self.model(words, past_key_values=cache, use_cache=True, **options).logits[:, -1]

    def operations(self, tokens: int, seen: float) -> float:
        """Operations of one rank's products for `tokens` of one sequence, each of which attends to
        `seen`, and is computed by the experts that it chooses."""
        config = self.model.config
        chosen = getattr(config, "num_experts_per_tok", None) or 0
        weights = 0.0
        for module in self.model.modules():
            if isinstance(getattr(module, "down_proj", None), nn.Parameter):
                sizes = sum(weight.numel() for weight in module.parameters(recurse=False))
                weights += sizes * chosen / module.num_experts
            elif is_product(module):
                weights += module.weight.numel()
        head = next(m for m in self.modules() if isinstance(m, _LastToken))
        of_head = sum(weight.numel() for weight in head.parameters())
        heads = math.ceil(config.num_attention_heads / self.ranks)
        widths = sum(tensor.shape[-1] for tensor in self.buffers(recurse=False))
        return 2.0 * (tokens * (weights - of_head + heads * widths * seen) + of_head)


def program(
    model: Any,
    batch: int,
    context: int,
    rank: Rank | None = None,
    weight_dtype: str | None = None,
) -> CausalProgram:
    """The program of a causal language model, which is changed: of `rank`'s part of it, with
    `weight_dtype` "int8" for the products of its layers. ValueError as shard() and narrow(), and
    for a layer that keeps a state other than keys and values."""
    head = model.get_output_embeddings()
    place = next(name for name, module in model.named_modules() if module is head)
    if rank is not None:
        shard(model, head, rank)
    if weight_dtype == "int8":
        narrow(model, head)
    if rank is not None:
        head = gathered(head, rank)
    model.set_submodule(place, _LastToken(head))
    ranks = 1 if rank is None else rank.ranks
    return CausalProgram(model.eval(), _cache_shapes(model, batch, context), ranks)


def _cache_shapes(model: Any, batch: int, context: int) -> _Shapes:
    """Shapes of keys and values by index of layer, from a run of one token."""
    cache = DynamicCache(config=model.config)
    for index, layer in enumerate(cache.layers):
        if isinstance(layer, LinearAttentionCacheLayerMixin):
            raise ValueError(f"layer {index} keeps a state that is not keys and values.")
    words = torch.zeros(1, 1, dtype=torch.int64, device=model.device)
    with torch.no_grad():
        model(words, past_key_values=cache, use_cache=True)
    return {
        index: (
            (batch, layer.keys.shape[1], context, layer.keys.shape[3]),
            (batch, layer.values.shape[1], context, layer.values.shape[3]),
        )
        for index, layer in enumerate(cache.layers)
        if layer.is_initialized
    }


class CausalLanguageModel:
    """A configuration of transformers as generate() takes it; ValueError, with `name`, for one that
    makes no causal language model."""

    def __init__(self, config: Any, name: str) -> None:
        self._config, self._name = config.get_text_config(decoder=True), name
        self._kind = AutoModelForCausalLM._model_mapping.get(type(self._config), None)
        if self._kind is None or not getattr(self._config, "is_decoder", True):
            raise ValueError(
                f"'{name}' has the model_type '{config.model_type}', of which transformers has no "
                "causal language model."
            )
        self._check_heads()
        model = self._skeleton()
        count = self._config.num_hidden_layers
        lists: Iterator[tuple[str, nn.Module]] = (
            (path, module)
            for path, module in model.named_modules()
            if isinstance(module, nn.ModuleList) and len(module) == count > 0
        )
        self._path: str
        self._path, layers = next(lists, ("", nn.ModuleList()))
        if not self._path:
            raise ValueError(f"'{name}' has no list of its {count} layers.")
        self.layers_path = f"model.{self._path}"
        """The module path of the layers in the program."""
        types = getattr(self._config, "layer_types", None) or [None] * count
        self.kinds: tuple[Any, ...] = tuple(zip(types, map(_kind, layers.children()), strict=True))
        """What tells layers apart, by layer."""
        words = model.get_input_embeddings()
        learned = any(isinstance(m, nn.Embedding) and m is not words for m in model.modules())
        self.longest = self._config.max_position_embeddings if learned else None
        """Tokens for which there are learned positions; None: positions are computed."""

    def _check_heads(self) -> None:
        heads = getattr(self._config, "num_attention_heads", None)
        keys = getattr(self._config, "num_key_value_heads", None) or heads
        if isinstance(heads, int) and isinstance(keys, int) and heads % keys:
            raise ValueError(
                f"'{self._name}' has {heads} heads, which do not divide into those of its {keys} "
                "key heads."
            )

    def _skeleton(self) -> Any:
        by_hand = "sdpa" if self._kind._supports_sdpa else "eager"
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(
                copy.deepcopy(self._config),
                attn_implementation=KERNELS if self._kind._supports_attention_backend else by_hand,
                experts_implementation=KERNELS,
                dtype=torch.get_default_dtype(),
            )

    def program(
        self,
        ranks: int,
        batch: int,
        context: int,
        layers: Sequence[int] | None = None,
        weight_dtype: str | None = None,
        copies_keys: bool = False,
    ) -> CausalProgram:
        """Rank 0 of `ranks` (the default process group; Rank.copies_keys), uninitialised, on the
        default device and in the default dtype; of these layers (ascending) only. ValueError as
        program()."""
        model = self._skeleton()
        if layers is not None:
            every = model.get_submodule(self._path)
            model.set_submodule(self._path, nn.ModuleList(every[index] for index in layers))
        rank = None
        if ranks > 1:
            rank = Rank(0, ranks, distributed.group.WORLD.group_name, copies_keys)
        try:
            made = program(model, batch, context, rank, weight_dtype)
        except ValueError as error:
            raise ValueError(f"'{self._name}': {error}") from None
        types = getattr(model.config, "layer_types", None)
        if types is not None and layers is not None:
            model.config.layer_types = [types[index] for index in layers]
        return made.to_empty(device=torch.get_default_device()).requires_grad_(False)


def _kind(layer: nn.Module) -> tuple[Any, ...]:
    """What tells layers apart: sizes of their parameters, and numbers that their modules hold."""
    sizes = [(name, tuple(weight.shape)) for name, weight in layer.named_parameters()]
    numbers = [
        (path, name, value)
        for path, module in layer.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, int | float | None) and name != "layer_idx"
    ]
    return tuple(sizes), tuple(numbers)


def _counts_mask(module: nn.Module) -> bool:
    """Whether a module is an embedding of positions that it counts in a mask (OPT)."""
    takes = inspect.signature(module.forward).parameters
    return isinstance(module, nn.Embedding) and "attention_mask" in takes
