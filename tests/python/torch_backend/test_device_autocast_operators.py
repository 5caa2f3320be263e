"""torch.autocast("neuron_sim"): which operators run in which dtype."""

import neuron_sim.torch_device as device_module
import pytest
import torch
from device_type import DEVICE_TYPE
from torch.nn import functional

DEVICE = f"{DEVICE_TYPE}:1"
LOWER_DTYPES = pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)


@pytest.fixture(autouse=True)
def strict_and_seeded():
    torch.manual_seed(0)
    with device_module.strict():
        yield


def there(*shape, dtype=torch.float32, positive=False):
    tensor = torch.randn(shape)
    return (tensor.abs() + 0.5 if positive else tensor).to(dtype).to(DEVICE)


def autocast(dtype, **options):
    return torch.autocast(DEVICE_TYPE, dtype=dtype, **options)


# Which operators run in which dtype. Each is called with tensors of float32 and of the low dtype.

LOWERED = {
    "mm": lambda t: t(3, 5) @ t(5, 4), "matmul of batches": lambda t: t(2, 3, 5) @ t(5, 4),
    "bmm": lambda t: torch.bmm(t(2, 3, 5), t(2, 5, 4)), "mv": lambda t: torch.mv(t(3, 5), t(5)),
    "addmm": lambda t: torch.addmm(t(4), t(3, 5), t(5, 4)),
    "addmv": lambda t: torch.addmv(t(3), t(3, 5), t(5)),
    "baddbmm": lambda t: torch.baddbmm(t(2, 3, 4), t(2, 3, 5), t(2, 5, 4)),
    "einsum": lambda t: torch.einsum("bij,bjk->bik", t(2, 3, 5), t(2, 5, 4)),
    "multi_dot": lambda t: torch.linalg.multi_dot([t(3, 5), t(5, 4), t(4, 2)]),
    "linear": lambda t: functional.linear(t(3, 5), t(4, 5), t(4)),
    "conv1d": lambda t: functional.conv1d(t(2, 3, 9), t(4, 3, 3), t(4)),
    "conv2d": lambda t: functional.conv2d(t(2, 3, 9, 7), t(4, 3, 3, 3), t(4)),
    "conv3d": lambda t: functional.conv3d(t(1, 2, 5, 5, 5), t(3, 2, 3, 3, 3)),
    "conv_transpose2d": lambda t: functional.conv_transpose2d(t(1, 3, 5, 5), t(3, 4, 3, 3)),
    "prelu": lambda t: functional.prelu(t(2, 3), t(3)),
    "attention": lambda t: functional.scaled_dot_product_attention(t(1, 2, 6, 8), t(1, 2, 6, 8),
        t(1, 2, 6, 8)),
}  # fmt: skip

