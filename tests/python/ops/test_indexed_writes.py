"""In-place writes by index tensors: only what is indexed moves, at the time of that."""

import pytest
import torch
from against_cpu import DEVICE, check

CACHE = (4096, 512)


def written(write, *arguments, dtype=torch.float32, sizes=CACHE):
    """Simulated microseconds of an in-place write into a tensor, which must be right."""
    whole = torch.randn(sizes).to(dtype)
    x = whole.to(DEVICE)
    there = [a.to(DEVICE) if isinstance(a, torch.Tensor) else a for a in arguments]
    with torch.neuron_sim.record_launches() as launches:
        write(x, *there)
    write(whole, *arguments)
    torch.testing.assert_close(x.cpu(), whole)
    return sum(launch.latency_us for launch in launches)


ROW = torch.tensor([17])
WRITES = {
    "index_put": lambda x, v: x.index_put_((ROW.to(x.device),), v),
    "index_copy": lambda x, v: x.index_copy_(0, ROW.to(x.device), v),
    "scatter": lambda x, v: x.scatter_(0, ROW.to(x.device).view(1, 1).expand(1, x.size(1)), v),
    "index_add": lambda x, v: x.index_add_(0, ROW.to(x.device), v),
    "index_put_add": lambda x, v: x.index_put_((ROW.to(x.device),), v, accumulate=True),
    "index_fill": lambda x, v: x.index_fill_(0, ROW.to(x.device), 1.5),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_one_row_of_a_cache_takes_the_time_of_a_row_not_of_the_cache(name, dtype):
    small = written(WRITES[name], torch.randn(1, 512).to(dtype), dtype=dtype, sizes=(64, 512))
    large = written(WRITES[name], torch.randn(1, 512).to(dtype), dtype=dtype)
    assert large == pytest.approx(small, rel=0.02)
    if name in ("index_put", "index_copy"):
        assert large < 15  # 76.7 us when the cache was copied out and back


def test_positions_of_a_cache_of_keys_are_written_in_place():
    sizes = (2, 3, 256, 64)
    for positions in (torch.tensor([5]), torch.tensor([0, 255, 7])):
        keys = torch.randn(2, 3, len(positions), 64)
        few = written(lambda x, i, v: x.index_copy_(2, i, v), positions, keys, sizes=sizes)
        longer = (2, 3, 2048, 64)
        assert written(lambda x, i, v: x.index_copy_(2, i, v), positions, keys, sizes=longer) == (
            pytest.approx(few, rel=0.02)
        )
        written(lambda x, i, v: x.__setitem__((slice(None), slice(None), i), v), positions, keys,
                sizes=sizes)  # fmt: skip


def test_columns_are_written_by_a_transposing_copy_when_they_are_many():
    columns = torch.arange(64)
    few = written(lambda x, i, v: x.index_copy_(1, i, v), columns[:1], torch.randn(4096, 1))
    many = written(lambda x, i, v: x.index_copy_(1, i, v), columns, torch.randn(4096, 64))
    assert few < 60
    assert many < 300  # 2,499 when every element was loaded by a descriptor


SHAPES = [((7,), 0), ((1,), 0), ((5, 3), 0), ((5, 3), 1), ((130, 9), 0), ((4, 1, 6), 1),
          ((4, 5, 6), 0), ((4, 5, 6), 1), ((4, 5, 6), 2), ((2, 3, 4, 5), 2)]  # fmt: skip
LAYOUTS = {
    "dense": lambda t: t.clone(),
    "transposed": lambda t: (
        t.transpose(0, -1).clone(memory_format=torch.contiguous_format).transpose(0, -1)
    ),
    "sliced": lambda t: torch.stack([t, t], -1)[..., 0],
    "offset": lambda t: torch.cat([t, t])[t.size(0) :],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("sizes", "dimension"), SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int8])
def test_rows_are_written_and_added_in_any_layout(sizes, dimension, dtype, layout):
    size = sizes[dimension]
    x = torch.randint(-9, 9, sizes).to(dtype)
    unique = torch.randperm(size)[: max(1, size // 2)]
    repeated = torch.randint(0, size, (3,))

    def values(indices):
        shape = list(sizes)
        shape[dimension] = len(indices)
        return torch.randint(-9, 9, shape).to(dtype)

    def laid_out(t):
        return LAYOUTS[layout](t)

    check(lambda t, i, v: laid_out(t).index_copy_(dimension, i, v), x, unique, values(unique),
          gradients=False)  # fmt: skip
    check(lambda t, i, v: laid_out(t).index_add_(dimension, i, v), x, repeated, values(repeated),
          gradients=False)  # fmt: skip
    check(lambda t, i: laid_out(t).index_fill_(dimension, i, 3), x, unique - size, gradients=False)

    def put(t, i, v, accumulate):
        result = laid_out(t)
        lists = [torch.arange(n, device=t.device) for n in sizes[:dimension]]
        grids = [g.unsqueeze(-1) for g in torch.meshgrid(*lists, indexing="ij")] if lists else []
        return result.index_put_((*grids, i), v.movedim(dimension, len(grids)), accumulate)

    check(lambda t, i, v: put(t, i, v, False), x, unique, values(unique), gradients=False)
    check(lambda t, i, v: put(t, i, v, True), x, repeated, values(repeated), gradients=False)

    def assign(t, i):
        result = laid_out(t)
        result[(*(slice(None),) * dimension, i)] = 4
        return result

    check(assign, x, unique, gradients=False)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.uint8])
