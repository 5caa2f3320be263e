"""Operators without a device kernel: counted, warned about or refused; right on the CPU."""

import os
import subprocess
import sys
import warnings

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE, OWN_NAME

# An operator that will hardly ever get a device kernel.
EXOTIC = "aten::i0"


@pytest.fixture(autouse=True)
def fresh_counts():
    device_module.reset_fallback_counts()
    yield
    device_module.set_fallback_policy("allow")


def exotic(device=DEVICE_TYPE):
    return torch.ones(3, device=device).i0()


def exotic_count() -> int:
    return sum(n for name, n in device_module.fallback_counts().items() if name.startswith(EXOTIC))


def test_each_use_is_counted():
    exotic()
    exotic()
    assert exotic_count() == 2
    device_module.reset_fallback_counts()
    assert device_module.fallback_counts() == {}


def test_a_fallback_is_listed_with_its_reason_and_the_bytes_it_moved():
    exotic()
    torch.ones(5, 2, dtype=torch.float64, device=DEVICE_TYPE).i0()
    first, second = (f for f in device_module.fallbacks() if f.op.startswith(EXOTIC))
    assert first.reason == "argument 'self' is Double, a dtype that a NeuronCore does not have"
    assert (first.count, first.bytes_moved) == (1, 2 * 5 * 2 * 8)
    assert second.reason == "it has no device kernel"
    assert (second.count, second.bytes_moved) == (1, 2 * 3 * 4)
    device_module.reset_fallback_counts()
    assert device_module.fallbacks() == []


def causal_mask(size, device):
    positions = torch.arange(size, device=device)
    return positions[None, :] <= positions[:, None]


def shuffled(device):
    torch.manual_seed(1)
    return torch.randperm(9, device=device)


INDEX_ARITHMETIC = {
    "a range": lambda d: torch.arange(7, device=d),
    "a sum": lambda d: torch.arange(7, device=d) + 2,
    "a comparison": lambda d: torch.arange(7, device=d) < 3,
    "a causal mask": lambda d: causal_mask(4, d),
    "a selection": lambda d: torch.where(torch.arange(3, device=d) > 1, torch.arange(3, device=d),
        -1), "a lookup": lambda d: torch.arange(5, device=d)[torch.tensor([4, 0]).to(d)],
    "a scalar": lambda d: torch.tensor(2.5).to(d).i0(),
    "a scalar in double precision": lambda d: torch.tensor(3.0).to(d).double().reciprocal().float(),
    "a scalar from double precision": lambda d: torch.tensor(0.1).double().to(d).half(),
    "indices of a mask": lambda d: (torch.arange(5, device=d) > 2).nonzero(),
    "the size of a mask": lambda d: (torch.arange(5, device=d) > 2).sum(),
    "random indices": shuffled, "in place": lambda d: torch.arange(5, device=d).mul_(3),
}  # fmt: skip


@pytest.mark.parametrize("compute", INDEX_ARITHMETIC.values(), ids=INDEX_ARITHMETIC)
def test_index_arithmetic_runs_on_the_host_side_in_strict_mode(compute):
    with device_module.strict():
        found = compute(f"{DEVICE_TYPE}:1")
    assert device_module.fallbacks() == []
    assert sum(device_module.host_operators().values()) > 0
    torch.testing.assert_close(found.cpu(), compute("cpu"))


def test_index_arithmetic_takes_no_simulated_time():
    before = device_module.simulated_time()
    torch.arange(1 << 16, device=DEVICE_TYPE) + 1
    assert device_module.simulated_time() == before
    operators = device_module.host_operators()
    assert sum(count for name, count in operators.items() if name.startswith("aten::add.")) == 1


FALLBACKS = {
    "fractions of indices": lambda: torch.arange(1, 7, device=DEVICE_TYPE).i0(),
    "double precision": lambda: torch.zeros(3, dtype=torch.float64).to(DEVICE_TYPE).i0(),
    "casts to double precision": lambda: torch.zeros(1).to(DEVICE_TYPE).double(),
    "a complex scalar": lambda: torch.tensor(1j).to(DEVICE_TYPE).exp(),
    "complex numbers": lambda: torch.zeros(3, dtype=torch.complex64).to(DEVICE_TYPE).exp(),
}


