"""The operators of torch.nn.SyncBatchNorm: a batch in two shares is normalised as a whole one."""

import pytest
import torch
from against_cpu import DEVICE

EPSILON = 1e-3
SHAPES = [(6, 3), (5, 3, 7), (4, 3, 5, 6), (2, 3, 2, 3, 4)]


def shares(shape, dtype, memory_format=torch.contiguous_format):
    """A batch whose channels differ in mean and scale, in two shares of unequal size."""
    x = torch.randn(shape) * torch.tensor([0.5, 2.0, 30.0]).view(1, 3, *[1] * (len(shape) - 2))
    x = (x + 4).to(dtype).contiguous(memory_format=memory_format)
    return x, [x[:1].to(DEVICE), x[1:].to(DEVICE)]


def gathered(parts, running=(None, None), momentum=0.1):
    """Mean and inverse deviation of all shares, from those of each."""
    stats = [torch.batch_norm_stats(part, EPSILON) for part in parts]
    counts = torch.tensor([part.numel() / part.size(1) for part in parts], device=DEVICE)
    return torch.batch_norm_gather_stats_with_counts(
        parts[0], *(torch.stack(each) for each in zip(*stats, strict=True)), *running, momentum,
        EPSILON, counts,
    )  # fmt: skip


def close(ours, theirs, tolerance=1e-4):
    torch.testing.assert_close(ours.cpu().double(), theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_two_shares_are_normalised_as_one_batch(shape, dtype):
    x, parts = shares(shape, dtype)
    weight, bias = torch.rand(3) + 0.5, torch.randn(3)
    running = [torch.zeros(3, device=DEVICE), torch.ones(3, device=DEVICE)]
    oracle = torch.nn.BatchNorm1d(3, EPSILON, 0.3, dtype=torch.float64)
    with torch.no_grad():
        oracle.weight.copy_(weight), oracle.bias.copy_(bias)
    whole = x.double().reshape(shape[0], 3, -1).requires_grad_()
    expected = oracle(whole)
    mean, inverse = gathered(parts, running, 0.3)
    assert mean.dtype == inverse.dtype == torch.float32
    close(mean, whole.detach().mean((0, 2)))
    close(running[0], oracle.running_mean)
    close(running[1], oracle.running_var)
    vectors = [v.to(DEVICE) for v in (weight, bias)]
    found = [torch.batch_norm_elemt(part, *vectors, mean, inverse, EPSILON) for part in parts]
    assert all(f.dtype == dtype and f.shape == p.shape for f, p in zip(found, parts, strict=True))
    tolerance = 1e-4 if dtype == torch.float32 else 3e-2
    close(torch.cat(found).reshape(shape[0], 3, -1), expected.detach(), tolerance)
    incoming = torch.randn(shape).to(dtype)
    expected.backward(incoming.double().reshape(expected.shape))
    gradients = [incoming[:1].to(DEVICE), incoming[1:].to(DEVICE)]
    sums = [
        torch.batch_norm_backward_reduce(g, p, mean, inverse, vectors[0], True, True, True)
        for g, p in zip(gradients, parts, strict=True)
    ]
    total, slope, of_weight, of_bias = (sum(each) for each in zip(*sums, strict=True))
    close(of_weight, oracle.weight.grad, 1e-3)
    close(of_bias, oracle.bias.grad, 1e-3)
    counts = torch.tensor([p.numel() // 3 for p in parts], dtype=torch.int32, device=DEVICE)
    back = [
        torch.batch_norm_backward_elemt(g, p, mean, inverse, vectors[0], total, slope, counts)
        for g, p in zip(gradients, parts, strict=True)
    ]
    assert all(b.dtype == dtype for b in back)
    close(torch.cat(back).reshape(shape[0], 3, -1), whole.grad, 10 * tolerance)


def test_channels_last_stays_and_gives_the_same():
    x, parts = shares((4, 3, 5, 6), torch.float32, torch.channels_last)
    mean, inverse = torch.batch_norm_stats(parts[1], EPSILON)
    close(mean, x[1:].double().mean((0, 2, 3)))
    out = torch.batch_norm_elemt(parts[1], None, None, mean, inverse, EPSILON)
    assert out.is_contiguous(memory_format=torch.channels_last)


def test_gradients_that_nobody_asks_for_are_not_made():
    x = torch.randn(4, 3, device=DEVICE)
    mean, inverse = torch.batch_norm_stats(x, EPSILON)
    w = torch.ones(3, device=DEVICE)
    for weight, asked in ((w, (True, False, True)), (w, (False, True, False)), (None, (True,) * 3)):
        found = torch.batch_norm_backward_reduce(x, x, mean, inverse, weight, *asked)
        of_input, of_weight, of_bias = asked
        has = weight is not None
        expected = [of_input, of_input, has and of_weight, has and of_bias]
        assert [f is not None for f in found] == expected


def test_one_count_for_all_shares_is_the_same_as_a_count_each():
    x = torch.randn(8, 3)
    parts = [x[:4].to(DEVICE), x[4:].to(DEVICE)]
    means, inverses = (
        torch.stack(each)
        for each in zip(*(torch.batch_norm_stats(p, EPSILON) for p in parts), strict=True)
    )
    one = torch.batch_norm_gather_stats(parts[0], means, inverses, None, None, 0.1, EPSILON, 4)
    for found, expected in zip(one, gathered(parts), strict=True):
        assert torch.equal(found, expected)


def test_a_share_without_elements_changes_nothing():
    x, parts = shares((6, 3), torch.float32)
    mean, inverse = torch.batch_norm_stats(parts[1], EPSILON)
    empty = torch.zeros_like(mean), torch.ones_like(inverse)
    joint = torch.batch_norm_gather_stats_with_counts(
        parts[1], torch.stack([mean, empty[0]]), torch.stack([inverse, empty[1]]), None, None, 0.1,
        EPSILON, torch.tensor([5.0, 0.0], device=DEVICE),
    )  # fmt: skip
    close(joint[0], mean.cpu().double())
    close(joint[1], inverse.cpu().double())


def test_what_does_not_fit_is_named():
    x, three, two = (torch.ones(s, device=DEVICE) for s in ((4, 3), 3, 2))
    with pytest.raises(RuntimeError, match="weight should contain 3 elements not 2"):
        torch.batch_norm_elemt(x, two, None, three, three, EPSILON)
    with pytest.raises(RuntimeError, match="running_mean should contain 3 elements not 2"):
        torch.batch_norm_elemt(x, three, None, two, three, EPSILON)
    with pytest.raises(RuntimeError, match=r"the gradient has sizes \[3\], the input \[4, 3\]"):
        torch.batch_norm_backward_reduce(three, x, three, three, None, True, True, True)
    with pytest.raises(RuntimeError, match=r"the means have sizes \[3\]"):
        torch.batch_norm_gather_stats_with_counts(
            x, three, three, None, None, 0.1, EPSILON, torch.ones(1, device=DEVICE)
        )
    with pytest.raises(NotImplementedError, match="there are no elements, and the CPU has no kern"):
        torch.batch_norm_stats(x[:0], EPSILON)
