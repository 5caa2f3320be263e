"""Dtypes and sizes of operands that do not go together are refused as on the CPU, those that do are
taken: found by random calls (`tests/fuzz`)."""

import itertools

import pytest
import torch
from against_cpu import DEVICE, check
from device_type import DEVICE_TYPE
from torch.nn import functional

REFUSED = {
    "output padding of 2 strides": lambda d: functional.conv_transpose1d(
        torch.ones(1, 3, 4, device=d), torch.ones(3, 3, 3, device=d), stride=2, output_padding=2
    ),
    "output padding of one axis": lambda d: functional.conv_transpose2d(
        torch.ones(1, 3, 4, 4, device=d), torch.ones(3, 3, 3, 3, device=d), stride=(2, 1),
        output_padding=(1, 1),
    ),
    "output padding of a volume": lambda d: functional.conv_transpose3d(
        torch.ones(1, 1, 2, 2, 2, device=d), torch.ones(1, 1, 2, 2, 2, device=d),
        output_padding=(0, 0, 1),
    ),
    "addr_ of a lower dtype": lambda d: torch.ones(2, 2, dtype=torch.int32, device=d).addr_(
        torch.ones(2, device=d), torch.ones(2, device=d)
    ),
    "masked_select into another dtype": lambda d: torch.masked_select(
        torch.ones(2, device=d), torch.tensor([True, False], device=d),
        out=torch.zeros(1, dtype=torch.uint8, device=d),
    ),
    "masked_scatter with numbers as mask": lambda d: torch.ones(2, device=d).masked_scatter(
        torch.ones(2, device=d), torch.ones(2, device=d)
    ),
    "masked_select with numbers as mask": lambda d: torch.masked_select(
        torch.ones(2, device=d), torch.ones(2, device=d)
    ),
    "kthvalue into its input": lambda d: torch.kthvalue(
        (x := torch.ones(3, device=d)), 2, out=(x, torch.zeros((), dtype=torch.long, device=d))
    ),
    "kthvalue of booleans": lambda d: torch.tensor([True, False], device=d).kthvalue(1),
    "all into numbers": lambda d: torch.all(
        torch.ones(3, 4, device=d), dim=1, out=torch.empty(3, device=d)
    ),
    "any into a number": lambda d: torch.any(
        torch.ones(3, 4, device=d), out=torch.empty((), device=d)
    ),
    "signs into bytes": lambda d: torch.signbit(
        torch.ones(3, device=d), out=torch.empty(3, dtype=torch.uint8, device=d)
    ),
    "infinities into numbers": lambda d: torch.isneginf(
        torch.ones(3, device=d), out=torch.empty(3, device=d)
    ),
    "places of maxima into floats": lambda d: torch.max(
        torch.ones(3, 4, device=d), dim=1,
        out=(torch.empty(3, device=d), torch.empty(3, device=d)),
    ),
    "minima into another dtype": lambda d: torch.min(
        torch.ones(3, 4, device=d), dim=1,
        out=(torch.empty(3, dtype=torch.int32, device=d),
             torch.empty(3, dtype=torch.int64, device=d)),
    ),
    "places into floats": lambda d: torch.argmax(
        torch.ones(3, 4, device=d), dim=1, out=torch.empty(3, device=d)
    ),
    "a transposed convolution without an output": lambda d: functional.conv_transpose2d(
        torch.ones(1, 1, 1, 7, device=d), torch.ones(1, 1, 1, 1, device=d), padding=(1, 0)
    ),
    "a transposed convolution without depth": lambda d: functional.conv_transpose3d(
        torch.ones(1, 1, 1, 5, 5, device=d), torch.ones(1, 1, 1, 1, 1, device=d),
        padding=(1, 0, 0),
    ),
    "a running logarithm of nothing, along no dimension": lambda d: torch.logcumsumexp(
        torch.ones(0, 2, device=d), 3
    ),
    "a running sum of bool": lambda d: torch.ones(3, device=d).cumsum(0, dtype=torch.bool),
    "integers plus NaN times integers": lambda d: torch.ones(
        3, dtype=torch.int16, device=d
    ).index_add(
        0, torch.tensor([0], device=d), torch.ones(1, dtype=torch.int16, device=d),
        alpha=float("nan"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_cpu_refuses_is_refused_with_its_class_of_error(case):
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    with pytest.raises((RuntimeError, NotImplementedError, IndexError)) as expected:
        REFUSED[case](torch.device("cpu"))
    with pytest.raises(expected.type) as found:
        REFUSED[case](torch.device(DEVICE))
    assert found.type is expected.type


NORMS = {
    "layer": lambda x, w, b: functional.layer_norm(x, (6,), w, b),
    "group": lambda x, w, b: functional.group_norm(x, 2, w, b),
    "batch": lambda x, w, b: functional.batch_norm(x, None, None, w, b, True),
}
FLOATS = (torch.float32, torch.float16, torch.bfloat16)


@pytest.mark.parametrize("norm", NORMS)
def test_norms_take_the_dtypes_that_the_cpu_takes(norm):
    def outcome(device, dtypes):
        x, weight, bias = (
            None if dtype is None else torch.ones(shape, dtype=dtype, device=device)
            for dtype, shape in zip(dtypes, ((3, 6), 6, 6), strict=True)
        )
        try:
            return NORMS[norm](x, weight, bias).dtype
        except RuntimeError:
            return RuntimeError

    for dtypes in itertools.product(FLOATS, (*FLOATS, None), (*FLOATS, None)):
        assert outcome(DEVICE, dtypes) == outcome("cpu", dtypes), dtypes


@pytest.mark.parametrize(
    "loss", [functional.mse_loss, functional.huber_loss, functional.smooth_l1_loss]
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_losses_take_targets_of_bool(loss, dtype):
    target = torch.tensor([True, False, True])
    x = torch.tensor([0.5, 3.0, -2.0]).to(dtype)
    check(lambda x: loss(x, target.to(x.device)), x, gradients=False)


@pytest.mark.parametrize(
    "function", [torch.std, torch.var, lambda *x, **y: torch.std_mean(*x, **y)[0],
                 lambda *x, **y: torch.var_mean(*x, **y)[0]],
)  # fmt: skip
def test_a_variance_without_degrees_of_freedom_warns(function, recwarn):
    x = torch.ones(2, 3, device=DEVICE)
    assert function(x, dim=1, correction=2).isfinite().all()
    assert not recwarn.list
    for correction in (3, 4):
        with pytest.warns(UserWarning, match="degrees of freedom is <= 0"):
            assert not function(x, dim=1, correction=correction).isfinite().any()


OUT_ELSEWHERE = {
    "addr": lambda x, out: torch.addr(x, x[0], x[0], out=out),
    "aminmax": lambda x, out: torch.aminmax(x, out=(out, out.clone())),
    "argmax": lambda x, out: torch.argmax(x, out=out.long()),
    "isin": lambda x, out: torch.isin(x, x, out=out.bool()),
    "masked_select": lambda x, out: torch.masked_select(x, x > 0, out=out),
    "max": lambda x, out: torch.max(x, dim=0, out=(out, out.long())),
    "nansum": lambda x, out: torch.nansum(x, 0, out=out),
    "remainder": lambda x, out: torch.remainder(x, 2.0, out=out),
    "softmax": lambda x, out: torch.softmax(x, 0, out=out),
    "sort": lambda x, out: torch.sort(x, out=(out, out.long())),
    "std": lambda x, out: torch.std(x, out=out),
    "triu": lambda x, out: torch.triu(x, out=out),
}


FLOATS_INTO_INTEGERS = {
    "index_add": lambda x, out: torch.index_add(x, 0,
        torch.zeros(3, dtype=torch.int64, device=x.device), x, out=out),
    "index_reduce": lambda x, out: torch.index_reduce(x, 0,
        torch.zeros(3, dtype=torch.int64, device=x.device), x, "amax", out=out),
    "nansum": lambda x, out: torch.nansum(x, 0, out=out),
    "scatter_add": lambda x, out: torch.scatter_add(x, 0,
        torch.zeros(3, 3, dtype=torch.int64, device=x.device), x, out=out),
    "softmax": lambda x, out: torch.ops.aten._softmax.out(x, 0, False, out=out),
    "sort": lambda x, out: torch.sort(x, dim=0, out=(out, out.clone())),
    "std": lambda x, out: torch.std(x, dim=0, out=out),
    "topk": lambda x, out: torch.topk(x, 2, dim=0, out=(out, out.clone())),
}  # fmt: skip


@pytest.mark.parametrize("operator", FLOATS_INTO_INTEGERS)
@pytest.mark.parametrize("device", ["cpu", DEVICE])
def test_results_are_not_cast_to_a_dtype_that_loses_them(operator, device):
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    x = torch.ones(3, 3, device=device)
    out = torch.full((3, 3), 7, dtype=torch.int64, device=device)
    with pytest.raises(RuntimeError):
        FLOATS_INTO_INTEGERS[operator](x, out)
    assert operator in ("sort", "topk") or (out == 7).all(), "nothing was written"


@pytest.mark.parametrize("place", ["cpu", f"{DEVICE_TYPE}:0"])
@pytest.mark.parametrize("operator", OUT_ELSEWHERE)
def test_a_result_elsewhere_is_refused(operator, place):
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    x, out = torch.ones(3, 3, device=DEVICE), torch.full((3, 3), 7.0, device=place)
    with pytest.raises(RuntimeError, match="two devices"):
        OUT_ELSEWHERE[operator](x, out)
    assert (out == 7).all(), "nothing was written"


def test_an_expanded_tensor_is_bounded_in_place():
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    x = torch.tensor([0.25], device=DEVICE).expand(6)
    assert (functional.threshold_(x, 0.5, 3.0) == 3).all()


def test_an_expanded_tensor_is_filled_through_a_mask_with_torchs_warning():
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    x = torch.ones(1, device=DEVICE).expand(6)
    mask = torch.tensor([True, False, True, True, False, False], device=DEVICE)
    with pytest.warns(UserWarning, match="expanded tensors"):
        x.masked_fill_(mask, 0.0)
    assert (x == 0).all()


def test_addr_in_place_promotes_and_casts_back():
    def sums(device):
        vector = torch.tensor([3.25, -2], device=device)
        return torch.ones(2, 2, dtype=torch.float16, device=device).addr_(vector, vector).cpu()

    assert torch.equal(sums(DEVICE), sums("cpu"))
    assert sums(DEVICE).dtype == torch.float16


def test_an_output_padding_below_the_dilation_is_taken():
    weight = torch.randn(2, 2, 3)
    check(
        lambda x: functional.conv_transpose1d(
            x, weight.to(x), stride=2, dilation=4, output_padding=3
        ),
        torch.randn(1, 2, 5),
    )


@pytest.mark.parametrize("call", [
    lambda x: torch.aminmax(x, dim=1, out=(x[:, 0].clone(), x[:, 0].half())),
    lambda x: torch.roll(x, ()),
    lambda x: torch.roll(x, (1, 2)),
    lambda x: torch.roll(x, (1, 2), (0,)),
])  # fmt: skip
def test_these_are_refused_in_torchs_words(call):
    sentences = []
    for device in ("cpu", DEVICE):
        with pytest.raises(RuntimeError) as refusal:
            call(torch.ones(3, 4, device=device))
        sentences.append(str(refusal.value).splitlines()[0])
    assert sentences[1] == sentences[0]
