"""Index tensors are checked against their dimension, all 64 bits of them, eager and compiled, with
the CPU's error; what is refused changes nothing."""

import pytest
import torch
from against_cpu import DEVICE
from device_type import DEVICE_TYPE
from torch.nn import functional

# Of a [4, 3] tensor of a device, with an index list along dimension 1.
READS = {
    "gather": lambda x, i: x.gather(1, i.view(1, -1)),
    "take_along_dim": lambda x, i: torch.take_along_dim(x, i.view(1, -1), 1),
    "index_select": lambda x, i: x.index_select(1, i),
    "index_select_rows": lambda x, i: x.t().index_select(0, i),
    "index_select_last": lambda x, i: x.view(2, 2, 3).index_select(2, i),
    "embedding": lambda x, i: functional.embedding(i, x.t()), "index": lambda x, i: x[:, i],
    "index_both": lambda x, i: x[torch.zeros_like(i), i], "take": lambda x, i: torch.take(x[0], i),
    "nll_loss": lambda x, i: functional.nll_loss(x[:1].expand(len(i), 3), i),
    "nll_loss_pixels": lambda x, i: functional.nll_loss(
        x[:1].view(1, 3, 1, 1).expand(1, 3, 1, len(i)), i.view(1, 1, -1)),
    "cross_entropy": lambda x, i: functional.cross_entropy(x[:1].expand(len(i), 3), i),
}  # fmt: skip
WRITES = {
    "scatter": lambda x, i: x.scatter_(1, i.view(1, -1), 1.0),
    "scatter_add": lambda x, i: x.scatter_add_(1, i.view(1, -1), x.new_ones(1, len(i))),
    "scatter_reduce": lambda x, i: x.scatter_reduce_(1, i.view(1, -1), x.new_ones(1, len(i)),
        "amax"),
    "index_put": lambda x, i: x.index_put_((torch.zeros_like(i), i), x.new_tensor(5.0)),
    "index_put_add": lambda x, i: x.index_put_((torch.zeros_like(i), i), x.new_tensor(5.0),
        accumulate=True), "put": lambda x, i: x.put_(i, x.new_ones(len(i))),
    "index_add": lambda x, i: x.index_add_(1, i, x.new_ones(4, len(i))),
    "index_add_1d": lambda x, i: x[0].index_add_(0, i, x.new_ones(len(i))),
    "index_copy": lambda x, i: x.index_copy_(1, i, x.new_ones(4, len(i))),
    "index_fill": lambda x, i: x.index_fill_(1, i, 2.0),
}  # fmt: skip
INDICES = [2, 3, 5, -1, -3, -4, 2**31, 2**32, 2**32 + 1, -(2**32), 2**63 - 1, -(2**63)]


def outcome(operator, device, index, dtype=torch.float32):
    """The values of the result and of the operand afterwards, or the error."""
    x = torch.arange(12.0, dtype=dtype).view(4, 3).to(device)
    try:
        result = operator(x, torch.tensor([1, index], device=device))
    except Exception as error:
        return (type(error), str(error).split("\n")[0]), x.cpu()
    return result.cpu(), x.cpu()


def check_outcome(operator, device, index, dtype=torch.float32):
    expected, expected_operand = outcome(operator, "cpu", index, dtype)
    found, operand = outcome(operator, device, index, dtype)
    if isinstance(expected, torch.Tensor):
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(operand, expected_operand)
        return
    assert found == expected
    # The CPU may have written what comes before the bad index; the device has not.
    assert torch.equal(operand, torch.arange(12.0, dtype=dtype).view(4, 3))


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("name", [*READS, *WRITES])
def test_an_index_is_refused_as_on_the_cpu_or_names_the_same_element(name, index):
    check_outcome({**READS, **WRITES}[name], DEVICE, index)


