"""Networks for handwritten digits, written with the custom ops of neuron_sim.

Both networks are plain ``torch.nn.Module``s: they train on the CPU (where the ops run their oneDNN
references), move to the device with ``.to("neuron_sim")``, and can be scripted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

# E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, test set. UCI Machine Learning
# Repository, 1998, doi:10.24432/C50P49 (CC BY 4.0). A row holds 64 pixels in 0..16 and the digit.
DIGITS = Path(__file__).with_name("digits.csv.gz")
IMAGE_SIZE = 8
CLASSES = 10


@dataclass
class Digits:
    """1,797 images of 8 x 8 pixels in 0..1, split into training and test."""

    train_images: Tensor
    train_labels: Tensor
    test_images: Tensor
    test_labels: Tensor


def load_data(test_share: float = 0.25) -> Digits:
    """Images [N, 1, 8, 8] in 0..1 and their digits, a fixed random split."""
    rows = torch.from_numpy(np.loadtxt(DIGITS, dtype=np.int64, delimiter=","))
    images = rows[:, :-1].float().div(16).reshape(-1, 1, IMAGE_SIZE, IMAGE_SIZE)
    labels = rows[:, -1]
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(7))
    images, labels = images[order], labels[order]
    tests = int(len(labels) * test_share)
    return Digits(images[tests:], labels[tests:], images[:tests], labels[:tests])


def _weight(*shape: int, inputs: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(shape) * (2.0 / inputs) ** 0.5)


class DigitsFeedForward(nn.Module):
    """64 -> 96 -> 48 -> 10, ReLU between, softmax at the end: one program on the device."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [IMAGE_SIZE * IMAGE_SIZE, 96, 48, CLASSES]
        pairs = list(zip(sizes[:-1], sizes[1:], strict=True))
        self.weight0, self.weight1, self.weight2 = (_weight(i, o, inputs=i) for i, o in pairs)
        self.bias0, self.bias1, self.bias2 = (nn.Parameter(torch.zeros(o)) for _, o in pairs)

    def forward(self, images: Tensor) -> Tensor:
        """Class probabilities [N, 10] of images [N, 1, 8, 8]."""
        return torch.ops.neuron_sim.ffnn_forward(
            images.flatten(1),
            [self.weight0, self.weight1, self.weight2],
            [self.bias0, self.bias1, self.bias2],
        )

    @torch.jit.export
    def predict(self, images: Tensor) -> Tensor:
        """Class of each image, int64 [N]; the argmax runs on the device too."""
        return torch.ops.neuron_sim.ffnn_predict(
            images.flatten(1),
            [self.weight0, self.weight1, self.weight2],
            [self.bias0, self.bias1, self.bias2],
        )


class DigitsCnn(nn.Module):
    """Two convolutions with bias, ReLU and max-pool in one kernel each, then a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.weight0 = _weight(16, 1, 3, 3, inputs=9)
        self.bias0 = nn.Parameter(torch.zeros(16))
        self.weight1 = _weight(32, 16, 3, 3, inputs=144)
        self.bias1 = nn.Parameter(torch.zeros(32))
        self.weight2 = _weight(128, CLASSES, inputs=128)
        self.bias2 = nn.Parameter(torch.zeros(CLASSES))

    def forward(self, images: Tensor) -> Tensor:
        """Logits [N, 10] of images [N, 1, 8, 8]."""
        x = torch.ops.neuron_sim.conv2d_maxpool(
            images, self.weight0, self.bias0, 2, padding=[1, 1], activation="relu"
        )
        x = torch.ops.neuron_sim.conv2d_maxpool(
            x, self.weight1, self.bias1, 2, padding=[1, 1], activation="relu"
        )
        x = torch.ops.neuron_sim.matmul(x.flatten(1), self.weight2)
        return torch.ops.neuron_sim.bias_add_activation(x, self.bias2, "identity")


def train(model: nn.Module, data: Digits, epochs: int, probabilities: bool) -> float:
    """Trains on the CPU; returns the last mean loss. `probabilities`: the model ends in a softmax,
    so the loss takes its logarithm.

    Gradient descent with momentum is written out: torch.optim imports the compiler, for seconds.
    """
    parameters = list(model.parameters())
    velocities = [torch.zeros_like(parameter) for parameter in parameters]
    generator = torch.Generator().manual_seed(11)
    loss_sum = 0.0
    for _ in range(epochs):
        order = torch.randperm(len(data.train_labels), generator=generator)
        loss_sum = 0.0
        for batch in order.split(128):
            output = model(data.train_images[batch])
            if probabilities:
                output = output.clamp_min(1e-9).log()
                loss = nn.functional.nll_loss(output, data.train_labels[batch])
            else:
                loss = nn.functional.cross_entropy(output, data.train_labels[batch])
            gradients = torch.autograd.grad(loss, parameters)
            for velocity, gradient in zip(velocities, gradients, strict=True):
                velocity.mul_(0.9).add_(gradient)
            with torch.no_grad():
                for parameter, velocity in zip(parameters, velocities, strict=True):
                    parameter.sub_(velocity, alpha=0.05)
            loss_sum += float(loss.detach()) * len(batch)
    return loss_sum / len(data.train_labels)


class TestSet(nn.Module):
    """Images and labels as buffers, so that a C++ program can load them with torch::jit::load."""

    def __init__(self, data: Digits) -> None:
        super().__init__()
        self.register_buffer("images", data.test_images)
        self.register_buffer("labels", data.test_labels)

    def forward(self) -> Tensor:
        """The images."""
        return self.images


def accuracy(predictions: Tensor, labels: Tensor) -> float:
    """Share of equal entries, in percent."""
    return 100.0 * float((predictions.cpu() == labels.cpu()).float().mean())
