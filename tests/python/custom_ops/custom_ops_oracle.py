"""Operands in many layouts and a float64 oracle for the custom ops, with error bounds."""

import neuron_sim.torch_device  # noqa: F401
import torch
from device_type import DEVICE_TYPE

OPS = torch.ops.neuron_sim
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
INTEGERS = [torch.int32, torch.int16, torch.int8, torch.uint8]
LAYOUTS = ["dense", "transposed", "stepped", "shifted", "broadcast"]
DEVICES = [f"{DEVICE_TYPE}:0", f"{DEVICE_TYPE}:1", "cpu"]
POINTWISE = ["identity", "relu", "exp", "gelu", "sigmoid", "tanh", "square", "sqrt", "rsqrt"]
ACTIVATIONS = [*POINTWISE, "softmax"]
# Bits of the fraction and the smallest normal exponent.
FORMATS = {torch.float32: (23, -126), torch.float16: (10, -14), torch.bfloat16: (7, -126)}


def values(shape, dtype, seed):
    """Random values, reproducible: normal for floats, the whole range for integers."""
    generator = torch.Generator().manual_seed(seed)
    if dtype in FORMATS:
        return torch.randn(shape, generator=generator).to(dtype)
    info = torch.iinfo(dtype)
    return torch.randint(info.min, info.max + 1, shape, generator=generator).to(dtype)


def laid_out(tensor, layout, device="cpu"):
    """The same values on `device`, in memory as `layout` says."""
    if tensor.dim() == 0 or layout == "dense":
        return tensor.to(device)
    if layout == "transposed":
        order = list(reversed(range(tensor.dim())))
        return tensor.permute(order).contiguous().to(device).permute(order)
    if layout == "stepped":  # every second element of the last dimension
        wide = tensor.repeat_interleave(2, -1).to(device)
        return wide[..., ::2]
    if layout == "shifted":  # a window inside a larger tensor
        padded = torch.nn.functional.pad(tensor, (3, 2) + (1, 0) * (tensor.dim() - 1))
        padded = padded.to(device)
        for dimension in range(tensor.dim()):
            first = 3 if dimension == tensor.dim() - 1 else 1
            padded = padded.narrow(dimension, first, tensor.size(dimension))
        return padded
    if tensor.size(0) == 0:
        return tensor.to(device)
    return tensor[:1].to(device).expand_as(tensor)  # stride 0; only the first row's values


def as_seen(tensor, layout):
    """What laid_out holds, dense on the CPU."""
    return laid_out(tensor, layout).contiguous()


def ulp(exact, dtype):
    """Distance of neighbouring values of `dtype` at a float64 value."""
    bits, smallest = FORMATS[dtype]
    exponent = torch.frexp(exact.abs().nan_to_num(0, 0, 0)).exponent - 1
    return torch.exp2((exponent.clamp(min=smallest) - bits).double())


def activate(x, name):
    """A pointwise activation or softmax, in the dtype of x."""
    functions = {
        "identity": lambda v: v,
        # torch's 1 + erf(x) cancels where x is far below 0; erfc does not.
        "gelu": lambda v: v * torch.special.erfc(v * -(0.5**0.5)) / 2,
        "softmax": lambda v: torch.softmax(v, -1),
    }
    return functions.get(name, getattr(torch, name, None))(x)


def activation_range(sums, error, name, device):
    """Least and largest activation of sums - error ... sums + error."""
    low, high = exact_range(sums, error, name)
    if device == "cpu" and name not in ("identity", "relu", "square"):
        # oneDNN's functions: a few units in the last place; of x, not of the result, for gelu.
        slack = 2.0**-20 * (sums.abs() if name == "gelu" else high.abs()).nan_to_num(0, 0, 0)
        return low - slack, high + slack
    return low, high


def exact_range(sums, error, name):
    """The same for functions that are right to half a unit of fp32."""
    if name == "softmax":
        # Every exponential is off by a factor of at most e^(2 * the row's largest error).
        exact = activate(sums, name)
        factor = torch.expm1(2 * error.amax(-1, keepdim=True)) + sums.size(-1) * 2.0**-24 + 2**-21
        return exact * (1 - factor), exact * (1 + factor)
    candidates = torch.stack([activate(sums + step * error, name) for step in (-1, 0, 1)])
    return candidates.amin(0), candidates.amax(0)


def assert_within(actual, low, high, dtype, ulps=1):
    """low - ulps <= actual <= high + ulps (float64 bounds); NaN and infinities where they are."""
    actual = actual.cpu()
    assert actual.dtype == dtype
    assert actual.shape == low.shape
    exact = actual.double()
    assert torch.equal(exact.isnan(), low.isnan() | high.isnan())
    # An infinite bound, or one that rounds to infinity, is met by infinity.
    at_least = (low - ulps * ulp(low, dtype)).to(dtype).double()
    at_most = (high + ulps * ulp(high, dtype)).to(dtype).double()
    fine = exact.isnan() | ((exact >= at_least) & (exact <= at_most))
    assert fine.all(), f"{actual[~fine][:5]} not in {low[~fine][:5]} ... {high[~fine][:5]}"


def product_bounds(a, b):
    """float64 product and its error bound in fp32 accumulation: K * 2^-24 * sum |a b|."""
    a, b = a.double(), b.double()
    magnitude = a.abs() @ b.abs()
    return a @ b, (a.size(-1) * 2.0**-24 * magnitude).nan_to_num(0, 0, 0)


def network_bounds(x, weights, biases, hidden, output, device):
    """Bounds of ffnn_forward: errors of a layer pass through the absolute weights of the next."""
    value, error = x.double(), torch.zeros_like(x, dtype=torch.float64)
    for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
        sums, rounding = product_bounds(value, weight)
        magnitude = (value.abs() + error) @ weight.double().abs()
        rounding = weight.size(0) * 2.0**-24 * magnitude
        sums = sums + bias.double()
        spread = error @ weight.double().abs() + rounding + 2.0**-23 * sums.abs()
        last = layer == len(weights) - 1
        low, high = activation_range(sums, spread, output if last else hidden, device)
        if last:
            return low, high
        value = activate(sums, hidden)
        error = torch.maximum(high - value, value - low) + ulp(high.abs(), x.dtype)
    raise AssertionError("a network has layers")