@pytest.mark.parametrize("compute", FALLBACKS.values(), ids=FALLBACKS)
def test_what_is_no_index_arithmetic_is_a_fallback(compute):
    compute()
    assert len(device_module.fallbacks()) == 1
    with device_module.strict(), pytest.raises(NotImplementedError, match="strict mode"):
        compute()


def test_a_mask_that_strict_mode_refuses_to_change_stays_as_it_is():
    mask = torch.tensor([True, False] * 20).to(DEVICE_TYPE)
    device_module.set_random_source("chip")  # which draws no bool
    try:
        with device_module.strict(), pytest.raises(NotImplementedError, match="strict mode"):
            mask.random_()
    finally:
        device_module.set_random_source("host")
    assert mask.tolist() == [True, False] * 20


def test_strict_mode_names_the_operator_and_does_not_run_it():
    tensor = torch.ones(3, device=DEVICE_TYPE)
    with device_module.strict():
        with pytest.raises(NotImplementedError, match=f"{EXOTIC}.*strict"):
            tensor.i0()
        assert exotic_count() == 0
        assert tensor.cpu().tolist() == [1, 1, 1]  # copies are not fallbacks
        tensor.view(3, 1).t()
    assert device_module.fallback_policy() == "allow"
    tensor.i0()


def test_strict_mode_refuses_convolution_fallbacks():
    layer = torch.nn.Conv2d(1, 1, 3, dtype=torch.float64).to(DEVICE_TYPE)
    image = torch.zeros(1, 1, 4, 4, dtype=torch.float64, device=DEVICE_TYPE)
    layer(image)
    with device_module.strict(), pytest.raises(NotImplementedError, match="convolution"):
        layer(image)


def test_strict_mode_ends_when_its_block_raises():
    with pytest.raises(KeyError), device_module.strict():
        raise KeyError
    assert device_module.fallback_policy() == "allow"


def test_the_warning_comes_once_per_operator_whatever_the_reason():
    device_module.set_fallback_policy("warn")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exotic()
        exotic()
        torch.ones(2, dtype=torch.float64, device=DEVICE_TYPE).i0()
        torch.arange(3, device=DEVICE_TYPE) + 1  # a host operator
        with device_module.strict(), pytest.raises(NotImplementedError):
            torch.special.i0e(torch.ones(3, device=DEVICE_TYPE))
    one, other = (w for w in caught if w.category is UserWarning)
    assert f"'{EXOTIC}.out' runs on the CPU: it has no device kernel" in str(one.message)
    assert "'aten::fill_.Scalar'" in str(other.message) and one.filename == __file__
    assert [fallback.op for fallback in device_module.fallbacks()].count(f"{EXOTIC}.out") == 2


def test_a_fallback_of_a_backward_pass_warns_too():
    device_module.set_fallback_policy("warn")
    with pytest.warns(UserWarning, match="special_i0e"):
        ones = torch.ones(3, device=DEVICE_TYPE, requires_grad=True)
        loss = torch.special.i0e(ones).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match="special_i1e"):
            loss.backward()


def test_a_wrong_policy_is_named():
    with pytest.raises(ValueError, match="'maybe'.*'allow'"):
        device_module.set_fallback_policy("maybe")