@pytest.mark.parametrize("name", ["gather", "index", "scatter", "index_put", "index_copy"])
def test_indices_are_checked_on_the_first_device_and_in_other_dtypes(name):
    for device, dtype in ((f"{DEVICE_TYPE}:0", torch.float32), (DEVICE, torch.int8),
                          (DEVICE, torch.bfloat16)):  # fmt: skip
        for index in (2, 3, 2**32 + 1):
            check_outcome({**READS, **WRITES}[name], device, index, dtype)


def test_int32_indices_are_checked_too():
    x, wrong = torch.ones(4, 3, device=DEVICE), torch.tensor([[5]], dtype=torch.int32)
    with pytest.raises(RuntimeError, match="index 5 is out of bounds for dimension 1 with size 3"):
        x.gather(1, wrong.to(DEVICE))
    with pytest.raises(IndexError, match="index out of range in self"):
        functional.embedding(wrong.to(DEVICE), x)


def test_a_gradient_reaches_the_target_class_only():
    scores = torch.randn(2, 3)
    for device in ("cpu", DEVICE):
        x = scores.to(device).requires_grad_()
        with pytest.raises(IndexError, match="Target 3 is out of bounds"):
            functional.cross_entropy(x, torch.tensor([3, 0], device=device))
        with pytest.raises(IndexError, match="Target 3 is out of bounds"):
            torch.ops.aten.nll_loss_backward(
                torch.ones((), device=device), x.detach(), torch.tensor([3, 0], device=device),
                None, 1, -100, torch.ones((), device=device))  # fmt: skip


COMPILED = ("gather", "index_select", "embedding", "index", "take", "cross_entropy", "scatter",
            "index_put", "index_put_add", "index_add", "index_copy", "index_fill")  # fmt: skip


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_graph_checks_the_indices_of_every_run(name):
    torch._dynamo.reset()
    operator = {**READS, **WRITES}[name]
    compiled = torch.compile(lambda x, i: operator(x.clone(), i) * 2, backend=DEVICE_TYPE)
    x = torch.arange(12.0).view(4, 3)
    for index in (2, 0, 3, 2**32 + 1, -4, 1):
        indices = torch.tensor([1, index])
        try:
            expected = operator(x.clone(), indices) * 2
        except Exception as error:
            with pytest.raises(type(error)) as found:
                compiled(x.to(DEVICE), indices.to(DEVICE))
            assert str(found.value).split("\n")[0] == str(error).split("\n")[0]
            continue
        result = compiled(x.to(DEVICE), indices.to(DEVICE))
        torch.testing.assert_close(result.cpu(), expected)


def test_more_rows_than_32_bits_number_are_refused_by_the_device():
    table = torch.ones(1, dtype=torch.int8, device=DEVICE).expand(2**31 + 2)
    last = torch.tensor([2**31 + 1, 0], device=DEVICE)
    with pytest.raises(NotImplementedError, match="indices have 32 bits"):
        table.index_select(0, last)
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    assert table.index_select(0, last).tolist() == [1, 1]


def test_indices_of_another_device_are_refused():
    index = torch.tensor([0, 2, 1])
    other = index.to(f"{DEVICE_TYPE}:0")
    text = "indices should be either on cpu or on the same device as the indexed tensor"
    for x, name in ((torch.randn(3, 4), "cpu"), (torch.randn(3, 4).to(DEVICE), DEVICE)):
        for call in (lambda x: x[other], lambda x: x[index, other],
                     lambda x: x.index_put_((other,), x.new_ones(4))):  # fmt: skip
            with pytest.raises(RuntimeError, match=rf"{text} \({name}\)"):
                call(x)
    assert torch.equal(torch.arange(3.0).to(DEVICE)[index].cpu(), torch.tensor([0.0, 2.0, 1.0]))


def test_a_complex_number_fills_no_real_tensor():
    for device in ("cpu", DEVICE):
        for dtype in (torch.bool, torch.int16, torch.float32):
            x = torch.zeros(2, dtype=dtype, device=device)
            with pytest.raises(RuntimeError, match="Converting complex Scalar to non-complex type"):
                x.index_fill_(0, torch.tensor([0], device=device), 1 + 1j)
