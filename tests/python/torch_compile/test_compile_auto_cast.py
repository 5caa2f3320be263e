"""torch.compile(backend="neuron_sim", options={"auto_cast": "matmult"}): products of float32."""

import pytest
import torch
from compile_support import (
    compiled,
    fresh_compiler,  # noqa: F401
    on_device,
)
from device_type import DEVICE_TYPE
from torch import nn
from torch.nn import functional as F

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def cast(function, kind="bf16"):
    return compiled(function, options={"auto_cast": "matmult", "auto_cast_type": kind})


def rounded(tensor, kind="bf16"):
    """As the operand of a product, in float64 on the CPU."""
    return tensor.detach().cpu().to(DTYPES[kind]).double()


def assert_sums(found, expected):
    """Sums in float32 of exact products; rounding them to 16 bits would be 2e-3 away."""
    assert found.dtype == torch.float32
    difference = (found.cpu().double() - expected).abs().max() / expected.abs().max()
    assert difference < 1e-6, difference


@pytest.mark.parametrize("kind", DTYPES)
def test_products_round_their_operands_and_nothing_else(kind):
    x, weight, bias = on_device(70, 90), on_device(50, 90, seed=1), on_device(50, seed=2)
    found = cast(F.linear, kind)(x, weight, bias)
    expected = rounded(x, kind) @ rounded(weight, kind).t() + bias.cpu().double()
    assert_sums(found, expected)


def test_batches_of_products_round_their_operands():
    x, y = on_device(3, 20, 30), on_device(3, 30, 40, seed=1)
    assert_sums(cast(torch.bmm)(x, y), rounded(x) @ rounded(y))
    x, y = on_device(4, 20, 30), on_device(4, 40, 30, seed=1)
    assert_sums(cast(lambda x, y: x @ y.mT)(x, y), rounded(x) @ rounded(y).mT)


@pytest.mark.parametrize("groups", [1, 4])
def test_convolutions_round_their_operands_but_not_the_bias(groups):
    torch.manual_seed(0)
    layer = nn.Conv2d(8, 12, 3, padding=1, groups=groups)
    image = torch.randn(2, 8, 9, 7)
    expected = F.conv2d(
        rounded(image), rounded(layer.weight), layer.bias.detach().double(), padding=1,
        groups=groups,
    )  # fmt: skip
    layer.to(DEVICE_TYPE)
    with torch.no_grad():
        assert_sums(cast(layer)(image.to(DEVICE_TYPE)), expected)


def test_attention_rounds_its_operands_and_keeps_the_mask():
    q, k, v = (on_device(2, 3, 40, 16, seed=seed) for seed in range(3))
    mask = on_device(40, 40, seed=3) * 1e-3
    found = cast(F.scaled_dot_product_attention)(q, k, v, mask)
    expected = F.scaled_dot_product_attention(*map(rounded, (q, k, v)), mask.cpu().double())
    assert found.dtype == torch.float32
    difference = (found.cpu().double() - expected).abs().max()
    assert difference < 4e-3, "the exponentials are rounded too, as operands of the second product"


def test_an_operand_of_several_products_is_rounded_once():
    x, weights = on_device(70, 90), [on_device(90, 50, seed=seed) for seed in (1, 2, 3)]
    cast(lambda x, *weights: [x @ weight for weight in weights])(x, *weights)
    (graph,) = torch.neuron_sim.compiled_graphs()
    assert graph.kernels == 4 + 3, "casts of x and of the weights; products"


def test_weights_of_a_module_are_rounded_before_the_runs():
    model = nn.Linear(90, 50).to(DEVICE_TYPE)
    with torch.no_grad():
        cast(model)(on_device(70, 90))
    (graph,) = torch.neuron_sim.compiled_graphs()
    assert graph.constant_kernels == 1
    assert graph.arranged_bytes == 90 * 50 * 2


def test_other_dtypes_and_graphs_without_the_option_stay_as_they_are():
    x = on_device(70, 90)
    expected = x @ x.t()
    assert torch.equal(compiled(lambda x: x @ x.t())(x).cpu(), expected.cpu())
    x = x.half()
    assert torch.equal(cast(lambda x: x @ x.t())(x).cpu(), (x @ x.t()).cpu())


@pytest.mark.parametrize(("options", "message"), [
    ({"auto_cast": "all"}, "no auto_cast 'all'; there are 'none' and 'matmult'"),
    ({"auto_cast_type": "tf32"}, "no auto_cast_type 'tf32'; there are 'bf16' and 'fp16'"),
])  # fmt: skip
def test_options_that_do_not_exist_are_refused(options, message):
    with pytest.raises(Exception, match=message):
        compiled(lambda x: x + 1, options=options)(on_device(3))