@pytest.mark.parametrize("setting,code", [("", 0), ("0", 0), ("1", 1), ("yes", 1)])
def test_the_environment_sets_strict_mode(setting, code):
    result = subprocess.run(
        [sys.executable, "-c", "import torch, neuron_sim.torch_device\n"
         "torch.empty(3, device='neuron_sim').i0()"],
        env={**os.environ, **OWN_NAME, "NEURON_SIM_STRICT": setting},
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == code, result.stderr
    assert ("which strict mode refuses" in result.stderr) == (setting == "1")
    assert ("'yes' and must be 0 or 1" in result.stderr) == (setting == "yes")


@pytest.mark.parametrize(
    "policy,code", [("", 0), ("allow", 0), ("error", 1), ("warn", 0), ("perhaps", 1)]
)
def test_the_environment_sets_the_policy_which_else_warns(policy, code):
    script = "import torch, neuron_sim.torch_device\nfor n in (3, 4):\n"
    script += "    torch.empty(n, device='neuron_sim').i0()"
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **OWN_NAME, "NEURON_SIM_FALLBACK": policy},
        capture_output=True, text=True,
    )  # fmt: skip
    assert result.returncode == code, result.stderr
    assert ("NotImplementedError" in result.stderr) == (policy == "error")
    assert ("'perhaps'" in result.stderr) == (policy == "perhaps")
    assert result.stderr.count("UserWarning: neuron_sim") == (policy in ("warn", ""))
    assert (EXOTIC in result.stderr) == (policy in ("warn", "error", ""))


