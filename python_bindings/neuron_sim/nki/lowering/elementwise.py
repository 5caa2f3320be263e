"""Lowers element-wise nl.* functions of both languages to instructions.

tile op tile is a tensor_tensor, tile op number or [P, 1] a tensor_scalar, a mathematical function
an activation of the Scalar engine. Functions of several instructions keep their intermediate
values in separate fp32 tiles. A mask narrows all of a function's instructions.
"""

import math

from ..isa.instruction import ACTIVATION, RECIPROCAL, TENSOR_SCALAR
from ..isa.splitting import dense
from ..tracing import Tensor, boxes, current, dtype_of
from ..tracing.active import note
from ..tracing.dtypes import bool_, float32, promote, uint8
from . import tiles
from .index_values import comparison_as_tile
from .tiles import copy

#: Functions of the Scalar engine, by the builder's name.
ACTIVATIONS = (
    *("exp", "log", "sqrt", "rsqrt", "square", "tanh", "arctan", "sigmoid", "relu", "sign"),
    *("gelu", "gelu_dx", "gelu_apprx_tanh", "gelu_apprx_sigmoid", "gelu_apprx_sigmoid_dx"),
    *("silu", "silu_dx", "softplus", "mish", "erf", "erf_dx", "sin", "abs"),
)


_TWO_PI = 2 * math.pi
_ALL_INTEGERS = float(1 << 23)  # from here on every fp32 is an integer


def masked(function, dtype, mask, *operands):
    """function(*operands), for the boxes a mask leaves of the first tile among them.

    The parts go into a tile of the shape of that tile; `dtype` is that of its elements.
    """
    operands = tuple([dense(each) if isinstance(each, Tensor) else each for each in operands])
    shape = next(each.shape for each in operands if isinstance(each, Tensor))
    cut = None if mask is None else boxes(mask, shape)
    if cut is None:
        return function(*operands)
    trace = current()
    made = trace.tile(shape, dtype)
    for box in cut:
        parts = [each.narrow(box) if isinstance(each, Tensor) else each for each in operands]
        made.narrow(box)[...] = function(*parts)
    return made


def emitted(x, dtype, mask, function, instruction, *operands, default=None):
    """The tile of one instruction on x and other operands, element by element."""
    tiles.on_chip(x, "x", function)
    default = default or x.dtype
    return tiles.instruction_result(x.shape, dtype, default, mask, instruction, *operands)


def unary(name, x, dtype=None, mask=None):
    """A function of one tile, by name: an activation, or one of the other engines' operators."""
    special = SPECIAL.get(name)
    if special is not None:
        return special(x, dtype, mask)
    tiles.on_chip(x, "x", name)
    return tiles.instruction_result(x.shape, dtype, x.dtype, mask, ACTIVATION, name, x)


def negative(x, dtype=None, mask=None):
    """-x: a product with -1 on the Vector engine."""
    return emitted(x, dtype, mask, "negative", TENSOR_SCALAR, x, "multiply", -1.0)


def reciprocal(x, dtype=None, mask=None):
    """1 / x on the Vector engine."""
    return emitted(x, dtype, mask, "reciprocal", RECIPROCAL, x)


def rsqrt_gpsimd(x, dtype=None, mask=None):
    """1 / sqrt(x) on GpSimd: SBUF only."""
    operands = (x, "rsqrt", 0.0, False, "", 0.0, False, "gpsimd")
    return emitted(x, dtype, mask, "rsqrt", TENSOR_SCALAR, *operands)


def logical_not(x, dtype=None, mask=None):
    """1 where x is 0, else 0."""
    operands = (x, "equal", 0.0)
    return emitted(x, dtype, mask, "logical_not", TENSOR_SCALAR, *operands, default=bool_)


def invert(x, dtype=None, mask=None):
    """All bits of integers inverted; bools logically."""
    word, number = ("logical_xor", 1.0) if x.dtype is bool_ else ("bitwise_xor", -1.0)
    return emitted(x, dtype, mask, "invert", TENSOR_SCALAR, x, word, number)


def _rounded(x):
    """(x in fp32, x rounded to nearest even as fp32): through int32, for |x| < 2^31."""
    trace = current()
    value = x
    if x.dtype is not float32:
        value = trace.tile(x.shape, float32)
        trace.builder.tensor_copy(value.access, x.access)
    whole = trace.tile(x.shape, dtype_of("int32"))
    trace.builder.tensor_copy(whole.access, value.access)
    result = trace.tile(x.shape, float32)
    trace.builder.tensor_copy(result.access, whole.access)
    return value, result


def _corrected(x, compare, sign, dtype):
    """x rounded, plus `sign` where the rounded value `compare`s to x; x itself from 2^23 on."""
    trace = current()
    value, result = _rounded(x)
    wrong = trace.tile(x.shape, float32)
    trace.builder.tensor_tensor(wrong.access, result.access, value.access, compare)
    trace.builder.scalar_tensor_tensor(
        result.access, wrong.access, "multiply", sign, "add", result.access
    )
    small = trace.tile(x.shape, uint8)
    trace.builder.tensor_scalar(
        small.access, value.access, "abs", 0.0, False, "less", _ALL_INTEGERS
    )
    kept = trace.tile(x.shape, float32)
    trace.builder.tensor_copy(kept.access, value.access)
    trace.builder.tensor_copy_predicated(kept.access, result.access, small.access)
    return kept if dtype is float32 else copy(kept, dtype)