def test_elements_are_written_and_added_in_any_layout(dtype, layout):
    x = torch.randint(0, 9, (4, 5, 6)).to(dtype)
    for dimension in range(3):
        narrow = torch.rand(4, 5, 6).argsort(dimension)[:3, :2, :5].clamp(max=x.size(dimension) - 1)
        source = torch.randint(0, 9, (3, 3, 5)).to(dtype)

        def laid_out(t):
            return LAYOUTS[layout](t)

        unique = torch.rand(4, 5, 6).argsort(dimension)
        check(lambda t, i, s, d=dimension: laid_out(t).scatter_(d, i, s), x, unique, x.flip(0),
              gradients=False)  # fmt: skip
        check(lambda t, i, s, d=dimension: laid_out(t).scatter_add_(d, i, s), x, narrow, source,
              gradients=False)  # fmt: skip
        check(lambda t, i, d=dimension: laid_out(t).scatter_(d, i, 7), x, narrow, gradients=False)
    mask = torch.rand(4, 5, 6) > 0.5
    check(lambda t, m, s: laid_out(t).masked_scatter_(m, s), x, mask, x + 1, gradients=False)
    places = torch.randperm(120)[:9] - 60
    check(lambda t, i, s: laid_out(t).put_(i, s), x, places, x.view(-1)[:9], gradients=False)


def test_a_write_leaves_what_lies_between_its_rows():
    base = torch.arange(60.0).view(6, 10)

    def write(t, i):
        whole = t.clone()
        whole[:, 2:5].index_copy_(0, i, whole.new_full((2, 3), -1.0))
        whole[1::2, 7:].index_put_((i[:1],), whole.new_full((3,), -2.0))
        whole[:, 8].index_add_(0, i, whole.new_ones(2))
        return whole

    check(write, base, torch.tensor([2, 0]), gradients=False)


def test_overlapping_operands_are_refused_and_nothing_is_written():
    index = torch.tensor([0])
    calls = [
        lambda x, i: x.index_put_((i,), x[1:2]),
        lambda x, i: x.index_copy_(0, i, x[1:2]),
        lambda x, i: x.index_add_(0, i, x[1:2]),
        lambda x, i: x.scatter_(0, i.view(1, 1), x[1:2]),
        lambda x, i: x[:1].expand(4, 3).index_copy_(0, i, x.new_ones(1, 3)),
        lambda x, i: x[:1].expand(4, 3).put_(i, x.new_ones(1)),
        lambda x, i: x[:1].expand(4, 3).masked_scatter_(x > 0, x.clone()),
    ]
    for call in calls:
        for device in ("cpu", DEVICE):
            x = torch.arange(12.0).view(4, 3).to(device)
            with pytest.raises(RuntimeError, match="memory location"):
                call(x, index.to(device))
            assert torch.equal(x.cpu(), torch.arange(12.0).view(4, 3))


def test_writes_to_expanded_tensors_are_deprecated_as_on_the_cpu():
    for write, name in (
        (lambda x, i: x.index_put_((i,), x.new_tensor(3.0)), "index_put_"),
        (lambda x, i: x.index_fill_(0, i, 3.0), "index_fill_"),
    ):
        for device in ("cpu", DEVICE):
            x = torch.zeros(1, device=device).expand(4)
            with pytest.warns(UserWarning, match=f"Use of {name} on expanded tensors"):
                torch.set_warn_always(True)
                write(x, torch.tensor([1], device=device))
                torch.set_warn_always(False)
            assert x.tolist() == [3.0] * 4


def test_a_mask_takes_as_many_elements_as_it_selects_and_no_fewer():
    x, mask = torch.randn(3, 4), torch.arange(12).view(3, 4) % 3 == 1
    check(lambda t, m, s: t.detach().masked_scatter_(m, s), x, mask, torch.randn(4))
    with pytest.raises(RuntimeError, match="Number of elements of source"):
        x.to(DEVICE).masked_scatter_(mask.to(DEVICE), torch.randn(3).to(DEVICE))
