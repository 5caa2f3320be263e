"""Copies, casts, concatenation, indexing, and losses that are made of them."""

import pytest
import torch
from against_cpu import DEVICE, check
from torch.nn import functional

DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.int16, torch.int8,
          torch.uint8, torch.bool]  # fmt: skip


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", DTYPES)
def test_casts_are_those_of_torch(source, target):
    values = torch.tensor([0, 1, 2.5, 3.99, 100, 17.25, 0.25, 77.5] * 9)
    check(lambda t: t.to(target), values.to(source), gradients=False)


def test_negative_floats_lose_their_fraction():
    check(lambda t: t.int(), torch.tensor([-0.5, -1.5, -2.99, -3.0, -1e6]), gradients=False)


def test_layouts_are_changed_on_the_device():
    x = torch.randn(3, 40, 50)
    with torch.neuron_sim.record_launches() as launches:
        check(lambda t: t.permute(2, 0, 1).contiguous(), x, gradients=False)
        check(lambda t: t[:, 1::3].clone(), x, gradients=False)
        check(
            lambda t: t.to(memory_format=torch.channels_last),
            torch.randn(2, 3, 4, 5),
            gradients=False,
        )
    assert {launch.name for launch in launches} == {"copy"}
    check(lambda t: t.repeat(2, 1, 3), x)
    check(lambda t: functional.pad(t, (1, 2, 3, 0)), x)


def test_int64_and_complex_are_copied_bit_by_bit():
    x = torch.randint(-(2**62), 2**62, (7, 9))
    assert torch.equal(x.to(DEVICE).t().contiguous().cpu(), x.t())


def test_tensors_are_concatenated_and_stacked():
    parts = [torch.randn(3, n, 5) for n in (1, 4, 2)]
    check(lambda *t: torch.cat(t, 1), *parts)
    check(lambda *t: torch.cat([*t, torch.empty(0, device=t[0].device)], -2), *parts)
    check(lambda a, b: torch.stack([a, b], 2), parts[0], parts[0] + 1)
    check(lambda t: torch.roll(t, (1, -2), (0, 2)), parts[1])
    check(lambda t: torch.flip(t, (0, 2)), parts[1])
    check(lambda t: torch.flip(t, (0, 1)), torch.randn(7, 73))  # the most elements one by one: 511
    check(lambda t: torch.flip(t, (0, 1)), torch.randn(8, 64))


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_embedding_and_its_gradient(dtype):
    indices = torch.randint(0, 50, (4, 70)).to(dtype)
    check(lambda w, i: functional.embedding(i, w), torch.randn(50, 33), indices)
    check(lambda w, i: functional.embedding(i, w, padding_idx=3), torch.randn(50, 33), indices)


def test_an_index_out_of_range_is_an_error():
    weight = torch.randn(50, 3).to(DEVICE)
    with pytest.raises(IndexError, match="index out of range in self"):
        functional.embedding(torch.tensor([50]).to(DEVICE), weight)


def test_rows_are_selected_added_and_filled():
    x, indices = torch.randn(4, 9, 3), torch.tensor([1, 3, 3, 8])
    check(lambda t, i: t.index_select(1, i), x, indices)
    check(lambda t, i, s: t.index_add(1, i, s), x, indices, torch.randn(4, 4, 3))
    unique = torch.tensor([1, 3, 0, 8])
    check(lambda t, i, s: t.index_copy(1, i, s), x, unique, torch.randn(4, 4, 3))
    check(lambda t, i: t.index_fill(1, i, 2.5), x, indices)


def test_elements_are_gathered_and_scattered():
    x, indices = torch.randn(4, 9), torch.randint(0, 9, (3, 5))
    check(lambda t, i: t.gather(1, i), x, indices)
    check(lambda t, i, s: t.scatter_add(1, i, s), x, indices, torch.randn(3, 5))
    unique = torch.stack([torch.randperm(9)[:5] for _ in range(4)])
    check(lambda t, i, s: t.scatter(1, i, s), x, unique, torch.randn(4, 5))
    check(lambda t, i: t.scatter(1, i, -1.0), x, unique)


SUMS = [
    lambda t, i, s: t.index_add(0, i, s),
    lambda t, i, s: t.scatter_add(0, i, s),
    lambda t, i, s: t.index_put((i,), s, accumulate=True),
]


@pytest.mark.parametrize("add", SUMS)
@pytest.mark.parametrize(
    ("dtype", "most"), [(torch.uint8, 65535), (torch.int8, 65535), (torch.int16, 255)]
)
def test_sums_of_integers_wrap_and_are_refused_when_fp32_cannot_hold_them(add, dtype, most):
    def operands(count):
        terms = torch.full((count,), -128).to(dtype)
        return torch.full((5,), 100).to(dtype), torch.arange(count) % 2 * 3, terms

    check(add, *operands(most), gradients=False)
    with pytest.raises(NotImplementedError, match="not exact for so many"):
        check(add, *operands(most + 1), gradients=False)
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    check(add, *operands(most + 1), gradients=False)


