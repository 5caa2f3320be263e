"""What the CPU refuses the device refuses with the same class of error, and numbers reach elements
as they do on the CPU."""

import pytest
import torch
from against_cpu import DEVICE, check
from torch.nn import functional


def refused(call, kind):
    """Both devices raise `kind`; the CPU's sentence is returned."""
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    with pytest.raises(kind) as expected:
        call(torch.device("cpu"))
    with pytest.raises(kind):
        call(torch.device(DEVICE))
    return str(expected.value)


FLOATS_ONLY = [
    functional.gelu, functional.silu, functional.mish, functional.elu, functional.softplus,
    functional.hardsigmoid, functional.hardshrink, functional.leaky_relu, torch.frac,
    lambda x: torch.softmax(x, 0), lambda x: torch.log_softmax(x, 0),
    lambda x: torch.logaddexp(x, x), lambda x: torch.hypot(x, x), lambda x: x.round(decimals=1),
]  # fmt: skip
NUMBERS_ONLY = [
    torch.relu, torch.abs, torch.floor, torch.ceil, torch.trunc, torch.round, functional.hardtanh,
    lambda x: x.clamp(x, x), lambda x: torch.rsub(x, x),
    lambda x: torch.addcmul(x, x, x), lambda x: functional.threshold(x, 0.5, 1),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.bool])
@pytest.mark.parametrize("function", FLOATS_ONLY)
def test_functions_of_floats_refuse_integers(function, dtype):
    refused(lambda device: function(torch.ones(3, dtype=dtype, device=device)), RuntimeError)


@pytest.mark.parametrize("function", NUMBERS_ONLY)
def test_functions_of_numbers_refuse_bools(function):
    refused(lambda device: function(torch.ones(3, dtype=torch.bool, device=device)), RuntimeError)


def test_shapes_and_dtypes_that_do_not_fit_are_refused():
    def ones(device, *shape):
        return torch.ones(shape, device=device)

    def whole(device, *values):
        return torch.tensor(values, device=device)

    calls = [
        lambda d: functional.layer_norm(ones(d, 3, 4), (5,)),
        lambda d: functional.huber_loss(ones(d, 3), ones(d, 3), delta=0.0),
        lambda d: functional.gelu(ones(d, 3), approximate="x"),
        lambda d: functional.embedding(whole(d, 1), ones(d, 3)),
        lambda d: torch.where(ones(d, 3), ones(d, 3), ones(d, 3)),
        lambda d: torch.bitwise_not(ones(d, 3)),
        lambda d: ones(d, 2, 2).masked_fill(ones(d, 2, 2) > 0, ones(d, 1)),
        lambda d: torch.amax(ones(d, 3, 3), 0, out=whole(d, 1, 2, 3)),
    ]
    for call in calls:
        refused(call, RuntimeError)
    calls = [
        lambda d: ones(d, 3)[ones(d, 1)],
        lambda d: ones(d, 3, 3)[whole(d, 1, 2), whole(d, 1, 2, 0)],
        lambda d: ones(d, 3).index_add(0, whole(d, -1), ones(d, 1)),
        lambda d: ones(d, 3).index_copy(0, whole(d, -1), ones(d, 1)),
    ]
    for call in calls:
        refused(call, IndexError)


def test_results_that_overlap_operands_or_themselves_are_refused():
    def overlapping(device):
        x, index = torch.ones(6, device=device), torch.tensor([0, 1, 2], device=device)
        return x, index

    def gather(device):
        x, index = overlapping(device)
        torch.gather(x, 0, index, out=x[:3])

    def gather_repeated(device):
        x, index = overlapping(device)
        torch.gather(x, 0, index, out=torch.ones(1, device=device).expand(3))

    def select(device, length):
        x, index = overlapping(device)
        torch.index_select(x, 0, index, out=torch.ones(1, device=device).expand(length))

    def concatenate(device):
        x, _ = overlapping(device)
        torch.cat([x[:3], x[3:]], out=x)

    selections = [lambda device, n=n: select(device, n) for n in (2, 3)]
    for call in (gather, gather_repeated, *selections, concatenate):
        assert "memory location" in refused(call, RuntimeError)


STORED = [
    lambda x, n: x.fill_(n),
    lambda x, n: x.masked_fill(x > 0, n),
    lambda x, n: functional.threshold(x, 1, n),
]


