"""The small models that the row `models` measures: random weights, fp32, one input each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from speed.sizes import Sizes

Inputs = Mapping[str, Tensor]
VOCABULARY = 1000


@dataclass(frozen=True)
class Small:
    """A model type of `transformers` with the arguments of its configuration."""

    kind: str
    inputs: str
    """Key of INPUTS."""
    options: Mapping[str, Any]


_COMMON = {
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
_TOKENS = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_GROUPED = {"num_key_value_heads": 2}
_BOTH = {
    **_TOKENS,
    "d_model": 128,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_ffn_dim": 256,
    "decoder_ffn_dim": 256,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "decoder_start_token_id": 0,
}
_SOUND = {"conv_dim": [64] * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}


def _text(*kinds: str, **options: Any) -> list[Small]:
    return [Small(kind, "tokens", {**_COMMON, **_TOKENS, **options}) for kind in kinds]


def _image(*kinds: str, **options: Any) -> list[Small]:
    return [Small(kind, "image", {"image_size": 64, **options}) for kind in kinds]


SMALL = [
    *_text("bert", "roberta", "albert", "electra", "mpnet", "xlm-roberta", "layoutlm"),
    *_text("deberta-v2", relative_attention=True, pos_att_type=["p2c", "c2p"]),
    *_text("distilbert", dim=128, hidden_dim=256, n_layers=2, n_heads=4),
    *_text("gpt2", "gptj", n_embd=128, n_layer=2, n_head=4, rotary_dim=16),
    *_text("gpt_neo", num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]]),
    *_text("opt", ffn_dim=256, word_embed_proj_dim=128),
    *_text("bloom", n_layer=2, n_head=4),
    *_text("gpt_neox", "phi", "falcon", "modernbert"),
    *_text("llama", "mistral", "qwen2", "stablelm", "olmo2", "cohere", "granite", **_GROUPED),
    *_text("qwen3", "gemma", "gemma2", "glm", "smollm3", "starcoder2", head_dim=32, **_GROUPED),
    Small("t5", "both", {"d_model": 128, "d_ff": 256, "d_kv": 32, "num_layers": 2, "num_heads": 4}),
    *(Small(kind, "both", _BOTH) for kind in ("bart", "marian", "pegasus")),
    *_image("vit", "deit", "dinov2", "clip_vision_model", "siglip_vision_model", **_COMMON),
    *_image("beit", use_relative_position_bias=True, **_COMMON),
    *_image("swin", depths=[1, 1], num_heads=[2, 4], embed_dim=32, window_size=4),
    *_image("convnext", "resnet", depths=[1] * 4, hidden_sizes=[16, 32, 64, 128]),
    *_image("mobilenet_v2", depth_multiplier=0.5),
    *_image("segformer", depths=[1] * 4, hidden_sizes=[16, 32, 64, 64]),
    *(Small(kind, "sound", {**_COMMON, **_SOUND}) for kind in ("wav2vec2", "hubert")),
]


def tokens() -> Tensor:
    """Random tokens [1, 64]."""
    return torch.randint(3, VOCABULARY, (1, 64), generator=torch.Generator().manual_seed(1))


def normal(*shape: int) -> Tensor:
    """Random numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


INPUTS: Mapping[str, Callable[[], dict[str, Tensor]]] = {
    "tokens": lambda: {"input_ids": tokens()},
    "both": lambda: {"input_ids": tokens(), "decoder_input_ids": tokens()},
    "image": lambda: {"pixel_values": normal(1, 3, 64, 64)},
    "sound": lambda: {"input_values": normal(1, 4000)},
}


def _of_transformers(small: Small) -> nn.Module:
    # It takes seconds, and no other row needs it.
    import transformers

    config = transformers.AutoConfig.for_model(small.kind, **small.options)
    model: nn.Module = transformers.AutoModel.from_config(config)
    return model


def _convolution(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.SiLU())


class Detector(nn.Module):
    """Strided convolutions, then three chained 5 x 5 maxima beside their input, as in YOLO."""

    def __init__(self) -> None:
        super().__init__()
        widths = ((3, 32), (32, 64), (64, 128))
        self.body = nn.Sequential(*(_convolution(*pair, stride=2) for pair in widths))
        self.head = nn.Conv2d(4 * 128, 85, 1)

    def forward(self, x: Tensor) -> Tensor:
        levels = [self.body(x)]
        for _ in range(3):
            levels.append(nn.functional.max_pool2d(levels[-1], 5, 1, 2))
        return self.head(torch.cat(levels, 1))


class Residual(nn.Module):
    """Two convolutions beside their input."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            _convolution(channels, channels), _convolution(channels, channels)
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


class Recommender(nn.Module):
    """Bags of embeddings, their products with each other, and a small head, as DLRM has them."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(500, 32) for _ in range(4))
        self.head = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        bags = torch.stack([table(x).mean(1) for table in self.tables], 1)
        return self.head((bags @ bags.transpose(1, 2)).flatten(1))


class Recurrent(nn.Module):
    """Embedded tokens through two recurrent layers."""

    def __init__(self, layer: type[nn.RNNBase]) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 128)
        self.layers = layer(128, 128, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(self.embedding(x))[0]


def perceptron() -> nn.Module:
    """Three linear layers."""
    layers = [nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 10)]
    return nn.Sequential(*layers)


def _autoencoder() -> nn.Module:
    down = [_convolution(3, 16, 2), _convolution(16, 32, 2)]
    up = [nn.ConvTranspose2d(32, 16, 2, 2), nn.ReLU(), nn.ConvTranspose2d(16, 3, 2, 2), nn.Tanh()]
    return nn.Sequential(*down, *up)


def _temporal() -> nn.Module:
    layers = [nn.Conv1d(16, 16, 3, padding=2**i, dilation=2**i) for i in range(4)]
    return nn.Sequential(*(each for layer in layers for each in (layer, nn.ReLU())))


BUILT: Mapping[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "perceptron": (perceptron, lambda: normal(32, 128)),
    "autoencoder": (_autoencoder, lambda: normal(1, 3, 64, 64)),
    "temporal": (_temporal, lambda: normal(4, 16, 128)),
    "detector": (Detector, lambda: normal(1, 3, 96, 96)),
    "recommender": (Recommender, lambda: tokens().reshape(8, 8) % 500),
    "lstm": (lambda: Recurrent(nn.LSTM), tokens),
    "gru": (lambda: Recurrent(nn.GRU), tokens),
}
"""Networks of torch.nn alone, with their input."""


def built(name: str) -> tuple[str, nn.Module, Inputs]:
    """One of BUILT with its inputs, which its `forward` calls `x` or `input`."""
    build, inputs = BUILT[name]
    torch.manual_seed(0)
    network = build().eval()
    argument = "input" if isinstance(network, nn.Sequential) else "x"
    return name, network, {argument: inputs()}


def models(sizes: Sizes) -> Iterator[tuple[str, nn.Module, Inputs]]:
    """Each with its name and inputs, on the host; the first ones where `sizes` limits them."""
    for name in list(BUILT)[: sizes.models]:
        yield built(name)
    for small in SMALL[: sizes.models]:
        torch.manual_seed(0)
        yield small.kind, _of_transformers(small).eval(), INPUTS[small.inputs]()
