"""One rank's part of a decoder of text, split as Megatron does, with caches of keys and values.

Queries, keys, values and the first layer of the MLP are split by columns, the output projection and
the second layer by rows, so that a layer has two all-reduces (one where attention and MLP are
parallel); logits are split by the vocabulary and gathered. Caches hold the whole context from the
start, as transformers-neuronx keeps them: a decode step attends to all of it under a mask, with the
position as data, and writes one row in place.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, distributed, nn
from torch.distributed import _functional_collectives as collectives
from torch.nn import functional

from neuron_sim.model.decoder_shape import DecoderShape

_LOWEST = -1e4
"""A masked score, before softmax: its exponential is 0 in every dtype."""


def _share(count: int, ranks: int) -> int:
    """As many for every rank: the last one's are filled up."""
    return math.ceil(count / ranks)


def _name_of_group(ranks: int) -> str:
    """The default process group; "" for a model that is not split."""
    return distributed.group.WORLD.group_name if ranks > 1 else ""


def _reduced(part: Tensor, group: str) -> Tensor:
    return collectives.all_reduce(part, "sum", group) if group else part


class _Norm(nn.Module):
    def __init__(self, shape: DecoderShape) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape.width))
        self.bias = None if shape.root_mean_square else nn.Parameter(torch.empty(shape.width))

    def forward(self, x: Tensor) -> Tensor:
        size = (x.shape[-1],)
        if self.bias is None:
            return functional.rms_norm(x, size, self.weight, 1e-5)
        return functional.layer_norm(x, size, self.weight, self.bias, 1e-5)


