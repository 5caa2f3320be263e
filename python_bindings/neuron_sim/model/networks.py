"""Networks of published measurements that have no configuration class in `transformers`."""

from __future__ import annotations

import torch
from torch import Tensor, nn

_VGG11 = (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0)
"""Channels of each 3 x 3 convolution; 0: a maximum over 2 x 2. Simonyan and Zisserman 2014,
configuration A."""


def vgg11(classes: int = 1000) -> nn.Module:
    """VGG-11 without batch normalisation: images [N, 3, 224, 224] to logits [N, classes]."""
    layers: list[nn.Module] = []
    channels = 3
    for outputs in _VGG11:
        if outputs:
            layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.ReLU()]
            channels = outputs
        else:
            layers.append(nn.MaxPool2d(2))
    layers += [nn.AdaptiveAvgPool2d(7), nn.Flatten()]
    for inputs, outputs in ((channels * 7 * 7, 4096), (4096, 4096)):
        layers += [nn.Linear(inputs, outputs), nn.ReLU(), nn.Dropout()]
    return nn.Sequential(*layers, nn.Linear(4096, classes))


def _two_convolutions(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [
            nn.Conv2d(channels, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
        ]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """The U-Net of Ronneberger et al. 2015 with padded convolutions and batch normalisation:
    images [N, 3, H, W] to logits [N, classes, H, W]; H and W are multiples of 16."""

    def __init__(self, classes: int = 2, width: int = 64) -> None:
        super().__init__()
        widths = [width << level for level in range(5)]
        self.input = _two_convolutions(3, width)
        self.down = nn.ModuleList(map(_two_convolutions, widths[:-1], widths[1:]))
        self.enlarge = nn.ModuleList(
            nn.ConvTranspose2d(wide, narrow, 2, 2)
            for narrow, wide in zip(widths[-2::-1], widths[:0:-1], strict=True)
        )
        self.up = nn.ModuleList(map(_two_convolutions, widths[:0:-1], widths[-2::-1]))
        self.output = nn.Conv2d(width, classes, 1)

    def forward(self, images: Tensor) -> Tensor:
        """[N, classes, H, W]."""
        levels = [self.input(images)]
        for down in self.down:
            levels.append(down(nn.functional.max_pool2d(levels[-1], 2)))
        x = levels.pop()
        for enlarge, up in zip(self.enlarge, self.up, strict=True):
            x = up(torch.cat([levels.pop(), enlarge(x)], 1))
        return self.output(x)


NETWORKS = {"unet": UNet, "vgg11": vgg11}
"""Names of networks and the functions that build them."""
IMAGE_SIZE = 224
"""Height and width of their images, where none is given."""
