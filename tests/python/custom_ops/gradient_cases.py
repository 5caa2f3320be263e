"""Generated cases of the backward ops, reproducible, and their float64 gradients with bounds."""

import random

import torch
from custom_ops_oracle import FLOATS, LAYOUTS, activate, laid_out, ulp, values
from device_type import DEVICE_TYPE

CASES = 60
EPSILON = 2.0**-24  # half a unit of fp32


def cases(name, make):
    """CASES of `make(random)`, the same in every run."""
    return [make(random.Random(f"{name} {i}")) for i in range(CASES)]


def operand(case, shape, dtype, seed, change=None):
    """A tensor in a random layout on the device and, with the same values, on the CPU."""
    tensor = values(shape, torch.float32, seed)
    if change is not None:
        tensor = change(tensor)
    layout = case.choice(LAYOUTS)
    tensor = laid_out(tensor.to(dtype), layout).contiguous()
    return tensor, laid_out(tensor, layout, DEVICE_TYPE)


def derivative(sums, gradient, name):
    """gradient * activation'(sums) by autograd, in the dtype of sums."""
    leaf = sums.detach().clone().requires_grad_()
    (result,) = torch.autograd.grad(activate(leaf, name), leaf, gradient)
    return result


def pointwise_bounds(sums, gradient, name):
    """The gradient of the sums and its error. Sums are off by half a unit, which the derivative
    hands on; it is computed with a few roundings, of 1 where it is a difference (1 - y, 1 - y * y,
    Phi + x phi)."""
    exact = derivative(sums, gradient, name)
    moved = [derivative(sums * (1 + step * 2 * EPSILON), gradient, name) for step in (-1, 1)]
    spread = torch.stack([(one - exact).abs() for one in moved]).amax(0)
    return exact, spread + 16 * EPSILON * (exact.abs() + gradient.abs())


def softmax_bounds(sums, gradient):
    """y * (g - sum(g * y)): every y is off by a factor of e^(2 * error of a sum) and a few units,
    the sum in addition by a unit for each of its terms."""
    exact = derivative(sums, gradient, "softmax")
    y = torch.softmax(sums, -1)
    features = max(sums.size(-1), 1)
    largest = sums.abs().amax(-1, keepdim=True) if sums.numel() else sums
    factor = EPSILON * (4 * largest + features + 16)
    weighted = (gradient.abs() * y).sum(-1, keepdim=True)
    return exact, 2 * factor * y * (gradient.abs() + weighted)


def sum_bounds(terms, error, dimensions):
    """Sum over dimensions of terms that are each off by `error`, accumulated in fp32."""
    count = 1
    for dimension in dimensions:
        count *= terms.size(dimension)
    magnitude = terms.abs() + error
    if not dimensions:
        return terms, error
    return terms.sum(dimensions), error.sum(dimensions) + count * EPSILON * magnitude.sum(
        dimensions
    )


def convolution_case(case):
    """Sizes and options that fit; small multiples of 1/4 and 1/2 as values, so that sums are exact,
    equal maxima frequent and none is decided by rounding."""
    groups = case.choice([1, 1, 2, 3])
    kernel = [case.randint(1, 4) for _ in range(2)]
    options = {
        "stride": [case.randint(1, 3) for _ in range(2)],
        "padding": [case.randint(0, 2) for _ in range(2)],
        "dilation": [case.randint(1, 2) for _ in range(2)],
        "groups": groups,
        "activation": case.choice(["identity", "relu", "tanh", "sigmoid", "gelu"]),
        "pool_stride": [case.randint(1, 3) for _ in range(2)],
    }
    pool = [case.randint(1, 3) for _ in range(2)]
    output = [pool[i] + case.randint(0, 6) for i in range(2)]
    size = [
        max(
            1,
            (output[i] - 1) * options["stride"][i]
            + options["dilation"][i] * (kernel[i] - 1)
            + 1
            - 2 * options["padding"][i],
        )
        + case.randint(0, options["stride"][i] - 1)
        for i in range(2)
    ]
    depth, filters = case.randint(1, 4), groups * case.randint(1, 4)
    shapes = (
        [case.choice([0, 1, 2, 3]), groups * depth, *size],
        [filters, depth, *kernel],
        [filters],
    )
    return shapes, pool, options, case.choice(FLOATS), case


def multiples_of(step):
    """Rounds values to multiples of `step`, at most 1."""
    return lambda tensor: (tensor.clamp(-1, 1) / step).round() * step


def convolve(x, weight, bias, options):
    return torch.nn.functional.conv2d(
        x, weight, bias, options["stride"], options["padding"], options["dilation"],
        options["groups"],
    )  # fmt: skip