class _Linear(nn.Module):
    """x @ weight.T (+ bias); the bias of a product of parts is added after their sum.

    int8 weights are cast to the dtype of x for the product and scaled by output channel after it,
    as with QuantizationConfig(quant_dtype="s8") of transformers-neuronx.
    """

    def __init__(
        self, inputs: int, outputs: int, bias: bool, weight_dtype: str | None = None
    ) -> None:
        super().__init__()
        self.scale: Tensor | None = None
        if weight_dtype == "int8":
            # No parameter: a gradient needs a floating dtype.
            self.register_buffer("weight", torch.empty(outputs, inputs, dtype=torch.int8))
            self.scale = nn.Parameter(torch.empty(outputs))
        else:
            self.weight = nn.Parameter(torch.empty(outputs, inputs))
        self.bias = nn.Parameter(torch.empty(outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        if self.scale is None:
            return functional.linear(x, self.weight, self.bias)
        return self.completed(self.part(x))

    def part(self, x: Tensor) -> Tensor:
        if self.scale is None:
            return functional.linear(x, self.weight)
        return functional.linear(x, self.weight.to(x.dtype)) * self.scale

    def completed(self, total: Tensor) -> Tensor:
        return total if self.bias is None else total + self.bias


def rotated(x: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """The first 2 * cosines.shape[-1] elements of each head turned, in two halves; GPT-J's
    neighbouring pairs are halves once the rows of its weights are permuted."""
    half = cosines.shape[-1]
    first, second, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
    turned = [first * cosines - second * sines, second * cosines + first * sines]
    return torch.cat([*turned, rest] if rest.shape[-1] else turned, -1)


class Attention(nn.Module):
    def __init__(
        self,
        shape: DecoderShape,
        ranks: int,
        batch: int,
        context: int,
        weight_dtype: str | None = None,
    ) -> None:
        super().__init__()
        self.head_width = shape.head_width
        self.heads = _share(shape.heads, ranks)
        # Heads of keys that the ranks cannot divide evenly are repeated, one for every head of
        # queries (transformers-neuronx, decoder.py: GQA.REPLICATED_HEADS).
        divides = shape.key_heads % ranks == 0
        self.key_heads = shape.key_heads // ranks if divides else self.heads
        columns = (self.heads + 2 * self.key_heads) * shape.head_width
        biases = shape.attention_biases
        self.queries_keys_values = _Linear(shape.width, columns, biases, weight_dtype)
        inputs = self.heads * shape.head_width
        self.output = _Linear(inputs, shape.width, biases, weight_dtype)
        cache = (batch, self.key_heads, context, shape.head_width)
        self.register_buffer("keys", torch.empty(cache))
        self.register_buffer("values", torch.empty(cache))

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor] | None, bias: Tensor | None, position: Tensor
    ) -> Tensor:
        """[B, T, width] to this rank's part of [B, T, width]; T > 1 starts at position 0."""
        batch, tokens, _ = x.shape
        shape = (batch, tokens, -1, self.head_width)
        heads = self.queries_keys_values(x).view(shape)
        turning, values = heads.split([self.heads + self.key_heads, self.key_heads], 2)
        if turn is not None:
            turning = rotated(turning, turn[0][:, None], turn[1][:, None])
        queries, keys = turning.split([self.heads, self.key_heads], 2)
        keys, values = keys.transpose(1, 2), values.transpose(1, 2)
        attended = (self._prefill if tokens > 1 else self._decode)(
            queries, keys, values, bias, position
        )
        return self.output.part(attended.reshape(batch, tokens, -1))

    def _prefill(
        self, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, _: Tensor
    ) -> Tensor:
        tokens = queries.shape[1]
        self.keys[:, :, :tokens] = keys
        self.values[:, :, :tokens] = values
        found = functional.scaled_dot_product_attention(
            queries.transpose(1, 2),
            keys,
            values,
            attn_mask=bias,
            is_causal=bias is None,
            enable_gqa=self.heads != self.key_heads,
        )
        return found.transpose(1, 2)

    def _decode(
        self, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, position: Tensor
    ) -> Tensor:
        self.keys.index_copy_(2, position, keys)
        self.values.index_copy_(2, position, values)
        # The queries of one head of keys are rows of one product.
        grouped = queries.view(queries.shape[0], self.key_heads, -1, self.head_width)
        return functional.scaled_dot_product_attention(
            grouped, self.keys, self.values, attn_mask=bias
        )


class Feedforward(nn.Module):
    def __init__(self, shape: DecoderShape, ranks: int, weight_dtype: str | None = None) -> None:
        super().__init__()
        self.shape = shape
        inner = _share(shape.inner, ranks)
        outputs = inner * (2 if shape.gated else 1)
        self.first = _Linear(shape.width, outputs, not shape.gated, weight_dtype)
        self.second = _Linear(inner, shape.width, not shape.gated, weight_dtype)

    def forward(self, x: Tensor) -> Tensor:
        """This rank's part of the sum."""
        activated = self.first(x)
        if self.shape.gated:
            gate, activated = activated.chunk(2, -1)
            return self.second.part(functional.silu(gate) * activated)
        if self.shape.activation == "relu":
            return self.second.part(functional.relu(activated))
        form = "tanh" if self.shape.activation == "gelu_tanh" else "none"
        return self.second.part(functional.gelu(activated, approximate=form))


class Layer(nn.Module):
    def __init__(
        self,
        shape: DecoderShape,
        ranks: int,
        batch: int,
        context: int,
        weight_dtype: str | None = None,
    ) -> None:
        super().__init__()
        self.shape, self.group = shape, _name_of_group(ranks)
        self.before_attention, self.before_feedforward = _Norm(shape), _Norm(shape)
        self.attention = Attention(shape, ranks, batch, context, weight_dtype)
        self.feedforward = Feedforward(shape, ranks, weight_dtype)

    def forward(
        self, x: Tensor, turn: tuple[Tensor, Tensor] | None, bias: Tensor | None, position: Tensor
    ) -> Tensor:
        attended = self.attention(self.before_attention(x), turn, bias, position)
        if self.shape.parallel:
            both = attended + self.feedforward(self.before_feedforward(x))
            total = self.attention.output.completed(_reduced(both, self.group))
            return x + self.feedforward.second.completed(total)
        x = x + self.attention.output.completed(_reduced(attended, self.group))
        part = self.feedforward(self.before_feedforward(x))
        return x + self.feedforward.second.completed(_reduced(part, self.group))


class Decoder(nn.Module):
    """Rank 0 of `ranks` (the default process group), with uninitialised weights and with caches for
    `batch` sequences of `context` tokens, on the default device and in the default dtype; with
    `weight_dtype` "int8" the weights of the layers' products are int8, those of the embedding, of
    the head and of norms are not.

    ValueError for sizes below one."""

    def __init__(
        self,
        shape: DecoderShape,
        ranks: int,
        batch: int,
        context: int,
        layers: int | None = None,
        weight_dtype: str | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("ranks", ranks), ("batch", batch), ("context", context)):
            if value < 1:
                raise ValueError(f"a decoder has at least one of its {name}, not {value}.")
        self.shape, self.group = shape, _name_of_group(ranks)
        self.embedding = nn.Parameter(torch.empty(shape.vocabulary, shape.width))
        if shape.positions == "learned":
            self.places = nn.Parameter(torch.empty(context, shape.width))
        if shape.positions == "rotary":
            angles = (context, shape.rotated // 2)
            self.register_buffer("cosines", torch.empty(angles))
            self.register_buffer("sines", torch.empty(angles))
        self.register_buffer("numbers", torch.empty(context, dtype=torch.float32))
        if shape.positions == "alibi":
            self.register_buffer("slopes", torch.empty(_share(shape.heads, ranks), 1, 1))
        self.layers = nn.ModuleList(
            Layer(shape, ranks, batch, context, weight_dtype)
            for _ in range(shape.layers if layers is None else layers)
        )
        self.last_norm = _Norm(shape)
        self.head = _Linear(shape.width, _share(shape.vocabulary, ranks), False)

    def _bias(self, tokens: int, position: Tensor) -> Tensor | None:
        """The bias of the scores; None for a plain causal mask."""
        if tokens > 1:
            if self.shape.positions != "alibi" and (self.shape.window or tokens) >= tokens:
                return None
            seen = self.numbers[:tokens]
            distance = seen[:, None] - seen
        else:
            seen = self.numbers
            distance = position.to(self.numbers.dtype) - seen
        hidden = distance < 0
        if self.shape.window is not None and self.shape.window < seen.shape[0]:
            hidden = hidden | (distance >= self.shape.window)
        bias = hidden.to(self.embedding.dtype) * _LOWEST
        if self.shape.positions == "alibi":
            return bias + self.slopes * seen.to(bias.dtype)
        return bias.expand(1, 1, 1 if tokens == 1 else tokens, seen.shape[0])

    def operations(self, tokens: int, seen: float) -> float:
        """Operations of the products for `tokens` of one sequence, each attending to `seen`."""
        weights = sum(
            module.weight.numel()
            for module in self.layers.modules()
            if isinstance(getattr(module, "weight", None), Tensor) and module.weight.dim() == 2
        )
        heads = sum(module.heads for module in self.modules() if isinstance(module, Attention))
        attended = 2 * heads * self.shape.head_width * seen
        return 2.0 * (tokens * (weights + attended) + self.head.weight.numel())

    def forward(self, words: Tensor, position: Tensor) -> Tensor:
        """The logits after the last of `words` [B, T] (int64), [ranks * B, vocabulary / ranks].

        T == 1: the word at `position` [1] (int64) of every sequence; T > 1: the first T words.
        """
        tokens = words.shape[1]
        x = functional.embedding(words, self.embedding)
        turn = None
        if self.shape.positions == "learned":
            x = x + (self.places[:tokens] if tokens > 1 else self.places.index_select(0, position))
        if self.shape.positions == "rotary":
            tables = self.cosines, self.sines
            chosen = [t[:tokens] if tokens > 1 else t.index_select(0, position) for t in tables]
            turn = chosen[0], chosen[1]
        bias = self._bias(tokens, position)
        for layer in self.layers:
            x = layer(x, turn, bias, position)
        logits = self.head(self.last_norm(x[:, -1]))
        return collectives.all_gather_tensor(logits, 0, self.group) if self.group else logits
