"""Training on the device, in strict mode, step by step alongside the same training on the CPU."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from digits import Digits, accuracy, load_data
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from zoo.catalogue import gpt2, seeded
from zoo.forward import DEVICE, Account, account_for
from zoo.networks import DigitsNetwork

COMPARED_STEPS = 100
STEP_LIMIT = 1e-3
"""Relative difference of the losses at each of the compared steps."""
FINAL_LIMIT = 0.02
"""Relative difference of the last losses (the mean of the last ten steps)."""
ACCURACY_LIMIT = 97.0
"""Percent of the test images that the digits network must classify correctly."""
TEXT = Path(__file__).resolve().parents[2] / "LICENSE"
"""The training text of the character-level network."""

Batches = list[tuple[Tensor, Tensor]]


@dataclass
class Training:
    """Losses of every step, and the cost of the device's steps."""

    on_device: list[float]
    on_cpu: list[float]
    account: Account
    accuracy: float | None = None
    """On the device, in percent of the test images."""

    @property
    def largest_difference(self) -> float:
        """The largest difference of the losses of the compared steps, relative to the CPU's."""
        pairs = zip(self.on_device, self.on_cpu, strict=True)
        return max(abs(ours - cpu) / cpu for ours, cpu in list(pairs)[:COMPARED_STEPS])

    @property
    def final_losses(self) -> tuple[float, float]:
        """Means of the last ten steps: the device's and the CPU's."""
        return sum(self.on_device[-10:]) / 10, sum(self.on_cpu[-10:]) / 10

    @property
    def final_difference(self) -> float:
        """The difference of the final losses, relative to the CPU's."""
        ours, cpu = self.final_losses
        return abs(ours - cpu) / cpu

    def problem(self) -> str | None:
        """The problem, None if there is none."""
        if self.account.fallbacks:
            return f"falls back to the CPU: {self.account.fallbacks}"
        if not self.largest_difference <= STEP_LIMIT:
            return f"a loss differs by {self.largest_difference:.1e}, more than {STEP_LIMIT}"
        if not self.final_difference <= FINAL_LIMIT:
            return f"the final loss differs by {self.final_difference:.1e}, more than {FINAL_LIMIT}"
        if self.accuracy is not None and self.accuracy <= ACCURACY_LIMIT:
            return f"{self.accuracy:.2f} % of the test images are known, not {ACCURACY_LIMIT}"
        return None


def _train(network: nn.Module, batches: Batches, learning_rate: float, device: str) -> list[float]:
    """The losses of one step of AdamW for each batch.

    Its epsilon keeps gradients that are mere rounding (1e-8) from becoming whole steps, which would
    make any two computers diverge.
    """
    optimizer = torch.optim.AdamW(network.parameters(), lr=learning_rate, eps=1e-4)
    losses = []
    for inputs, labels in batches:
        output = network(inputs.to(device))
        logits = output if isinstance(output, Tensor) else output.logits
        loss = cross_entropy(logits.flatten(0, -2), labels.to(device).flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [float(loss) for loss in losses]


def train(network: nn.Module, batches: Batches, learning_rate: float) -> tuple[nn.Module, Training]:
    """Trains `network` on the device and a copy of it on the CPU: (the former, the losses)."""
    network.train()
    on_device = copy.deepcopy(network).to(DEVICE)
    cpu_losses = _train(network, batches, learning_rate, "cpu")
    losses, account = account_for(lambda: _train(on_device, batches, learning_rate, DEVICE))
    return on_device, Training(losses, cpu_losses, account)


def digits_batches(data: Digits, steps: int, size: int = 64) -> Batches:
    """Images and labels of `steps` batches, every epoch in a different order."""
    generator = torch.Generator().manual_seed(11)

    def endless() -> Iterator[Tensor]:
        while True:
            order = torch.randperm(len(data.train_labels), generator=generator)
            yield from order[: len(order) // size * size].split(size)

    chosen = [batch for batch, _ in zip(endless(), range(steps), strict=False)]
    return [(data.train_images[batch], data.train_labels[batch]) for batch in chosen]


def train_digits(steps: int = 210, learning_rate: float = 3e-3) -> Training:
    """A network of convolutions learns handwritten digits."""
    data = load_data()
    batches = digits_batches(data, steps)
    network, training = train(seeded(DigitsNetwork), batches, learning_rate)
    network.eval()
    with torch.no_grad(), torch.neuron_sim.strict():
        found = network(data.test_images.to(DEVICE)).argmax(1)
    training.accuracy = accuracy(found, data.test_labels)
    return training


def text_batches(steps: int, size: int, length: int) -> tuple[Batches, int]:
    """Batches of characters and the next ones [size, length], and the vocabulary."""
    text = TEXT.read_text()
    alphabet = {character: token for token, character in enumerate(sorted(set(text)))}
    encoded = torch.tensor([alphabet[character] for character in text])
    generator = torch.Generator().manual_seed(5)
    batches = []
    for _ in range(steps):
        starts = torch.randint(len(text) - length, (size, 1), generator=generator)
        rows = encoded[starts + torch.arange(length + 1)]
        batches.append((rows[:, :-1].contiguous(), rows[:, 1:].contiguous()))
    return batches, len(alphabet)


def train_characters(
    steps: int = 300, size: int = 8, length: int = 48, learning_rate: float = 2e-3
) -> Training:
    """A small GPT-2 learns the characters of this repository's licence."""
    batches, vocabulary = text_batches(steps, size, length)
    without_dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    network = gpt2(64, 2, 4, vocabulary, n_positions=length, **without_dropout)
    return train(network, batches, learning_rate)[1]
