"""ResNet-18 and ResNet-50 from their configuration, with random weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BLOCKS = {18: (2, 2, 2, 2), 50: (3, 4, 6, 3)}
"""Blocks per stage; depth 50 has bottlenecks."""
STAGES = (64, 128, 256, 512)


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """A convolution without bias and its normalisation."""
    padding = kernel // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False), nn.BatchNorm2d(outputs)
    )


class Block(nn.Module):
    """Convolutions and a shortcut: two of 3 x 3, or 1 x 1, 3 x 3 and 1 x 1 (a bottleneck)."""

    def __init__(self, inputs: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        outputs = 4 * width if bottleneck else width
        relu = nn.ReLU()
        if bottleneck:
            self.path = nn.Sequential(
                *(_convolution(inputs, width, 1), relu),
                *(_convolution(width, width, 3, stride), relu),
                _convolution(width, outputs, 1),
            )
        else:
            self.path = nn.Sequential(
                *(_convolution(inputs, width, 3, stride), relu), _convolution(width, outputs, 3)
            )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else _convolution(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        """[N, outputs, H / stride, W / stride] from [N, inputs, H, W]."""
        return torch.relu(self.path(x) + self.shortcut(x))


class ResNet(nn.Module):
    """Images [N, 3, H, W] to logits [N, classes]."""

    def __init__(self, depth: int = 18, classes: int = 1000) -> None:
        super().__init__()
        bottleneck = depth >= 50
        self.stem = nn.Sequential(_convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        stages: list[nn.Module] = []
        inputs = 64
        for stage, (width, blocks) in enumerate(zip(STAGES, BLOCKS[depth], strict=True)):
            for block in range(blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                stages.append(Block(inputs, width, stride, bottleneck))
                inputs = 4 * width if bottleneck else width
        self.stages = nn.Sequential(*stages)
        self.classifier = nn.Linear(inputs, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Logits [N, classes]."""
        return self.classifier(self.stages(self.stem(images)).mean((2, 3)))


def random_resnet(depth: int = 18, classes: int = 1000, seed: int = 0) -> ResNet:
    """A network in eval mode whose normalisations have the statistics of random images, so that
    its activations are neither tiny nor huge."""
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        model = ResNet(depth, classes)
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.momentum = None  # the mean over all batches, here one
        model(torch.randn(4, 3, 64, 64))
    return model.eval()
