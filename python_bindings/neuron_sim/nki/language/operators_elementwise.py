"""nki.language: element-wise functions. Each is an operator argument of nki.isa as well.

Operands are tiles in SBUF or PSUM, or numbers where another operand is a tile; free dimensions
broadcast. Results are new SBUF tiles of the promoted dtype of the operands unless `dtype` is given.
ValueError for tensors in HBM and for partitions that differ.
"""

from ..isa.operators import NAMES
from ..lowering import elementwise as lowering
from ..tracing import Tensor, promote


def _named(function, name, text, operator):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    function.__module__ = __name__
    if operator:
        NAMES[function] = operator
    return function


def _binary(name, text, operator=True):
    def function(x, y, dtype=None):
        return lowering.binary(name, x, y, dtype)

    return _named(function, name, text, name if operator else "")


def _comparison(name, text):
    def function(x, y, dtype=None):
        if dtype is None:
            dtype = promote(*[each.dtype for each in (x, y) if isinstance(each, Tensor)])
        return lowering.binary(name, x, y, dtype)

    return _named(function, name, f"{text}: 1 or 0, in the dtype of the tiles.", name)


def _unary(name, text, compute=None, operator=True):
    compute = compute or (lambda x, dtype: lowering.unary(name, x, dtype))

    def function(x, dtype=None):
        return compute(x, dtype)

    return _named(function, name, text, name if operator else "")


class _OperatorName:
    """A name that is only valid as an operator argument of an instruction."""

    __slots__ = ("__name__",)

    def __init__(self, name, word):
        self.__name__ = name
        NAMES[self] = word

    def __repr__(self):
        return f"nki.language.{self.__name__}"


add = _binary("add", "x + y.")
subtract = _binary("subtract", "x - y.")
multiply = _binary("multiply", "x * y.")
divide = _binary("divide", "x / y.")
maximum = _binary("maximum", "The larger of x and y; NaN when either is.")
minimum = _binary("minimum", "The smaller of x and y; NaN when either is.")
abs_max = _binary("abs_max", "x where |x| > |y|, else y.")
abs_min = _binary("abs_min", "x where |x| < |y|, else y.")
power = _binary("power", "x to the power of y, on GpSimd.")
mod = _binary("mod", "x - floor(x / y) * y.", operator=False)
fmod = _binary("fmod", "x - trunc(x / y) * y.", operator=False)
bitwise_and = _binary("bitwise_and", "The bits in both of two integers.")
bitwise_or = _binary("bitwise_or", "The bits in either of two integers.")
bitwise_xor = _binary("bitwise_xor", "The bits in one of two integers.")
left_shift = _binary("left_shift", "x << y of integers.")
right_shift = _binary("right_shift", "x >> y of integers, with zeros from the left.")
equal = _comparison("equal", "x == y")
not_equal = _comparison("not_equal", "x != y")
less = _comparison("less", "x < y")
less_equal = _comparison("less_equal", "x <= y")
greater = _comparison("greater", "x > y")
greater_equal = _comparison("greater_equal", "x >= y")
logical_and = _comparison("logical_and", "Both are not 0")
logical_or = _comparison("logical_or", "Either is not 0")
logical_xor = _comparison("logical_xor", "One of them is not 0")

negative = _unary("negative", "-x.", operator=False)
reciprocal = _unary("reciprocal", "1 / x, on the Vector engine.")
rsqrt = _unary("rsqrt", "1 / sqrt(x), on GpSimd: tiles in SBUF only.", lowering.rsqrt_gpsimd)
sin = _unary("sin", "sin(x), after whole turns are taken away.", lowering.sin_reduced)
logical_not = _unary(
    "logical_not",
    "1 where x is 0, else 0, in the dtype of x.",
    lambda x, dtype: lowering.logical_not(x, x.dtype if dtype is None else dtype),
)
invert = _unary("invert", "All bits of an integer inverted.")
floor = _unary("floor", "The largest integer that is not above x.", operator=False)
ceil = _unary("ceil", "The smallest integer that is not below x.", operator=False)
trunc = _unary("trunc", "x without its fraction.", operator=False)
cos = _unary("cos", "cos(x), after whole turns are taken away.", operator=False)
tan = _unary("tan", "sin(x) / cos(x).", operator=False)
exp = _unary("exp", "e to the power of x.")
log = _unary("log", "The natural logarithm, of 2^-64 to 2^64.")
sqrt = _unary("sqrt", "The square root, of 2^-116 to 2^118.")
square = _unary("square", "x * x.")
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
gelu_apprx_sigmoid_dx = _unary("gelu_apprx_sigmoid_dx", "The derivative of gelu_apprx_sigmoid.")
silu = _unary("silu", "x * sigmoid(x).")
silu_dx = _unary("silu_dx", "The derivative of silu.")
softplus = _unary("softplus", "log(1 + exp(x)).")
mish = _unary("mish", "x * tanh(softplus(x)).")
erf = _unary("erf", "The error function.")
erf_dx = _unary("erf_dx", "The derivative of erf.")

average = _OperatorName("average", "average")
bypass = _OperatorName("bypass", "")
prelu = _OperatorName("prelu", "prelu")

__all__ = [name for name in list(globals()) if not name.startswith("_")]
for _name in ("NAMES", "Tensor", "lowering", "promote"):
    __all__.remove(_name)
