"""neuronxcc.nki.language: element-wise functions, which are operator arguments of nki.isa as well.

Operands are tiles in SBUF or PSUM, or numbers where another operand is a tile; free dimensions
broadcast. `dtype`: of the result, the promoted one unless given (bool for comparisons). `mask`: the
part that takes part. Results are written straight into their assignment targets.
"""

from neuron_sim import _core
from neuron_sim.neuronxcc.nki.keywords import refuse
from neuron_sim.nki.isa.instruction import ACTIVATION, TENSOR_SCALAR, TENSOR_TENSOR
from neuron_sim.nki.language.operators_elementwise import BINARY, COMPARISONS, UNARY, named
from neuron_sim.nki.lowering import elementwise as lowering
from neuron_sim.nki.lowering.tiles import PLAIN
from neuron_sim.nki.tracing import current

plain_binary, plain_result = _core.plain_binary, _core.plain_result

#: Functions that only the later language has.
_LATER = {"abs_max", "abs_min", "gelu_apprx_sigmoid_dx"}
#: Functions of other instructions than the later language's.
_OWN = {
    "rsqrt": "1 / sqrt(x), of 2^-87 to 2^97.",
    "sin": "sin(x), of -pi to pi.",
    "logical_not": "Whether x is 0.",
}


def _binary(name, text):
    def function(x, y, *, dtype=None, mask=None, **kwargs):
        if kwargs:
            refuse(name, kwargs)
        if is_plain and dtype is None and mask is None:
            return plain_binary(TENSOR_SCALAR, TENSOR_TENSOR, name, x, y, lowering.binary)
        return lowering.binary(name, x, y, dtype, mask)

    is_plain = name in PLAIN
    return named(function, name, text, __name__)


def _remainder(name, text):
    def function(x, y, dtype=None, mask=None, **kwargs):
        if kwargs:
            refuse(name, kwargs)
        return lowering.binary(name, x, y, dtype, mask)

    return named(function, name, text, __name__)


def _unary(name, text):
    by_activation = name in lowering.ACTIVATIONS
    is_plain = by_activation and name not in lowering.SPECIAL

    def general(_, x, dtype=None, mask=None):
        if by_activation:
            current().allocation.check_bias(None)
        return lowering.unary(name, x, dtype, mask)

    def function(x, *, dtype=None, mask=None, **kwargs):
        if kwargs:
            refuse(name, kwargs)
        if is_plain and dtype is None and mask is None:
            return plain_result(ACTIVATION, "wxb", general, name, x, None)
        return general(name, x, dtype, mask)

    return named(function, name, text, __name__)


_functions = {
    **{name: _binary(name, text) for name, text in BINARY.items() if name not in _LATER},
    **{name: _binary(name, f"{text}.") for name, text in COMPARISONS.items()},
    **{name: _remainder(name, BINARY[name]) for name in ("mod", "fmod")},
    **{name: _unary(name, text) for name, text in (UNARY | _OWN).items() if name not in _LATER},
}
globals().update(_functions)
__all__ = list(_functions)