@pytest.mark.parametrize("add", SUMS)
def test_sums_of_bools_are_any_of_them_and_those_of_int32_are_refused(add):
    indices = torch.tensor([0, 3, 3])
    bools = torch.tensor([False, True, True]), torch.zeros(5, dtype=torch.bool)
    check(add, bools[1], indices, bools[0], gradients=False)
    with pytest.raises(NotImplementedError, match="not exact for so many"):
        check(add, bools[1].int(), indices, bools[0].int(), gradients=False)


def test_indexed_assignment_refuses_another_dtype():
    for device in ("cpu", DEVICE):
        x, index = torch.zeros(3, dtype=torch.int32, device=device), torch.tensor([1])
        for accumulate in (False, True):
            with pytest.raises(RuntimeError, match="source and destination dtypes match"):
                x.index_put_((index.to(device),), torch.ones(1, device=device), accumulate)
        assert not x.any()


def test_tensors_index_like_in_numpy():
    x = torch.randn(5, 9, 4)
    rows, columns = torch.tensor([[1, -1, 3], [0, 0, 2]]), torch.tensor([0, 1, -1])
    check(lambda t, i: t[i], x, rows)
    check(lambda t, i: t[:, i], x, rows)
    check(lambda t, i, j: t[i, :, j], x, rows, columns)
    check(lambda t, i, j: t[i, j, 1:], x, rows, columns)


def test_indexed_assignment_replaces_and_accumulates():
    indices, values = torch.tensor([3, 1, 3]), torch.randn(3, 4)

    def accumulate(t, i, v):
        return t.clone().index_put_((i,), v, accumulate=True)

    check(accumulate, torch.randn(5, 4), indices, values)

    def assign(t, i, v):
        result = t.clone()
        result[:, i] = v
        return result

    check(assign, torch.randn(2, 5, 4), torch.tensor([0, 2, 4]), values)


def test_classification_losses():
    logits, target = torch.randn(40, 10), torch.randint(0, 10, (40,))
    target[3] = -100
    weight = torch.rand(10) + 0.5
    for reduction in ("mean", "sum", "none"):
        check(lambda t, y, r=reduction: functional.cross_entropy(t, y, reduction=r), logits, target)
        check(lambda t, y, w, r=reduction: functional.nll_loss(t.log_softmax(1), y, w.detach(),
              reduction=r), logits, target, weight)  # fmt: skip
    pixels, classes = torch.randn(2, 5, 4, 3), torch.randint(0, 5, (2, 4, 3))
    check(functional.cross_entropy, pixels, classes)
    check(lambda t, y: functional.cross_entropy(t, y, label_smoothing=0.1), logits, target)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_regression_losses(reduction):
    a, b = torch.randn(30, 7), torch.randn(30, 7)
    for loss in (functional.mse_loss, functional.l1_loss, functional.smooth_l1_loss,
                 functional.huber_loss):  # fmt: skip
        check(lambda x, y, f=loss: f(x, y, reduction=reduction), a, b)
    p, q = torch.rand(30, 7) * 0.9 + 0.05, torch.rand(30, 7)
    check(lambda x, y: functional.binary_cross_entropy(x, y.detach(), reduction=reduction), p, q)
    check(lambda x, y: functional.binary_cross_entropy_with_logits(x, y.detach(),
          reduction=reduction), a, q)  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.bool])
@pytest.mark.parametrize("diagonal", [0, -2, 3, 100])
def test_triangles_are_kept(dtype, diagonal):
    x = torch.randn(2, 7, 150).mul(10).to(dtype)
    check(lambda t: torch.tril(t, diagonal), x)
    check(lambda t: torch.triu(t, diagonal), x)


def test_only_empty_rows_are_joined_in_any_dimension():
    # Tensors of shape [0] are skipped whatever the dimension, even when there are no others.
    empty, other = torch.empty(0), torch.empty(2, 0)
    for dimension in (-1, 0, 1, 5):
        check(lambda x, y, d=dimension: torch.cat([x, y], d), empty, empty)
    check(lambda x, y: torch.cat([x, y], 1), empty, other)
    with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 5"):
        torch.cat([empty.to(DEVICE), other.to(DEVICE)], 5)


def test_nothing_is_rolled_and_gathered_along_any_dimension():
    assert torch.zeros(0, 0, 0, device=DEVICE).roll(1, 7).shape == (0, 0, 0)
    index = torch.zeros(2, 0, dtype=torch.long)
    assert torch.ones(5, device=DEVICE).gather(0, index.to(DEVICE)).shape == (2, 0)