@pytest.mark.parametrize("call", [torch.special.i0, torch.ops.aten.i0], ids=["torch", "torch.ops"])
def test_a_filter_of_warnings_silences_or_raises_it(call, capfd):
    device_module.set_fallback_policy("warn")
    tensor = torch.ones(3, device=DEVICE_TYPE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        call(tensor)
    assert device_module.fallbacks() != [] and capfd.readouterr() == ("", "")
    device_module.reset_fallback_counts()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with pytest.raises(UserWarning, match=EXOTIC):
            call(tensor)
        call(tensor)  # it has been said


def test_in_place_operators_write_the_device_tensor():
    tensor = torch.arange(6.0, device=f"{DEVICE_TYPE}:1")
    view = tensor[2:5]
    assert view.i0_() is view
    expected = torch.arange(6.0)
    expected[2:5].i0_()
    assert torch.equal(tensor.cpu(), expected)


@pytest.mark.parametrize("shape", [(0,), (2,), (5,), (2, 9)])
def test_out_tensors_are_resized_in_place(shape):
    out = torch.empty(shape, device=f"{DEVICE_TYPE}:1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # resizing a non-empty out is deprecated
        returned = torch.i0(torch.ones(5, device=f"{DEVICE_TYPE}:1"), out=out)
    assert returned is out and out.shape == (5,)
    assert out.device == torch.device(f"{DEVICE_TYPE}:1") == out.untyped_storage().device
    assert torch.equal(out.cpu(), torch.i0(torch.ones(5)))


def test_mutations_that_no_schema_declares_are_kept():
    torch.manual_seed(0)
    layer = torch.nn.BatchNorm1d(3, dtype=torch.float64)  # which the device leaves to the CPU
    there = torch.nn.BatchNorm1d(3, dtype=torch.float64).to(DEVICE_TYPE)
    data = torch.randn(10, 3, dtype=torch.float64) * 2 + 5
    layer(data)
    there(data.to(DEVICE_TYPE))
    torch.testing.assert_close(there.running_mean.cpu(), layer.running_mean)
    torch.testing.assert_close(there.running_var.cpu(), layer.running_var)


def test_a_result_that_the_host_leaves_as_a_conjugate_view_is_one():
    torch.manual_seed(0)
    matrix, right = torch.randn(2, 3, 3, dtype=torch.complex64).unbind()
    factors, pivots = torch.linalg.lu_factor(matrix)
    expected = torch.linalg.lu_solve(factors, pivots, right, left=False)
    there = torch.linalg.lu_solve(
        *(t.to(DEVICE_TYPE) for t in (factors, pivots, right)), left=False
    )
    assert torch.equal(there.cpu(), expected)


def test_lists_and_optional_tensors_are_handed_over():
    parameters = [torch.ones(2, device=DEVICE_TYPE), torch.ones(3, device=DEVICE_TYPE)]
    torch._foreach_add_(parameters, 2)
    assert [p.tolist() for p in parameters] == [[3, 3], [3, 3, 3]]
    table = torch.arange(12, device=DEVICE_TYPE).view(3, 4)
    rows = torch.tensor([0, 2], device=DEVICE_TYPE)
    assert table[rows, :, None].shape == (2, 4, 1)
    assert table[:, rows].tolist() == [[0, 2], [4, 6], [8, 10]]
    table[rows] = 0
    assert table.tolist() == [[0] * 4, [4, 5, 6, 7], [0] * 4]


def test_overlapping_arguments_are_refused_as_on_the_cpu():
    base = torch.ones(5, device=DEVICE_TYPE)
    with pytest.raises(RuntimeError, match="single memory location"):
        torch.i0(base[:4], out=base[1:])


def test_an_error_on_the_host_leaves_the_device_usable():
    with pytest.raises(RuntimeError, match="shape"):
        torch.mm(torch.ones(2, 3, device=DEVICE_TYPE), torch.ones(2, 3, device=DEVICE_TYPE))
    assert exotic().shape == (3,)


def test_results_stay_on_the_device_of_their_inputs():
    tensor = torch.ones(4, 4, device=f"{DEVICE_TYPE}:1")
    values, indices = torch.linalg.eigh(tensor)
    assert values.device == indices.device == torch.device(f"{DEVICE_TYPE}:1")
    pieces = torch.split(tensor, 2)
    assert all(piece.device == tensor.device for piece in pieces)


def test_a_fallback_costs_the_transfer_of_its_operands():
    small, large = (torch.ones(n, device=DEVICE_TYPE) for n in (1, 1 << 20))

    def cost(tensor):
        before = device_module.simulated_time()
        tensor.i0()
        return device_module.simulated_time() - before

    assert cost(large) > cost(small) > 0


def test_an_out_tensor_is_not_transferred_before_it_is_written():
    data, out = torch.ones(1 << 20, device=DEVICE_TYPE), torch.empty(1 << 20, device=DEVICE_TYPE)
    times = []
    for use in (lambda: data.cpu().to(DEVICE_TYPE), lambda: torch.i0(data, out=out)):
        before = device_module.simulated_time()
        use()
        times.append(device_module.simulated_time() - before)
    assert times[1] == pytest.approx(times[0], rel=1e-6)


@pytest.mark.parametrize("device", ["cpu", f"{DEVICE_TYPE}:1"])
def test_an_out_tensor_of_another_device_is_refused_and_keeps_its_elements(device):
    data = torch.full((3,), 2.0, device=f"{DEVICE_TYPE}:0")
    for function, dtype in ((torch.i0, torch.float32), (torch.nonzero, torch.int64)):
        out = torch.zeros(3, dtype=dtype, device=device)
        with pytest.raises(RuntimeError, match=f"same device, .* {DEVICE_TYPE}:0 and {device}!"):
            function(data, out=out)
        assert out.tolist() == [0, 0, 0]
    out = torch.empty(0, dtype=torch.int64, device=f"{DEVICE_TYPE}:0")
    assert torch.nonzero(data, out=out).tolist() == [[0], [1], [2]]


def test_mode_writes_the_results_that_it_is_given():
    x = torch.tensor([[1, 2, 2], [3, 3, 1]])
    for dtype in (torch.float32, torch.int64, torch.float64):
        for device in ("cpu", f"{DEVICE_TYPE}:1"):
            out = [torch.empty(0, dtype=t, device=device) for t in (dtype, torch.int64)]
            torch.mode(x.to(device, dtype), 1, keepdim=True, out=tuple(out))
            assert [tensor.tolist() for tensor in out] == [[[2], [3]], [[2], [1]]]
    wrong = torch.empty(2, dtype=torch.int32, device=device)
    indices = torch.empty(2, dtype=torch.int64, device=device)
    for out, name in (((wrong, indices), "values"), ((indices, wrong), "indices")):
        with pytest.raises(RuntimeError, match=f"but got 'Int' for {name} output"):
            torch.mode(x.to(device), 1, out=out)
    with pytest.raises(RuntimeError, match=f"expected device '{DEVICE_TYPE}:1' but got 'cpu'"):
        torch.mode(x.to(device), 1, out=(indices.cpu(), indices))
