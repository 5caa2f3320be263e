"""nki.language: element-wise functions. Each is an operator argument of nki.isa as well.

Operands are tiles in SBUF or PSUM, or numbers where another operand is a tile; free dimensions
broadcast. Results are new SBUF tiles of the promoted dtype of the operands unless `dtype` is given.
ValueError for tensors in HBM and for partitions that differ.
"""

from ..isa.operators import NAMES
from ..lowering import elementwise as lowering
from ..tracing import Tensor, promote

BINARY = {
    "add": "x + y.",
    "subtract": "x - y.",
    "multiply": "x * y.",
    "divide": "x / y.",
    "maximum": "The larger of x and y; NaN when either is.",
    "minimum": "The smaller of x and y; NaN when either is.",
    "abs_max": "x where |x| > |y|, else y.",
    "abs_min": "x where |x| < |y|, else y.",
    "power": "x to the power of y, on GpSimd.",
    "mod": "x - floor(x / y) * y.",
    "fmod": "x - trunc(x / y) * y.",
    "bitwise_and": "The bits in both of two integers.",
    "bitwise_or": "The bits in either of two integers.",
    "bitwise_xor": "The bits in one of two integers.",
    "left_shift": "x << y of integers.",
    "right_shift": "x >> y of integers, with zeros from the left.",
}
"""Functions of two operands, and what they compute."""
COMPARISONS = {
    "equal": "x == y",
    "not_equal": "x != y",
    "less": "x < y",
    "less_equal": "x <= y",
    "greater": "x > y",
    "greater_equal": "x >= y",
    "logical_and": "Both are not 0",
    "logical_or": "Either is not 0",
    "logical_xor": "One of them is not 0",
}
"""Functions that compare two operands."""
UNARY = {
    "negative": "-x.",
    "reciprocal": "1 / x, on the Vector engine.",
    "rsqrt": "1 / sqrt(x), on GpSimd: tiles in SBUF only.",
    "sin": "sin(x), after whole turns are taken away.",
    "logical_not": "1 where x is 0, else 0, in the dtype of x.",
    "invert": "All bits of an integer inverted.",
    "floor": "The largest integer that is not above x.",
    "ceil": "The smallest integer that is not below x.",
    "trunc": "x without its fraction.",
    "cos": "cos(x), after whole turns are taken away.",
    "tan": "sin(x) / cos(x).",
    "exp": "e to the power of x.",
    "log": "The natural logarithm, of 2^-64 to 2^64.",
    "sqrt": "The square root, of 2^-116 to 2^118.",
    "square": "x * x.",
    "tanh": "The hyperbolic tangent.",
    "arctan": "The inverse tangent, of -pi/2 to pi/2.",
    "sigmoid": "1 / (1 + exp(-x)).",
    "relu": "The larger of x and 0.",
    "sign": "-1, 0 or 1.",
    "abs": "|x|.",
    "gelu": "x times the normal distribution function of x.",
    "gelu_dx": "The derivative of gelu.",
    "gelu_apprx_tanh": "gelu by a tangent.",
    "gelu_apprx_sigmoid": "gelu by a sigmoid.",
    "gelu_apprx_sigmoid_dx": "The derivative of gelu_apprx_sigmoid.",
    "silu": "x * sigmoid(x).",
    "silu_dx": "The derivative of silu.",
    "softplus": "log(1 + exp(x)).",
    "mish": "x * tanh(softplus(x)).",
    "erf": "The error function.",
    "erf_dx": "The derivative of erf.",
}
"""Functions of one tile."""
NO_OPERATORS = frozenset(("mod", "fmod", "negative", "floor", "ceil", "trunc", "cos", "tan"))
"""Functions of several instructions or none of the ISA's operators: no arguments of nki.isa."""

_COMPUTED = {
    "rsqrt": lowering.rsqrt_gpsimd,
    "sin": lowering.sin_reduced,
    "logical_not": lambda x, dtype: lowering.logical_not(x, x.dtype if dtype is None else dtype),
}


def named(function, name, text, module):
    """The function of `module` with its name and documentation, an operator if there is one."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    function.__module__ = module
    if name not in NO_OPERATORS:
        NAMES[function] = name
    return function


def _binary(name, text):
    def function(x, y, dtype=None):
        return lowering.binary(name, x, y, dtype)

    return named(function, name, text, __name__)


def _comparison(name, text):
    def function(x, y, dtype=None):
        if dtype is None:
            dtype = promote(*[each.dtype for each in (x, y) if isinstance(each, Tensor)])
        return lowering.binary(name, x, y, dtype)

    return named(function, name, f"{text}: 1 or 0, in the dtype of the tiles.", __name__)


def _unary(name, text):
    compute = _COMPUTED.get(name) or (lambda x, dtype: lowering.unary(name, x, dtype))

    def function(x, dtype=None):
        return compute(x, dtype)

    return named(function, name, text, __name__)


class _OperatorName:
    """A name that is only valid as an operator argument of an instruction."""

    __slots__ = ("__name__",)

    def __init__(self, name, word):
        self.__name__ = name
        NAMES[self] = word

    def __repr__(self):
        return f"nki.language.{self.__name__}"


for _rows, _made in ((BINARY, _binary), (COMPARISONS, _comparison), (UNARY, _unary)):
    globals().update({name: _made(name, text) for name, text in _rows.items()})
average = _OperatorName("average", "average")
bypass = _OperatorName("bypass", "")
prelu = _OperatorName("prelu", "prelu")

__all__ = [*BINARY, *COMPARISONS, *UNARY, "average", "bypass", "prelu"]
