"""The sizes and forms of a decoder of text, read from a configuration of `transformers`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

_GATED = ("llama", "mistral")
_PLAIN = ("bloom", "gpt2", "gpt_neox", "gptj", "opt")
MODEL_TYPES = (*_GATED, *_PLAIN)
"""The values of `model_type` that DecoderShape.of() takes."""


@dataclass(frozen=True)
class DecoderShape:
    """A decoder as one program of each rank computes it."""

    layers: int
    width: int
    """Elements of a token's hidden state."""
    heads: int
    key_heads: int
    """Heads of keys and values, each shared by heads / key_heads queries."""
    head_width: int
    inner: int
    """Width of the layers' MLP."""
    vocabulary: int
    positions: Literal["rotary", "learned", "alibi"]
    longest: int | None
    """Tokens for which there are learned positions; None: positions are computed."""
    rotated: int
    """Elements of a head that rotary positions turn."""
    gated: bool
    """Whether the MLP multiplies two projections (Llama) and has no biases."""
    activation: Literal["silu", "gelu", "gelu_tanh", "relu"]
    root_mean_square: bool
    """Whether normalisation subtracts no mean (RMSNorm)."""
    parallel: bool
    """Whether attention and MLP read the same state and are added, with one all-reduce."""
    attention_biases: bool
    window: int | None = None
    """Tokens that a query may look back, itself among them (Mistral's sliding window)."""
    layers_path: ClassVar[str] = "layers"
    """The module path of the layers."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """What tells layers apart, by layer: all are alike."""
        return ("layer",) * self.layers

    @staticmethod
    def of(config: Any, name: str) -> DecoderShape:
        """The shape of a configuration object of transformers. ValueError, with `name`, for a
        `model_type` that is not in MODEL_TYPES, and for sizes that do not fit each other."""
        kind = config.model_type
        if kind not in MODEL_TYPES:
            raise ValueError(
                f"'{name}' has the model_type '{kind}', which is not one that --tp and --context "
                f"can generate with: {', '.join(MODEL_TYPES)}."
            )
        heads = config.num_attention_heads
        if config.hidden_size % heads:
            raise ValueError(
                f"'{name}' has a hidden_size of {config.hidden_size}, which does not divide into "
                f"{heads} heads."
            )
        head_width = getattr(config, "head_dim", None) or config.hidden_size // heads
        shape = DecoderShape(
            layers=config.num_hidden_layers,
            width=config.hidden_size,
            heads=heads,
            key_heads=getattr(config, "num_key_value_heads", None) or heads,
            head_width=head_width,
            inner=_inner(config),
            vocabulary=config.vocab_size,
            positions=_positions(kind),
            longest=config.max_position_embeddings if _positions(kind) == "learned" else None,
            rotated=_rotated(config, head_width),
            gated=kind in _GATED,
            activation=_activation(config),
            root_mean_square=kind in _GATED,
            parallel=kind == "gptj" or bool(getattr(config, "use_parallel_residual", False)),
            attention_biases=kind in ("bloom", "gpt2", "gpt_neox", "opt"),
            window=getattr(config, "sliding_window", None),
        )
        shape._check(name)
        return shape

    def _check(self, name: str) -> None:
        """ValueError for sizes below one, and for key heads that do not share the heads evenly."""
        for size in ("layers", "width", "heads", "key_heads", "head_width", "inner", "vocabulary"):
            if getattr(self, size) < 1:
                what = size.replace("_", " ")
                raise ValueError(f"'{name}' has {getattr(self, size)} {what}; it must have some.")
        if self.heads % self.key_heads:
            raise ValueError(
                f"'{name}' has {self.heads} heads, which do not divide into those of its "
                f"{self.key_heads} key heads."
            )


def _inner(config: Any) -> int:
    for field in ("intermediate_size", "ffn_dim", "n_inner"):
        if getattr(config, field, None):
            return int(getattr(config, field))
    return 4 * int(config.hidden_size)


def _positions(kind: str) -> Literal["rotary", "learned", "alibi"]:
    if kind == "bloom":
        return "alibi"
    return "learned" if kind in ("gpt2", "opt") else "rotary"


def _rotated(config: Any, head_width: int) -> int:
    if getattr(config, "rotary_dim", None):
        return int(config.rotary_dim)
    parameters = getattr(config, "rope_parameters", None) or {}
    return int(head_width * parameters.get("partial_rotary_factor", 1))


def _activation(config: Any) -> Literal["silu", "gelu", "gelu_tanh", "relu"]:
    name = getattr(config, "hidden_act", None) or getattr(config, "activation_function", None)
    if name in ("gelu_new", "gelu_pytorch_tanh", "gelu_fast", None):
        return "gelu_tanh"
    if name not in ("silu", "gelu", "relu"):
        raise ValueError(f"the activation '{name}' of a decoder is not one of silu, gelu, relu.")
    return name
