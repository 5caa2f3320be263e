"""The published models at full size, with random weights: times depend on shapes alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import transformers
from torch import Tensor, nn

VOCABULARY = 30000


def _two_convolutions(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Images [N, 3, H, W] to masks [N, 2, H, W]: 64 to 1024 channels, four levels down by maxima
    and up by transposed convolutions (Ronneberger et al., 2015, with padding and normalisation).
    """

    def __init__(self) -> None:
        super().__init__()
        widths = (64, 128, 256, 512, 1024)
        self.first = _two_convolutions(3, widths[0])
        pairs = list(zip(widths[:-1], widths[1:], strict=True))
        self.down = nn.ModuleList(_two_convolutions(fine, coarse) for fine, coarse in pairs)
        turned = pairs[::-1]
        self.enlarge = nn.ModuleList(nn.ConvTranspose2d(wide, fine, 2, 2) for fine, wide in turned)
        self.up = nn.ModuleList(_two_convolutions(wide, fine) for fine, wide in turned)
        self.last = nn.Conv2d(widths[0], 2, 1)

    def forward(self, images: Tensor) -> Tensor:
        """[N, 3, H, W]; H and W are multiples of 16."""
        levels = [self.first(images)]
        for down in self.down:
            levels.append(down(nn.functional.max_pool2d(levels[-1], 2)))
        x = levels.pop()
        for enlarge, up in zip(self.enlarge, self.up, strict=True):
            x = up(torch.cat([levels.pop(), enlarge(x)], 1))
        return self.last(x)


def vgg11() -> nn.Module:
    """Logits of images [N, 3, 224, 224] (Simonyan and Zisserman, 2014, configuration A)."""
    layers: list[nn.Module] = []
    channels = 3
    for stage in ((64,), (128,), (256, 256), (512, 512), (512, 512)):
        for width in stage:
            layers += [nn.Conv2d(channels, width, 3, padding=1), nn.ReLU()]
            channels = width
        layers.append(nn.MaxPool2d(2))
    layers.append(nn.Flatten())
    for inputs, outputs in ((512 * 7 * 7, 4096), (4096, 4096)):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(4096, 1000))


def _resnet(depths: list[int], widths: list[int], layer: str) -> nn.Module:
    configuration = transformers.ResNetConfig(
        depths=depths, hidden_sizes=widths, layer_type=layer, num_labels=1000
    )
    return transformers.ResNetForImageClassification(configuration)


def _albert() -> nn.Module:
    sizes = {"hidden_size": 768, "num_attention_heads": 12, "intermediate_size": 3072}
    return transformers.AlbertModel(transformers.AlbertConfig(**sizes))


def _images(batch: int) -> Tensor:
    return torch.randn(batch, 3, 224, 224)


def _tokens(batch: int) -> Tensor:
    return torch.randint(0, VOCABULARY, (batch, 128))


@dataclass(frozen=True)
class Network:
    """A published model."""

    family: str
    build: Callable[[], nn.Module]
    inputs: Callable[[int], Tensor]
    """Of a batch."""


NETWORKS = {
    "bert-base-uncased": Network(
        "encoder", lambda: transformers.BertModel(transformers.BertConfig()), _tokens
    ),
    "albert-base-v2": Network("encoder", _albert, _tokens),
    "vit-base-patch16-224": Network(
        "vision transformer",
        lambda: transformers.ViTForImageClassification(transformers.ViTConfig(num_labels=1000)),
        _images,
    ),
    "resnet18": Network(
        "convolutions", lambda: _resnet([2, 2, 2, 2], [64, 128, 256, 512], "basic"), _images
    ),
    "resnet50": Network(
        "convolutions", lambda: _resnet([3, 4, 6, 3], [256, 512, 1024, 2048], "bottleneck"), _images
    ),
    "vgg11": Network("convolutions", vgg11, _images),
    "UNet": Network("convolutions", UNet, _images),
}