def _of_parts(name, compute, text):
    """The function `name`, which computes the parts that a mask leaves one by one."""

    def function(x, dtype=None, mask=None):
        tiles.on_chip(x, "x", name).settle()
        wanted = x.dtype if dtype is None else dtype_of(dtype)
        return masked(lambda part: compute(part, wanted), wanted, mask, x)

    function.__doc__ = f"{name} of every element{text}."
    return function


_INT32 = "; through int32"
_TURNS = ", of arguments of any size below 2^31 turns"

floor = _of_parts("floor", lambda x, dtype: _corrected(x, "greater", -1.0, dtype), _INT32)
ceil = _of_parts("ceil", lambda x, dtype: _corrected(x, "less", 1.0, dtype), _INT32)


def _truncated(x, dtype):
    down, up = _corrected(x, "greater", -1.0, float32), _corrected(x, "less", 1.0, float32)
    trace = current()
    negative_part = trace.tile(x.shape, uint8)
    trace.builder.tensor_scalar(negative_part.access, x.access, "less", 0.0)
    trace.builder.tensor_copy_predicated(down.access, up.access, negative_part.access)
    return down if dtype is float32 else copy(down, dtype)


trunc = _of_parts("trunc", _truncated, _INT32)


def _sine(x, phase, dtype):
    """sin(x + phase): the argument less whole turns, then the activation on [-pi, pi]."""
    trace = current()
    shifted = trace.tile(x.shape, float32)
    trace.builder.tensor_scalar(shifted.access, x.access, "add", phase)
    turns = trace.tile(x.shape, float32)
    trace.builder.tensor_scalar(turns.access, shifted.access, "multiply", 1 / _TWO_PI)
    _, whole = _rounded(turns)
    trace.builder.scalar_tensor_tensor(
        shifted.access, whole.access, "multiply", -_TWO_PI, "add", shifted.access
    )
    return unary("sin", shifted, dtype)


sin_reduced = _of_parts("sin", lambda x, dtype: _sine(x, 0.0, dtype), _TURNS)
cos = _of_parts("cos", lambda x, dtype: _sine(x, math.pi / 2, dtype), _TURNS)


def _tangent(x, dtype):
    sine, cosine = _sine(x, 0.0, float32).settle(), _sine(x, math.pi / 2, float32).settle()
    return tiles.binary("divide", sine, cosine, dtype)


tan = _of_parts("tan", _tangent, _TURNS)


def in_sbuf(x):
    """A tile unchanged, or copied when it is in PSUM."""
    return copy(x).settle() if isinstance(x, Tensor) and x.memory == "psum" else x


def binary(op, x, y, dtype=None, mask=None):
    """x op y of tiles, numbers and index comparisons, at least one of them a tile; free dimensions
    broadcast."""
    if isinstance(x, Tensor):
        if isinstance(y, Tensor) and x.memory == "psum" and y.memory == "psum":
            y = in_sbuf(y)
        else:
            y = comparison_as_tile(y, x, op)
    elif not isinstance(y, Tensor):
        raise TypeError(f"'{op}' of two numbers: at least one operand must be a tile.")
    else:
        x = comparison_as_tile(x, y, op)
    if op in _REMAINDERS:
        return _remainder(op, x, y, dtype, mask)
    if op == "multiply" and isinstance(x, Tensor) and isinstance(y, Tensor):
        if {len(x.shape), len(y.shape)} == {2, 3} or (len(x.shape) == 3 and x.shape != y.shape):
            note("VA-BC3", f"{list(x.shape)} by {list(y.shape)}")
    if op == "power":
        x, y = in_sbuf(_as_tile(x, y)), in_sbuf(_as_tile(y, x))
    return tiles.binary(op, x, y, dtype, mask)


def _as_tile(x, other):
    """A number as a column of the partitions of `other`; tiles unchanged."""
    if isinstance(x, Tensor):
        return x
    trace = current()
    column = trace.tile((other.shape[0], *[1] * (len(other.shape) - 1)), promote(x))
    trace.builder.memset(column.access, float(x))
    return copy(column.broadcast_to(other.shape)).settle()


_REMAINDERS = {"mod": floor, "fmod": trunc}


def _remainder(op, x, y, dtype, mask):
    """x - round(x / y) * y, rounded down (mod, sign of y) or towards zero (fmod, sign of x)."""
    dtypes = [each.dtype if isinstance(each, Tensor) else each for each in (x, y)]
    wanted = promote(*dtypes) if dtype is None else dtype_of(dtype)
    x, y = _as_tile(x, y), _as_tile(y, x)

    def compute(a, b):
        quotient = tiles.binary("divide", a, b, float32).settle()
        whole = _REMAINDERS[op](quotient).settle()
        product = tiles.binary("multiply", whole, b, float32).settle()
        return tiles.binary("subtract", a, product, wanted)

    return masked(compute, wanted, mask, x, y)


SPECIAL = {
    "negative": negative,
    "reciprocal": reciprocal,
    "logical_not": logical_not,
    "invert": invert,
    "copy": copy,
    "floor": floor,
    "ceil": ceil,
    "trunc": trunc,
    "cos": cos,
    "tan": tan,
}