RAISED = {
    "exp": lambda t: t(3, 4).exp(), "expm1": lambda t: t(3, 4).expm1(),
    "log": lambda t: t(3, 4).log(), "log2": lambda t: t(3, 4).log2(),
    "log10": lambda t: t(3, 4).log10(), "log1p": lambda t: t(3, 4).log1p(),
    "reciprocal": lambda t: t(3, 4).reciprocal(), "rsqrt": lambda t: t(3, 4).rsqrt(),
    "cosh": lambda t: t(3, 4).cosh(), "sinh": lambda t: t(3, 4).sinh(),
    "tan": lambda t: t(3, 4).tan(), "pow of numbers": lambda t: t(3, 4).pow(2.5),
    "pow of tensors": lambda t: t(3, 4).pow(t(3, 4)), "number to a power": lambda t: 2.0 ** t(3, 4),
    "softplus": lambda t: functional.softplus(t(3, 4)),
    "layer_norm": lambda t: functional.layer_norm(t(3, 4), [4], t(4), t(4)),
    "group_norm": lambda t: functional.group_norm(t(2, 4, 5), 2, t(4), t(4)),
    "rms_norm": lambda t: functional.rms_norm(t(3, 4), [4], t(4)),
    "cosine_similarity": lambda t: functional.cosine_similarity(t(3, 4), t(3, 4)),
    "mse_loss": lambda t: functional.mse_loss(t(3, 4), t(3, 4)),
    "l1_loss": lambda t: functional.l1_loss(t(3, 4), t(3, 4)),
    "smooth_l1_loss": lambda t: functional.smooth_l1_loss(t(3, 4), t(3, 4)),
    "huber_loss": lambda t: functional.huber_loss(t(3, 4), t(3, 4)),
    "kl_div": lambda t: functional.kl_div(t(3, 4), t(3, 4), reduction="sum"),
    "binary_cross_entropy_with_logits": lambda t: functional.binary_cross_entropy_with_logits(
        t(3, 4), t(3, 4)),
    "nll_loss": lambda t: functional.nll_loss(t(3, 4), torch.tensor([0, 3, 1]).to(t.device)),
    "logsumexp": lambda t: t(3, 4).logsumexp(1), "softmax": lambda t: t(3, 4).softmax(1),
    "log_softmax": lambda t: t(3, 4).log_softmax(1), "sum": lambda t: t(3, 4).sum(),
    "sum of a dimension": lambda t: t(3, 4).sum(1), "prod": lambda t: t(3, 4).prod(),
    "cumsum": lambda t: t(3, 4).cumsum(1), "cumprod": lambda t: t(3, 4).cumprod(1),
    "norm": lambda t: t(3, 4).norm(), "norm of a dimension": lambda t: torch.norm(t(3, 4), dim=1),
    "aten's norm": lambda t: torch.ops.aten.norm.Scalar(t(3, 4), 2.0),
    "aten's norm of a dimension": lambda t: torch.ops.aten.norm.ScalarOpt_dim(t(3, 4), 2.0, [1]),
    "vector_norm": lambda t: torch.linalg.vector_norm(t(3, 4), 1.0),
    "interpolate": lambda t: functional.interpolate(t(1, 2, 5, 5), scale_factor=2),
}  # fmt: skip

KEPT = {
    "relu": lambda t: t(3, 4).relu(), "gelu": lambda t: functional.gelu(t(3, 4)),
    "tanh": lambda t: t(3, 4).tanh(), "addition of a number": lambda t: t(3, 4) + 1.5,
    "multiplication": lambda t: t(3, 4) * t(3, 4), "mean": lambda t: t(3, 4).mean(),
    "max_pool2d": lambda t: functional.max_pool2d(t(1, 2, 6, 6), 2),
    "avg_pool2d": lambda t: functional.avg_pool2d(t(1, 2, 6, 6), 2),
    "batch_norm": lambda t: functional.batch_norm(t(3, 4), None, None, training=True),
    "dropout of nothing": lambda t: functional.dropout(t(3, 4), 0.0),
    "concatenation": lambda t: torch.cat([t(3, 4), t(3, 4)]),
}  # fmt: skip


class Operands:
    """Makes tensors of positive numbers on the device, and keeps them."""

    device = DEVICE

    def __init__(self, dtype):
        self.dtype = dtype
        self.made = []

    def __call__(self, *shape):
        self.made.append(there(*shape, dtype=self.dtype, positive=True))
        return self.made[-1]


class Again:
    """The same numbers on the CPU, rounded to `dtype`, in float64."""

    device = "cpu"

    def __init__(self, operands, dtype):
        self.left = [x.cpu().to(dtype).double() for x in operands.made]

    def __call__(self, *shape):
        return self.left.pop(0)


def both_inputs(call, dtype, seen_in=None):
    """Results for operands of float32 and of the low dtype, compared with float64 on operands that
    were rounded to `seen_in` first (their own dtype by default)."""
    results = []
    for own in (torch.float32, dtype):
        operands = Operands(own)
        with autocast(dtype):
            results.append(call(operands))
        expected = call(Again(operands, seen_in or own))
        error = 8 * torch.finfo(results[-1].dtype).eps
        torch.testing.assert_close(results[-1].cpu().double(), expected, rtol=error, atol=error)
    return results


