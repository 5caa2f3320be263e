"""torchvision.datasets: ten random images, one for each digit, each drawn many times with noise."""

import types

import torch

IMAGES = 320


class MNIST(torch.utils.data.Dataset):
    """`IMAGES` pairs of an image [1, 28, 28] in 0 to 1 and its digit; nothing is downloaded."""

    def __init__(self, root, train=True, transform=None, target_transform=None, download=False):
        digits = torch.rand(10, 1, 28, 28, generator=torch.Generator().manual_seed(0))
        drawn = torch.Generator().manual_seed(1 + train)
        self._labels = torch.randint(10, (IMAGES,), generator=drawn)
        noise = torch.rand(IMAGES, 1, 28, 28, generator=drawn)
        self._images = 0.9 * digits[self._labels] + 0.1 * noise

    def __len__(self):
        return IMAGES

    def __getitem__(self, index):
        return self._images[index], int(self._labels[index])


mnist = types.SimpleNamespace(MNIST=MNIST)
