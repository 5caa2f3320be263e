"""Elements that masks select, elements that indices combine, sequences with padding."""

import pytest
import torch
from against_cpu import DEVICE, check
from torch import nn


def test_masks_as_indices():
    x, mask = torch.randn(4, 5, 3), torch.rand(4, 5) > 0.5
    check(lambda t, m: t[m], x, mask)
    check(lambda t, m: t[:, m[0]], x, mask)
    check(lambda t, m: t[m[:, 0]], x, mask)
    check(lambda t, m: t[m, 1], x, mask)
    check(lambda t, m: t[m & False], x, mask)
    check(lambda t, m: torch.masked_select(t, m.unsqueeze(-1)), x, mask)
    check(lambda t, m: t[m], x.transpose(0, 1), mask.T)


def test_assignment_to_what_a_mask_selects():
    x, mask = torch.randn(4, 5, 3), torch.rand(4, 5) > 0.5

    def assigned(t, m, v):
        t = t * 1
        t[m] = v[: int(m.sum())]
        return t

    check(assigned, x, mask, torch.randn(20, 3))
    check(lambda t, m: t.masked_scatter(m.unsqueeze(-1).expand_as(t), t * 2), x, mask)
    check(lambda t, m: t.masked_scatter(m.unsqueeze(-1), torch.ones_like(t)), x, mask)


def test_masks_of_another_shape_and_short_sources_are_errors():
    x = torch.randn(4, 5, device=DEVICE)
    with pytest.raises(IndexError, match="shape of the mask"):
        x[torch.ones(3, device=DEVICE).bool()]
    with pytest.raises(RuntimeError, match="source < number of ones"):
        x.masked_scatter(torch.ones_like(x).bool(), x[:1])


@pytest.mark.parametrize("accumulate", [False, True])
def test_elements_are_put_at_places(accumulate):
    places = torch.tensor([3, 0, -1, 7])
    check(lambda t, s, i: t.put(i, s, accumulate), torch.randn(3, 4), torch.randn(4), places)


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("name", ["sum", "mean", "amax", "amin", "prod"])
def test_elements_of_the_same_place_are_combined(name, include):
    x, source = torch.randn(6, 5), torch.randn(8, 4)
    index = torch.randint(0, 6, (8, 4))
    index[:, 0] = 2  # all of them

    def combined(t, s, i):
        return t.scatter_reduce(0, i, s, name, include_self=include)

    check(combined, x, source, index)
    check(combined, x, torch.randn(9, 5), index, gradients=False)
    check(lambda t, s, i: t.scatter_reduce(1, i, s, name, include_self=include),
          torch.randn(3, 7), torch.randn(3, 11), torch.randint(0, 7, (3, 11)))  # fmt: skip
    check(combined, x[:, 0], source[:, 0], index[:, 1])


@pytest.mark.parametrize("name", ["mean", "amax", "amin"])
def test_rows_of_the_same_index_are_combined(name):
    index = torch.tensor([4, 0, 4, 4, 1])
    check(
        lambda t, s, i: t.index_reduce(0, i, s, name), torch.randn(6, 3), torch.randn(5, 3), index
    )
    check(lambda t, s, i: t.index_reduce(1, i, s, name, include_self=False),
          torch.randn(3, 6), torch.randn(3, 5), index)  # fmt: skip


def test_nan_and_infinities_are_combined():
    x = torch.zeros(3)
    source = torch.tensor([1.0, float("nan"), float("inf"), 2.0, -3.0])
    index = torch.tensor([0, 0, 1, 1, 2])
    check(lambda t, s, i: t.scatter_reduce(0, i, s, "amax"), x, source, index, gradients=False)
    check(lambda t, s, i: t.scatter_reduce(0, i, s, "sum"), x, source, index, gradients=False)