@pytest.mark.parametrize("store", STORED)
@pytest.mark.parametrize(
    ("dtype", "number"),
    [(torch.int8, 300), (torch.uint8, 256), (torch.int16, 1 << 16), (torch.int32, 1 << 32),
     (torch.float16, 1e6), (torch.bfloat16, 1e39)],
)  # fmt: skip
def test_numbers_that_do_not_fit_are_an_error(store, dtype, number):
    text = refused(
        lambda device: store(torch.ones(3, dtype=dtype, device=device), number), RuntimeError
    )
    assert "without overflow" in text


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32])
@pytest.mark.parametrize(
    "clamp",
    [
        lambda x, n: x.clamp(max=n), lambda x, n: x.clamp(min=n), lambda x, n: x.clamp(-n, n),
        torch.clamp_min, torch.clamp_max, lambda x, n: x.clone().clamp_(max=n),
    ],
)  # fmt: skip
@pytest.mark.parametrize("number", [1 << 40, -(1 << 40)])
def test_a_bound_that_does_not_fit_is_an_error_or_none_as_on_the_cpu(clamp, number, dtype):
    def clamped(device):
        return clamp(torch.ones(3, dtype=dtype, device=device), number)

    try:
        expected = clamped("cpu")  # from torch 2.15 on, where it bounds nothing
    except RuntimeError:
        refused(clamped, RuntimeError)
    else:
        assert torch.equal(clamped(DEVICE).cpu(), expected)


def test_numbers_are_compared_in_the_dtype_of_the_tensor():
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.tensor([0.1, -1, 100, float("inf")]).to(dtype)
        for number in (0.1, 1e39):
            check(lambda t, n=number: t == n, x, gradients=False)
            check(lambda t, n=number: t < n, x, gradients=False)
    for dtype, number in ((torch.int8, 300), (torch.uint8, -1), (torch.int16, 65580)):
        x = torch.tensor([44, -1, 100]).to(dtype)
        check(lambda t, n=number: t == n, x, gradients=False)
        check(lambda t, n=number: t >= n, x, gradients=False)
        check(lambda t, n=number: torch.maximum(t, torch.tensor(n)), x, gradients=False)
        check(lambda t, n=number: n - t, x, gradients=False)
    check(lambda t: t.clamp(0.5, 2.5), torch.tensor([3, -1, 2], dtype=torch.int8), gradients=False)


def test_a_threshold_is_an_fp32_number_in_half_precision_too():
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.tensor([0.1, 1, -1, float("inf")]).to(dtype)
        for number in (0.1, 70000.0, 2.0**40):
            check(lambda t, n=number: functional.threshold(t, n, 1), x, gradients=False)
        text = refused(
            lambda device, x=x: functional.threshold(x.to(device), 1e39, 1), RuntimeError
        )
        assert "without overflow" in text


def test_a_limit_that_is_nan_makes_nan_whatever_the_other_is():
    nan = float("nan")
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.int8):
        x = torch.tensor([1, 0, -1]).to(dtype)
        for low, high in ((nan, 2.0**31), (1e39, nan), (nan, None), (nan, nan), (nan, 0)):
            check(lambda t, a=low, b=high: t.clamp(a, b), x, gradients=False)


def test_a_float_without_dimensions_takes_any_number():
    single = torch.tensor(1.0, dtype=torch.float16)
    check(lambda t: t.detach().clone().fill_(1e6), single, gradients=False)
    half = torch.tensor([0.5, -0.5], dtype=torch.float16)
    check(lambda t: torch.where(t > 0, t, 1e6), half, gradients=False)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64])
def test_addcdiv_refuses_to_divide_integers_by_integers(dtype):
    for first in (dtype, torch.float32):
        text = refused(
            lambda device, t=first: torch.addcdiv(torch.ones(2, dtype=t, device=device),
                torch.ones(2, dtype=dtype, device=device),
                torch.ones(2, dtype=dtype, device=device)), RuntimeError,
        )  # fmt: skip
        assert text.startswith("Integer division with addcdiv is no longer supported")
    parts = torch.ones(2), torch.tensor([2, 4], dtype=dtype)
    check(lambda x, y: torch.addcdiv(x, x, y), *parts, gradients=False)


def of_channels(*counts, training=True):
    """native_batch_norm of three channels with vectors of these lengths."""

    def call(device):
        vectors = [None if n is None else torch.ones(n, device=device) for n in counts]
        x = torch.randn(4, 3, device=device)
        return torch.native_batch_norm(x, *vectors, training, 0.1, 1e-5)

    return call


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("length", (1, 2, 4))
def test_batch_norm_refuses_vectors_of_other_lengths(place, length):
    """Below nn.functional nothing of torch checks them."""
    counts = [3, 3, 3, 3]
    counts[place] = length
    names = ("weight", "bias", "running_mean", "running_var")
    with pytest.raises(RuntimeError, match=f"{names[place]} should contain 3 elements not"):
        of_channels(*counts)(torch.device(DEVICE))
    of_channels(3, 3, 3, 3)(torch.device(DEVICE))


def test_batch_norm_in_evaluation_mode_needs_statistics():
    for counts in ((3, 3, None, None), (3, 3, 3, None)):
        with pytest.raises(RuntimeError, match="must be defined"):
            of_channels(*counts, training=False)(torch.device(DEVICE))


