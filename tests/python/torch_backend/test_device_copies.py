"""Copies in every direction, dtype and layout; views and storages."""

import itertools

import neuron_sim.torch_device  # noqa: F401
import pytest
import torch
from device_type import DEVICE_TYPE

DTYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint16,
    torch.uint32, torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64,
    torch.complex32, torch.complex64, torch.complex128, torch.float8_e4m3fn, torch.float8_e5m2,
]  # fmt: skip
PLACES = ["cpu", f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"]
DIRECTIONS = list(itertools.permutations(PLACES, 2)) + [(f"{DEVICE_TYPE}:1", f"{DEVICE_TYPE}:1")]


def sample(dtype: torch.dtype, shape=(4, 6)) -> torch.Tensor:
    numbers = torch.arange(-3, -3 + torch.Size(shape).numel()).reshape(shape)
    if dtype.is_complex:
        return torch.complex(numbers.double(), numbers.double() * 0.5 + 1).to(dtype)
    if not dtype.is_signed:
        numbers = numbers.abs()
    return numbers.to(dtype)


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Equal bytes, shape and dtype, whatever the strides."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    bits = [t.contiguous().reshape(-1).view(torch.uint8) for t in (left, right)]
    return torch.equal(*bits)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("source,target", DIRECTIONS)
def test_every_dtype_survives_every_direction(dtype, source, target):
    host = sample(dtype)
    there = host.to(source)
    moved = torch.empty_like(there, device=target).copy_(there)
    assert str(moved.device) == target
    assert same(moved.cpu(), host)


@pytest.mark.parametrize("source,target", DIRECTIONS)
@pytest.mark.parametrize("view", [
    lambda t: t.t(),
    lambda t: t[::2, 1::3],
    lambda t: t[:, :0],
    lambda t: t[2, 3],
    lambda t: t[1].expand(5, 6),
    lambda t: t.flatten().unfold(0, 4, 3),
    lambda t: t.as_strided((3, 3), (5, 1), 2),
    lambda t: t.reshape(1, 2, 2, 6).contiguous(memory_format=torch.channels_last),
])  # fmt: skip
def test_views_of_any_strides_survive_every_direction(source, target, view):
    host = sample(torch.float32)
    assert same(view(host.to(source)).to(target).cpu(), view(host).contiguous())


@pytest.mark.parametrize("source,target", DIRECTIONS)
def test_copying_into_a_view_touches_only_the_view(source, target):
    values = sample(torch.float32, (2, 2))
    base = torch.zeros(4, 6)
    expected = base.clone()
    expected[1::2, ::3] = values
    there = base.to(target)
    there[1::2, ::3].copy_(values.to(source))
    assert torch.equal(there.cpu(), expected)


@pytest.mark.parametrize("source,target", DIRECTIONS)
@pytest.mark.parametrize(
    "before,after",
    list(itertools.permutations([torch.int64, torch.float32, torch.bfloat16, torch.bool], 2)),
)
def test_a_copy_converts_as_the_cpu_does(source, target, before, after):
    host = sample(before)
    converted = torch.empty(4, 6, dtype=after, device=target).copy_(host.to(source))
    assert same(converted.cpu(), host.to(after))


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2), (), (1,), (1, 1, 1, 1, 1)])
def test_shapes_without_or_with_one_element(shape):
    host = torch.full(shape, 2.5)
    there = host.to(f"{DEVICE_TYPE}:1")
    assert there.shape == host.shape and torch.equal(there.cpu(), host)
    assert torch.equal(there.to(f"{DEVICE_TYPE}:0").cpu(), host)


@pytest.mark.parametrize("view", [
    lambda t: t.conj(), lambda t: t.imag, lambda t: t.conj().imag, lambda t: torch._neg_view(t),
    lambda t: t.conj().t(),
])  # fmt: skip
@pytest.mark.parametrize("target", PLACES)
def test_conjugate_and_negative_views_are_materialised_right(view, target):
    host = sample(torch.complex64)
    there = host.to(f"{DEVICE_TYPE}:0")
    assert same(
        view(there).to(target).cpu().resolve_conj().resolve_neg(),
        view(host).clone().resolve_conj().resolve_neg(),
    )
    assert torch.equal((view(there) * there.real[0, 1]).cpu(), view(host) * host.real[0, 1])


def test_writing_through_a_conjugate_view():
    there = torch.zeros(3, dtype=torch.complex64, device=DEVICE_TYPE)
    there.conj().copy_(torch.tensor([1 + 2j, 3j, 4]))
    assert torch.equal(there.cpu(), torch.tensor([1 - 2j, -3j, 4]))


