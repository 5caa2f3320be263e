"""CTC, distances of pairs, margins: values and gradients against float64."""

import pytest
import torch
from against_cpu import DEVICE, check
from torch.nn import functional


def ctc(targets, steps, lengths, **options):
    def loss(scores):
        there = targets.to(scores.device)
        return functional.ctc_loss(scores.log_softmax(-1), there, steps, lengths, **options)

    return loss


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_ctc_of_padded_targets(reduction):
    targets = torch.tensor([[1, 2, 2, 5], [3, 3, 3, 0], [4, 0, 0, 0]])
    steps, lengths = (12, 9, 7), (4, 3, 1)
    check(ctc(targets, steps, lengths, reduction=reduction), torch.randn(12, 3, 6))
    check(ctc(targets.int(), steps, lengths, blank=6), torch.randn(12, 3, 7))


def test_ctc_of_joined_targets_and_one_sequence():
    joined, steps, lengths = torch.tensor([1, 2, 3, 1, 1]), (8, 8), (3, 2)
    check(ctc(joined, steps, lengths), torch.randn(8, 2, 4))
    check(ctc(joined, torch.tensor(steps), torch.tensor(lengths)), torch.randn(8, 2, 4))
    check(ctc(torch.tensor([2, 2]), torch.tensor(5), torch.tensor(2)), torch.randn(5, 4))
    check(ctc(torch.tensor([[1, 1]]), (6,), (0,)), torch.randn(6, 1, 3))


def test_ctc_of_a_target_that_does_not_fit():
    targets, steps, lengths = torch.tensor([[1, 1, 1], [1, 2, 3]]), (4, 4), (3, 3)
    scores = torch.randn(4, 2, 5)
    found = ctc(targets, steps, lengths, reduction="none")(scores.to(DEVICE))
    assert found.cpu()[0].item() == float("inf")
    check(ctc(targets, steps, lengths, zero_infinity=True), scores)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
def test_distances_of_pairs_have_gradients(order):
    a, b = torch.randn(2, 5, 4), torch.randn(2, 7, 4)
    b[0, 0] = a[0, 0]
    check(lambda x, y: torch.cdist(x, y, order), a, b)
    check(lambda x, y: torch.cdist(x, y, order), torch.randn(3, 1), torch.randn(30, 1))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("order", [1, 2])
def test_margins_of_classes(order, reduction):
    target = torch.tensor([0, 3, 2, 4])

    def loss(x, t, w=None):
        return functional.multi_margin_loss(
            x, t, p=order, margin=0.7, weight=w, reduction=reduction
        )

    check(loss, torch.randn(4, 5), target)
    check(lambda x, t: loss(x, t, torch.arange(5).to(x) + 1), torch.randn(4, 5), target)
    check(loss, torch.randn(5), target[1])
