"""The networks of docs/models.md: how each is built, and inputs for it. All seeds are fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from resnet import random_resnet
from torch import Tensor, nn

from zoo.networks import LstmLanguageModel, UNet

VOCABULARY = 5000


@dataclass(frozen=True)
class Model:
    """A network with random weights."""

    name: str
    configuration: str
    """Its size, as text."""
    build: Callable[[], nn.Module]
    """In eval mode, float32, on the CPU; the same numbers at every call."""
    inputs: Callable[[], tuple[Tensor, ...]]


def seeded(build: Callable[..., Any], *arguments: Any, seed: int = 0) -> Any:
    """`build(*arguments)` with random numbers that do not depend on what ran before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build(*arguments)


def tokens(batch: int, length: int, vocabulary: int = VOCABULARY) -> tuple[Tensor]:
    """Random tokens [batch, length]."""
    return (seeded(torch.randint, 0, vocabulary, (batch, length), seed=1),)


def images(batch: int, size: int) -> tuple[Tensor]:
    """Random images [batch, 3, size, size]."""
    return (seeded(torch.randn, batch, 3, size, size, seed=1),)


def _evaluated(build: Callable[..., nn.Module], *arguments: Any) -> nn.Module:
    return seeded(build, *arguments).eval()


def _transformer(width: int, layers: int, heads: int) -> dict[str, int]:
    """The arguments that the configurations of encoders share."""
    return {
        "hidden_size": width,
        "intermediate_size": 2 * width,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
    }


def vit(width: int = 192, layers: int = 4, heads: int = 6, size: int = 96) -> nn.Module:
    """A vision transformer with patches of 16 x 16."""
    config = transformers.ViTConfig(**_transformer(width, layers, heads), image_size=size)
    return _evaluated(transformers.ViTForImageClassification, config)


def gpt2(
    width: int = 256, layers: int = 4, heads: int = 8, vocabulary: int = VOCABULARY, **options: Any
) -> nn.Module:
    """GPT-2 with its language-model head; dropout as in its configuration (`options`)."""
    config = transformers.GPT2Config(
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        vocab_size=vocabulary,
        bos_token_id=None,
        eos_token_id=None,
        **options,
    )
    return _evaluated(transformers.GPT2LMHeadModel, config)


def llama(
    width: int = 256, layers: int = 4, heads: int = 8, vocabulary: int = VOCABULARY
) -> nn.Module:
    """Llama: RMSNorm, rotary positions, gated linear units, four query heads per key head."""
    config = transformers.LlamaConfig(
        **_transformer(width, layers, heads),
        num_key_value_heads=heads // 4,
        vocab_size=vocabulary,
        bos_token_id=None,
        eos_token_id=None,
    )
    return _evaluated(transformers.LlamaForCausalLM, config)


def bert(width: int = 256, layers: int = 4, heads: int = 8) -> nn.Module:
    """A BERT encoder with its pooler."""
    config = transformers.BertConfig(**_transformer(width, layers, heads), vocab_size=VOCABULARY)
    return _evaluated(transformers.BertModel, config)


def mobilenet_v2(size: int = 96) -> nn.Module:
    """MobileNetV2: inverted residuals with depthwise convolutions.

    Its normalisations have the statistics of random images, as in a trained network.
    """
    config = transformers.MobileNetV2Config(image_size=size)
    model = seeded(transformers.MobileNetV2ForImageClassification, config).train()
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the mean over all batches, here one
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        model(seeded(torch.randn, 4, 3, size, size, seed=2))
    return model.eval()


CATALOGUE = [
    Model("ResNet-18", "64 x 64 pixels", lambda: random_resnet(18), lambda: images(1, 64)),
    Model("ResNet-50", "64 x 64 pixels", lambda: random_resnet(50), lambda: images(1, 64)),
    Model("ViT", "width 192, 4 layers, 2 x 96 x 96 pixels", vit, lambda: images(2, 96)),
    Model("GPT-2", "width 256, 4 layers, 2 x 64 tokens", gpt2, lambda: tokens(2, 64)),
    Model("Llama", "width 256, 4 layers, 2 x 64 tokens", llama, lambda: tokens(2, 64)),
    Model("BERT", "width 256, 4 layers, 2 x 64 tokens", bert, lambda: tokens(2, 64)),
    Model("MobileNetV2", "96 x 96 pixels", mobilenet_v2, lambda: images(1, 96)),
    Model("U-Net", "width 32, 64 x 64 pixels", lambda: _evaluated(UNet), lambda: images(1, 64)),
    Model(
        "LSTM",
        "width 128, 2 layers, 4 x 16 tokens",
        lambda: _evaluated(LstmLanguageModel),
        lambda: tokens(4, 16, 100),
    ),
]
