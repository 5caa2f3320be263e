"""neuronxcc.nki.language: element-wise functions, which are operator arguments of nki.isa as well.

Operands are tiles in SBUF or PSUM, or numbers where another operand is a tile; free dimensions
broadcast. `dtype`: of the result, the promoted one unless given (bool for comparisons). `mask`: the
part that takes part. Results are written straight into their assignment targets.
"""

from neuron_sim import _core
from neuron_sim.neuronxcc.nki.isa.results import refuse
from neuron_sim.nki.isa.operators import NAMES
from neuron_sim.nki.lowering import elementwise as lowering
from neuron_sim.nki.tracing import current
from neuron_sim.nki.tracing.operators import PLAIN, plain_binary

plain_unary = _core.plain_unary


def _named(function, name, text, operator):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    function.__module__ = __name__
    if operator:
        NAMES[function] = name
    return function


def _binary(name, text, operator=True):
    def function(x, y, *, dtype=None, mask=None, **kwargs):
        if kwargs:
            refuse(name, kwargs)
        if is_plain and dtype is None and mask is None:
            made = plain_binary(name, x, y)
            if made is not None:
                return made
        return lowering.binary(name, x, y, dtype, mask)

    is_plain = name in PLAIN
    return _named(function, name, text, operator)


def _remainder(name, text):
    def function(x, y, dtype=None, mask=None, **kwargs):
        if kwargs:
            refuse(name, kwargs)
        return lowering.binary(name, x, y, dtype, mask)

    return _named(function, name, text, False)


def _unary(name, text, operator=True):
    by_activation = name in lowering.ACTIVATIONS
    is_plain = by_activation and name not in lowering.SPECIAL

    def function(x, *, dtype=None, mask=None, **kwargs):
        if kwargs:
            refuse(name, kwargs)
        if is_plain and dtype is None and mask is None:
            made = plain_unary(name, x)
            if made is not None:
                return made
        if by_activation:
            allocation = current().allocation
            if allocation.directly:
                allocation.check_bias(None)
        return lowering.unary(name, x, dtype, mask)

    return _named(function, name, text, operator)


add = _binary("add", "x + y.")
subtract = _binary("subtract", "x - y.")
multiply = _binary("multiply", "x * y.")
divide = _binary("divide", "x / y.")
maximum = _binary("maximum", "The larger of x and y; NaN when either is.")
minimum = _binary("minimum", "The smaller of x and y; NaN when either is.")
power = _binary("power", "x to the power of y, on GpSimd.")
mod = _remainder("mod", "x - floor(x / y) * y.")
fmod = _remainder("fmod", "x - trunc(x / y) * y.")
bitwise_and = _binary("bitwise_and", "The bits in both of two integers.")
bitwise_or = _binary("bitwise_or", "The bits in either of two integers.")
bitwise_xor = _binary("bitwise_xor", "The bits in one of two integers.")
left_shift = _binary("left_shift", "x << y of integers.")
right_shift = _binary("right_shift", "x >> y of integers, with zeros from the left.")
equal = _binary("equal", "x == y.")
not_equal = _binary("not_equal", "x != y.")
less = _binary("less", "x < y.")
less_equal = _binary("less_equal", "x <= y.")
greater = _binary("greater", "x > y.")
greater_equal = _binary("greater_equal", "x >= y.")
logical_and = _binary("logical_and", "Both are not 0.")
logical_or = _binary("logical_or", "Either is not 0.")
logical_xor = _binary("logical_xor", "One of them is not 0.")

negative = _unary("negative", "-x.", operator=False)
reciprocal = _unary("reciprocal", "1 / x, on the Vector engine.")
logical_not = _unary("logical_not", "Whether x is 0.")
invert = _unary("invert", "All bits of an integer inverted.")
floor = _unary("floor", "The largest integer that is not above x.", operator=False)
ceil = _unary("ceil", "The smallest integer that is not below x.", operator=False)
trunc = _unary("trunc", "x without its fraction.", operator=False)
cos = _unary("cos", "cos(x), after whole turns are taken away.", operator=False)
tan = _unary("tan", "sin(x) / cos(x).", operator=False)
exp = _unary("exp", "e to the power of x.")
log = _unary("log", "The natural logarithm, of 2^-64 to 2^64.")
sqrt = _unary("sqrt", "The square root, of 2^-116 to 2^118.")
rsqrt = _unary("rsqrt", "1 / sqrt(x), of 2^-87 to 2^97.")
square = _unary("square", "x * x.")
sin = _unary("sin", "sin(x), of -pi to pi.")
tanh = _unary("tanh", "The hyperbolic tangent.")
arctan = _unary("arctan", "The inverse tangent, of -pi/2 to pi/2.")
sigmoid = _unary("sigmoid", "1 / (1 + exp(-x)).")
relu = _unary("relu", "The larger of x and 0.")
sign = _unary("sign", "-1, 0 or 1.")
abs = _unary("abs", "|x|.")
gelu = _unary("gelu", "x times the normal distribution function of x.")
gelu_dx = _unary("gelu_dx", "The derivative of gelu.")
gelu_apprx_tanh = _unary("gelu_apprx_tanh", "gelu by a tangent.")
gelu_apprx_sigmoid = _unary("gelu_apprx_sigmoid", "gelu by a sigmoid.")
silu = _unary("silu", "x * sigmoid(x).")
silu_dx = _unary("silu_dx", "The derivative of silu.")
softplus = _unary("softplus", "log(1 + exp(x)).")
mish = _unary("mish", "x * tanh(softplus(x)).")
erf = _unary("erf", "The error function.")
erf_dx = _unary("erf_dx", "The derivative of erf.")


__all__ = [name for name in list(globals()) if not name.startswith("_")]
for _name in ("NAMES", "PLAIN", "current", "lowering", "plain_binary", "plain_unary", "refuse"):
    __all__.remove(_name)
