"""Networks without a configuration class in `transformers`, built from torch.nn modules only."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional


def _two_convolutions(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1), nn.GroupNorm(8, outputs), nn.SiLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Images [N, 3, H, W] to images of the same shape; H and W are multiples of 4.

    Two levels down (a maximum, an average), two levels up (a transposed convolution, the nearest
    neighbours), joined by concatenation.
    """

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.down1 = _two_convolutions(3, width)
        self.down2 = _two_convolutions(width, 2 * width)
        self.bottom = _two_convolutions(2 * width, 2 * width)
        self.enlarge = nn.ConvTranspose2d(2 * width, 2 * width, 2, 2)
        self.up2 = _two_convolutions(4 * width, width)
        self.up1 = _two_convolutions(2 * width, width)
        self.output = nn.Conv2d(width, 3, 1)

    def forward(self, images: Tensor) -> Tensor:
        """[N, 3, H, W]."""
        fine = self.down1(images)
        coarse = self.down2(functional.max_pool2d(fine, 2))
        x = self.enlarge(self.bottom(functional.avg_pool2d(coarse, 2)))
        x = self.up2(torch.cat([x, coarse], 1))
        x = functional.interpolate(x, scale_factor=2, mode="nearest")
        return self.output(self.up1(torch.cat([x, fine], 1)))


class LstmLanguageModel(nn.Module):
    """Tokens [N, T] to logits [N, T, vocabulary]: an embedding, an LSTM, a linear layer."""

    def __init__(self, vocabulary: int = 100, width: int = 128, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width // 2)
        self.lstm = nn.LSTM(width // 2, width, layers, batch_first=True)
        self.output = nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits [N, T, vocabulary]."""
        return self.output(self.lstm(self.embedding(tokens))[0])


class DigitsNetwork(nn.Sequential):
    """Logits [N, 10] of images [N, 1, 8, 8]: two convolutions with batch normalisation and max
    pooling, then two linear layers.

    The convolutions have no bias: the normalisation cancels it, so that its gradient is only
    rounding error, which Adam would amplify and maxima of equal numbers would follow.
    """

    def __init__(self) -> None:
        layers: list[nn.Module] = []
        for inputs, outputs in ((1, 16), (16, 32)):
            convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)]
        layers += [nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)]
        super().__init__(*layers)