def test_views_share_their_storage():
    base = torch.zeros(3, 4, device=f"{DEVICE_TYPE}:1")
    for view in (base.view(12), base.t(), base[1:], base.unfold(1, 2, 2), base.view(torch.int32)):
        assert view.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
        assert view.device == base.device
    base.view(12)[5] = 7
    assert base[1, 1].item() == 7
    complex_base = torch.zeros(3, dtype=torch.complex64, device=DEVICE_TYPE)
    torch.view_as_real(complex_base)[1, 1] = 2
    assert complex_base[1].item() == 2j
    assert torch.view_as_complex(torch.view_as_real(complex_base))[1].item() == 2j


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.bfloat16, torch.complex64])
def test_item_and_tolist_read_one_element(dtype):
    host = sample(dtype)
    there = host.to(f"{DEVICE_TYPE}:1")
    assert there[1, 2].item() == host[1, 2].item()
    assert there[2].tolist() == host[2].tolist()


@pytest.mark.parametrize("device", [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1"])
def test_resize_keeps_the_front_and_stays_on_its_device(device):
    tensor = torch.arange(6.0, device=device)
    tensor.resize_(2, 8)
    assert tensor.device == torch.device(device)
    assert tensor.untyped_storage().device == torch.device(device)
    assert tensor.flatten()[:6].tolist() == [0, 1, 2, 3, 4, 5]
    tensor.resize_(2)
    assert tensor.tolist() == [0, 1]
    assert tensor.untyped_storage().nbytes() == 64  # never shrinks
    image = torch.empty(0, device=device).resize_(2, 3, 4, 5, memory_format=torch.channels_last)
    assert image.stride() == (60, 1, 15, 3)


def test_resizing_a_storage_keeps_the_front():
    tensor = torch.arange(4, dtype=torch.int32, device=f"{DEVICE_TYPE}:1")
    tensor.untyped_storage().resize_(32)
    assert tensor.tolist() == [0, 1, 2, 3]
    tensor.set_(tensor.untyped_storage())  # all of it
    assert tensor.shape == (8,)


@pytest.mark.parametrize("device", ["cpu", f"{DEVICE_TYPE}:1"])  # the CPU is the oracle
def test_set_shares_or_replaces_the_storage(device):
    source = torch.arange(10.0, device=device)
    other = torch.empty(0, device=device)
    other.set_(source)
    assert other.data_ptr() == source.data_ptr()
    other.set_(source.untyped_storage(), 2, (2, 3), (3, 1))
    assert other.tolist() == [[2, 3, 4], [5, 6, 7]]
    other.set_(source.untyped_storage(), 0, (4,))
    assert other.tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="out of bounds"):
        other.set_(source.untyped_storage(), 8, (4,), (1,))
    other.set_(source.untyped_storage(), 8, (2, 2), (2, 1))  # grows the storage
    assert source.untyped_storage().nbytes() == 48 and source[9].item() == 9
    other.set_()
    assert other.shape == (0,) and other.device == torch.device(device)


def test_a_storage_of_another_device_is_refused():
    tensor = torch.empty(1, device=f"{DEVICE_TYPE}:1")
    with pytest.raises(RuntimeError, match="different device"):
        tensor.set_(torch.empty(1, device=f"{DEVICE_TYPE}:0").untyped_storage(), 0, (1,))


def test_printing_shows_values_and_device():
    text = repr(torch.tensor([1.5, -2.0, float("nan")], device=f"{DEVICE_TYPE}:1"))
    assert "1.5" in text and "nan" in text and f"{DEVICE_TYPE}:1" in text
    assert "size=(0,)" not in repr(torch.empty(0, device=DEVICE_TYPE))


def test_copying_to_a_layout_that_does_not_exist_is_refused():
    with pytest.raises(NotImplementedError, match="layout Mkldnn"):
        torch.ones(2, 2, device=DEVICE_TYPE).to_mkldnn()


@pytest.mark.parametrize("view", [
    lambda t: t, torch.conj, torch._neg_view, lambda t: torch._neg_view(t.conj()),
])  # fmt: skip
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128, torch.float32])
def test_numbers_are_conjugated_in_place(dtype, view):
    ours, host = sample(dtype).to(DEVICE_TYPE), sample(dtype)
    result = view(ours).conj_physical_()
    assert torch.equal(result.cpu(), view(host).conj_physical_())
    assert torch.equal(ours.cpu(), host)
