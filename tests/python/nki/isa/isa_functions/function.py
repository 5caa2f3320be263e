"""What is known of a function of nki.isa, by the vendor's documents, and proved of ours."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

ARCHITECTURES = ("trn1", "trn2", "trn3")

EVERYWHERE = (1, 1, 1)
#: Cycles per fp32 element of two operands in SBUF.
TWO_IN_SBUF = (2, 1, 2)
#: MIN_II of the documents: what reading an accumulator takes besides.
READ_ACCUMULATOR = 64


@dataclass(frozen=True)
class Cost:
    """`body(n)` emits the instruction for n elements per partition, `old_body(n)` the same in the
    older language; `cycles`: per element and architecture; `extra`: cycles besides the engine's
    start.

    The cycles per element of Trn1 are those of the function pages of NKI (SDK 2.26, the last with
    formulas, written for NeuronCore-v2); those of Trn2 and Trn3 differ where their architecture
    guides say so, and for fp32 on Trn2, where profiles of the chip show 1 cycle for two operands in
    SBUF and 1/2 for one beside a number. `undocumented`: no document gives a cost, the number is
    the device model's assumption. None: the architecture does not have the instruction.
    """

    engine: str
    body: Callable
    cycles: tuple
    extra: float = 0
    undocumented: bool = False
    old_body: Callable | None = None


@dataclass(frozen=True)
class Limit:
    """A limit of the vendor's function page: `body` of the first of `sides` is emitted, that of the
    second is an error of that type and sentence, which names instruction, operand, value and limit.
    """

    body: Callable
    sides: tuple
    sentence: str
    error: type = ValueError
    architecture: str = "trn2"
    cores: int = 1


@dataclass(frozen=True)
class Example:
    """What the function's page shows, its shapes, operators and forms, in the older language if it
    has the function: `body(*tiles)` gives `expected(*arrays)`, NumPy's result in float64."""

    body: Callable
    arrays: list
    expected: Callable
    language: str = "old"


@dataclass(frozen=True)
class Function:
    """One function of nki.isa.

    `signature`, `old_signature`: the vendor's parameters in nki.isa and neuronxcc.nki.isa, without
    the parentheses; None where the language does not have it. `costs`, `examples`: one, or several
    by what is said of them after the function's name ("of bf16", "on GpSimd"), "" for the plain
    one. `example_test`, `limit_test`, `cost_test`: file::name of the test that proves it instead of
    a row here; a name in brackets is a key of that test's table.
    """

    signature: str | None = None
    old_signature: str | None = None
    limit: Limit | None = None
    costs: Cost | Mapping[str, Cost] = field(default_factory=dict)
    examples: Example | Mapping[str, Example] = field(default_factory=dict)
    example_test: str | None = None
    limit_test: str | None = None
    cost_test: str | None = None