def test_arguments_are_checked_before_there_is_nothing_to_do():
    refused(lambda d: torch.ones(5, 0, 2, device=d).flip((-1, 1, 2)), RuntimeError)
    refused(lambda d: torch.ones(0, device=d).index_select(-1, torch.zeros(1, device=d).long()),
            IndexError)  # fmt: skip
    refused(lambda d: torch.ones(9, device=d).take(torch.ones(1, device=d).int()), RuntimeError)
    columns = torch.ones(0, 1, 5, 5, dtype=torch.uint8)
    refused(lambda d: functional.unfold(columns.to(d), (2, 2)), NotImplementedError)


@pytest.mark.parametrize("value", (float("nan"), float("inf")))
def test_eigenvalues_of_what_is_not_finite_are_refused(value):
    """The CPU's kernel of torch 2.13 ends the process."""
    matrix = torch.full((2, 2), value, device=DEVICE)
    torch.neuron_sim.set_fallback_policy("allow")
    with pytest.raises(RuntimeError, match="should not contain infs or NaNs"):
        torch.linalg.eigvals(matrix)
    assert torch.linalg.eigvals(torch.eye(2, device=DEVICE)).tolist() == [1, 1]


def test_targets_have_the_sizes_of_the_scores():
    """nll_loss of images gathered from parts of them."""
    for sizes in ((2, 1, 2), (2, 2, 3), (1, 3, 3)):
        target = torch.zeros(sizes, dtype=torch.long)
        refused(
            lambda d, t=target: functional.nll_loss(torch.randn(2, 3, 3, 3, device=d), t.to(d)),
            Exception,
        )
    target = torch.zeros(2, 3, 3, dtype=torch.long, device=DEVICE)
    functional.nll_loss(torch.randn(2, 3, 3, 3, device=DEVICE), target)


def test_losses_refuse_other_dtypes():
    def weighted(device):
        scores = torch.randn(2, 3, device=device)
        target = torch.zeros(2, dtype=torch.long, device=device)
        return functional.nll_loss(scores, target, torch.ones(3, device=device).bfloat16())

    refused(weighted, RuntimeError)
    half = torch.full((2,), 0.5)
    refused(
        lambda d: functional.binary_cross_entropy(half.to(d), half.to(d).bfloat16()), RuntimeError
    )


def test_results_of_another_dtype_are_refused_before_they_are_resized():
    for kind, call in (("gather", torch.gather), ("index_select", torch.index_select)):
        index = torch.zeros(2, 2).long() if kind == "gather" else torch.zeros(2).long()

        def write(device, call=call, index=index):
            out = torch.zeros(1, dtype=torch.float64, device=device)
            try:
                call(torch.ones(2, 2, device=device), 0, index.to(device), out=out)
            finally:
                assert out.shape == (1,), call

        refused(write, RuntimeError)


def test_put_checks_dtype_and_count():
    place = torch.zeros(1).long()
    for source, kind in ((torch.ones(1).int(), RuntimeError), (torch.ones(2), IndexError)):
        refused(lambda d, s=source: torch.ones(3, device=d).put_(place.to(d), s.to(d)), kind)


@pytest.mark.parametrize("groups", (0, 4, -1))
def test_groups_divide_the_channels(groups):
    """The operator itself: a division by zero ended the process."""
    x = torch.randn(2, 6, 3, device=DEVICE)
    with pytest.raises(RuntimeError, match="divisible by num_groups"):
        torch.native_group_norm(x, None, None, 2, 6, 3, groups, 1e-5)
    for weight in (torch.ones(5, device=DEVICE), torch.ones(7, device=DEVICE)):
        with pytest.raises(RuntimeError, match="size equal to the number of channels"):
            torch.native_group_norm(x, weight, None, 2, 6, 3, 3, 1e-5)


@pytest.mark.parametrize("function", (torch.fmod, torch.remainder, torch.floor_divide))
def test_results_of_floats_are_not_written_into_integers(function):
    def write(device):
        out = torch.zeros(1, dtype=torch.int32, device=device)
        return function(torch.ones(3, device=device), torch.ones(3, device=device), out=out)

    refused(write, RuntimeError)


def test_heaviside_takes_one_dtype():
    refused(
        lambda d: torch.ones(3, device=d).heaviside(torch.ones(3, device=d).int()), RuntimeError
    )


@pytest.mark.parametrize("sizes", ((), (3,)))
def test_scores_of_images_have_a_dimension_of_classes(sizes):
    scores, target = torch.randn(sizes, device=DEVICE), torch.zeros(2, dtype=torch.long).to(DEVICE)
    with pytest.raises(RuntimeError, match="has no dimension of classes"):
        torch.ops.aten.nll_loss2d_forward(scores, target, None, 1, -100)