def convolution_bounds(gradient, x, weight, bias, pool, options):
    """Three gradients with errors: that of the sums is rounded to the dtype, products with it are
    exact and accumulate in fp32, a unit for each term."""
    dtype = gradient.dtype
    gradient, x, weight, bias = (t.double() for t in (gradient, x, weight, bias))
    sums = convolve(x, weight, bias, options).requires_grad_()
    outer = torch.nn.functional.max_pool2d(
        activate(sums, options["activation"]), pool, options["pool_stride"]
    )
    (inner,) = torch.autograd.grad(outer, sums, gradient)
    # Several windows may have one maximum; the derivative is off by a few units of 1 times those.
    largest = gradient.abs().amax() if gradient.numel() else torch.tensor(0.0).double()
    windows = pool[0] * pool[1]
    error = ulp(inner, dtype) * 0.5 + 32 * EPSILON * windows * largest
    if options["activation"] in ("identity", "relu"):
        error = torch.where(inner == 0, torch.zeros_like(error), error)

    def backward(gradient, x, weight):
        return torch.ops.aten.convolution_backward(
            gradient, x, weight, [weight.size(0)], options["stride"], options["padding"],
            options["dilation"], False, [0, 0], options["groups"], [True, True, True],
        )  # fmt: skip

    terms = [weight.size(0) // options["groups"] * weight[0, 0].numel()]
    terms += [inner.numel() // max(inner.size(1), 1)] * 2
    exact = backward(inner, x, weight)
    errors = backward(error, x.abs(), weight.abs())
    magnitudes = backward(inner.abs() + error, x.abs(), weight.abs())
    return [
        (value, off + count * EPSILON * magnitude)
        for value, off, magnitude, count in zip(exact, errors, magnitudes, terms, strict=True)
    ]


def layer_gradient_bounds(sums, spread, gradient, off, name):
    """gradient * activation'(sums), where sums are off by `spread` and the gradient by `off`."""
    if name == "softmax":
        y = torch.softmax(sums, -1)
        exact, error = softmax_bounds(sums, gradient)
        moved = 2 * spread.amax(-1, keepdim=True) if sums.numel() else spread
        weighted = (gradient.abs() * y).sum(-1, keepdim=True)
        return exact, 2 * error + 2 * torch.expm1(moved) * y * (gradient.abs() + weighted) + 2 * (
            y * (off + (off * y).sum(-1, keepdim=True))
        )
    ones = torch.ones_like(sums)
    slope = derivative(sums, ones, name)
    # The ends of the interval, and 0 inside it, where slopes have their extremes.
    nearest = torch.where(sums.abs() < spread, torch.zeros_like(sums), sums)
    moved = torch.stack(
        [derivative(point, ones, name) for point in (sums - spread, sums + spread, nearest)]
    )
    change = (moved - slope).abs().amax(0)
    largest = slope.abs() + change
    error = change * gradient.abs() + largest * off
    return slope * gradient, error + 16 * EPSILON * (1 + largest) * (gradient.abs() + off)


def product_with_errors(a, a_off, b, dtype):
    """a @ b for an a that is off by `a_off`, accumulated in fp32 and rounded to the dtype."""
    magnitude = (a.abs() + a_off) @ b.abs()
    error = a_off @ b.abs() + a.size(-1) * EPSILON * magnitude
    return a @ b, error + ulp(magnitude, dtype)


def network_gradient_bounds(gradient, operands, functions):
    """Gradients of ffnn_forward with errors, which pass from layer to layer: every layer rounds its
    product, its value and both gradients to the dtype. `operands`: x, weights, biases."""
    dtype, count = gradient.dtype, len(functions)
    x, *parameters = (t.double() for t in operands)
    weights, biases = parameters[:count], parameters[count:]
    layers, value, off = [], x, torch.zeros_like(x)
    for weight, bias, name in zip(weights, biases, functions, strict=True):
        product, spread = product_with_errors(value, off, weight, dtype)
        sums = product + bias
        spread = spread + 2 * EPSILON * sums.abs()
        layers.append((value, off, sums, spread))
        if name == "softmax":
            continue  # the last one: its value is not needed
        points = torch.stack([activate(sums + step * spread, name) for step in (-1, 0, 1)])
        value = points[1]
        off = (points - value).abs().amax(0) + 16 * EPSILON + ulp(points.abs().amax(0), dtype)
    outer, off = gradient.double(), torch.zeros_like(gradient).double()
    of_weights, of_biases = [], []
    for weight, name, (value, value_off, sums, spread) in zip(
        reversed(weights), reversed(functions), reversed(layers), strict=True
    ):
        inner, error = layer_gradient_bounds(sums, spread, outer, off, name)
        error = error + ulp(inner.abs() + error, dtype)
        of_biases.insert(0, sum_bounds(inner, error, [0]))
        exact, moved = product_with_errors(value.t(), value_off.t(), inner, dtype)
        of_weights.insert(0, (exact, moved + (value.abs() + value_off).t() @ error))
        outer, off = product_with_errors(inner, error, weight.t(), dtype)
    return [(outer, off), *of_weights, *of_biases]