@pytest.mark.parametrize("norm_first", [True, False])
def test_an_encoder_without_gradients_takes_padding_masks(norm_first):
    layer = nn.TransformerEncoderLayer(16, 2, 32, 0.0, batch_first=True, norm_first=norm_first)
    encoder = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(16)).eval()
    x, padding = torch.randn(3, 6, 16), torch.arange(6) >= torch.tensor([[6], [4], [2]])
    with torch.no_grad():
        expected = encoder(x, src_key_padding_mask=padding)
        found = encoder.to(DEVICE)(x.to(DEVICE), src_key_padding_mask=padding.to(DEVICE)).cpu()
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)
        scattered = padding.roll(1, 1).to(DEVICE)
        found = encoder(x.to(DEVICE), src_key_padding_mask=scattered).cpu()
    expected = encoder.cpu()(x, src_key_padding_mask=scattered.cpu())
    torch.testing.assert_close(found, expected.detach(), rtol=1e-5, atol=1e-5)


def test_doubles_are_chosen_by_a_mask_bit_by_bit():
    mask = torch.rand(3, 4, 5) > 0.5
    a, b = torch.randn(3, 4, 5, dtype=torch.float64), torch.randn(4, 1, dtype=torch.float64)
    a[0, 0] = torch.tensor([float("nan"), float("inf"), -0.0, 1e300, 5e-324], dtype=torch.float64)
    for x, y, chosen in (
        (a, b, mask), (a.transpose(0, 2), b, mask.transpose(0, 2)), (b, a[:, :, :1], mask),
        (a[:0], b, mask[:0]), (a[0, 0, 0], b[0, 0], mask[0, 0, 0]),
    ):  # fmt: skip
        found = torch.where(chosen.to(DEVICE), x.to(DEVICE), y.to(DEVICE))
        expected = torch.where(chosen, x, y)
        assert found.shape == expected.shape and found.stride() == expected.stride()
        assert torch.equal(found.cpu().view(torch.int64), expected.view(torch.int64))
    with torch.neuron_sim.record_launches() as launches:
        torch.where(mask.to(DEVICE), a.to(DEVICE), a.to(DEVICE))
    assert len([launch for launch in launches if launch.name == "pointwise"]) == 1


# nonzero and nonzero_static: the device compares, places are int64 index arithmetic

DTYPES = [
    torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.uint8, torch.int16,
    torch.int32, torch.int64, torch.bool,
]  # fmt: skip


def zeros_and_ones(dtype, *shape):
    return (torch.randint(0, 3, shape) % 2).to(dtype)


def same(function, x):
    assert torch.equal(function(x.to(DEVICE)).cpu(), function(x))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (5,), (3, 4), (2, 3, 4), (0,), (2, 0)], ids=str)
def test_places_are_those_of_the_cpu(dtype, shape):
    x = zeros_and_ones(dtype, *shape)
    same(torch.nonzero, x)
    same(lambda t: torch.nonzero(t, out=torch.empty(0, dtype=torch.int64, device=t.device)), x)
    for size in (0, 2, 30):
        same(lambda t, size=size: torch.nonzero_static(t, size=size, fill_value=-7), x)
    if shape:
        same(lambda t: torch.stack(torch.where(t)), x)
        same(lambda t: torch.nonzero(t.transpose(0, -1)), x)


def test_nan_and_infinity_are_not_zero_and_minus_zero_is():
    same(torch.nonzero, torch.tensor([0.0, -0.0, float("nan"), float("inf"), 1e-45]))


def test_only_the_comparison_takes_simulated_time():
    x = torch.ones(4, 5, device=DEVICE)
    with torch.neuron_sim.record_launches() as launches:
        x.nonzero()
    assert [launch.operator for launch in launches] == ["aten::ne"]


@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_a_wrong_out_is_refused_as_on_the_cpu(device):
    x = torch.ones(3, device=device)
    with pytest.raises(RuntimeError, match="Long|long"):
        torch.nonzero(x, out=torch.empty(0, device=device))
    with pytest.raises(RuntimeError, match="size|non-negative"):
        torch.nonzero_static(x, size=-1)