@LOWER_DTYPES
@pytest.mark.parametrize("name", LOWERED)
def test_products_run_in_the_low_dtype(name, dtype):
    assert [result.dtype for result in both_inputs(LOWERED[name], dtype, dtype)] == [dtype, dtype]


@LOWER_DTYPES
@pytest.mark.parametrize("name", RAISED)
def test_what_needs_range_runs_in_float32(name, dtype):
    results = both_inputs(RAISED[name], dtype)
    assert [result.dtype for result in results] == [torch.float32, torch.float32]


@LOWER_DTYPES
@pytest.mark.parametrize("name", KEPT)
def test_other_operators_keep_the_dtype_of_their_operands(name, dtype):
    results = both_inputs(KEPT[name], dtype)
    assert [result.dtype for result in results] == [torch.float32, dtype]


PROMOTED = {
    "addcmul": lambda low, wide: torch.addcmul(low(3, 4), wide(3, 4), low(3, 4)),
    "addcdiv": lambda low, wide: torch.addcdiv(low(3, 4), wide(3, 4), low(3, 4)),
    "dot": lambda low, wide: torch.dot(low(4), wide(4)),
    "tensordot": lambda low, wide: torch.tensordot(low(3, 4), wide(4, 3), dims=0),
    "scatter_add": lambda low, wide: low(3, 4).scatter_add(0,
        torch.zeros(2, 4, dtype=torch.int64).to(DEVICE), wide(2, 4)),
    "index_put": lambda low, wide: low(3, 4).index_put([torch.tensor([2, 0]).to(DEVICE)],
        wide(2, 4)), "addition": lambda low, wide: low(3, 4) + wide(3, 4),
    "concatenation": lambda low, wide: torch.cat([low(3, 4), wide(2, 4)]),
    "stack": lambda low, wide: torch.stack([low(3, 4), wide(3, 4)]),
}  # fmt: skip


@LOWER_DTYPES
@pytest.mark.parametrize("name", PROMOTED)
def test_operators_of_several_tensors_take_the_widest_dtype(name, dtype):
    with autocast(dtype):
        result = PROMOTED[name](
            lambda *s: there(*s, dtype=dtype, positive=True), lambda *s: there(*s, positive=True)
        )
    assert result.dtype == torch.float32


@LOWER_DTYPES
def test_a_lowered_product_rounds_its_operands_and_its_result_once(dtype):
    a, b = torch.randn(33, 70), torch.randn(70, 21)
    with autocast(dtype):
        found = (a.to(DEVICE) @ b.to(DEVICE)).cpu()
    a, b = a.to(dtype).double(), b.to(dtype).double()
    bound = torch.finfo(dtype).eps * (a @ b).abs() + 70 * 2.0**-24 * (a.abs() @ b.abs())
    assert ((found.double() - a @ b).abs() <= bound).all()


@LOWER_DTYPES
def test_integers_and_doubles_are_not_cast(dtype):
    with autocast(dtype):
        assert (torch.arange(4, device=DEVICE) + 1).dtype == torch.int64
        with pytest.raises(NotImplementedError, match="strict mode"):
            torch.ones(2, 2, dtype=torch.float64).to(DEVICE).mm(
                torch.ones(2, 2, dtype=torch.float64).to(DEVICE)
            )
    host = torch.ones(2, 2)
    with autocast(dtype):
        assert (host @ host).dtype == torch.float32  # of another device


@LOWER_DTYPES
def test_binary_cross_entropy_of_probabilities_is_refused_with_the_safe_one_named(dtype):
    probabilities = there(3, 4).sigmoid()
    with autocast(dtype):
        with pytest.raises(RuntimeError, match="unsafe to autocast.*with_logits"):
            functional.binary_cross_entropy(probabilities, there(3, 4).sigmoid())
        with autocast(dtype, enabled=False):
            functional.binary_cross_entropy(probabilities, there(3, 4).sigmoid())
