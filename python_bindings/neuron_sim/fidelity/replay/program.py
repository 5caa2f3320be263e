"""Turns the instruction stream of a profile into a Program.

The instructions keep their engines and their order; tiles lie at the profile's addresses, so that
the builder derives the dependencies from the bytes. Kernel arguments, constants in HBM and
intermediate results get tensors of the size that the transfers touch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from neuron_sim import _core
from neuron_sim.fidelity.replay.memory import Memory, OnChip, on_chip_of
from neuron_sim.fidelity.replay.operands import Access, Operands, TransferSide
from neuron_sim.fidelity.replay.reader import Trace
from neuron_sim.fidelity.replay.stream import KernelInstruction, kernel_instructions

# acc_flags of a product: it begins a sum in PSUM (and overwrites), it ends one.
_BEGINS = 1

_REDUCTIONS = {"MAX": "maximum", "ADD": "add", "MIN": "minimum"}
_OPERATORS = {"MULTIPLY": "multiply", "ADD": "add", "SUBTRACT": "subtract", "BYPASS": ""}
_FUNCTIONS = {"EXP": "exp"}

Result = TypeVar("Result")


@dataclass(frozen=True)
class Step:
    """Instructions of the profile that one instruction of the Program stands for: a matrix product
    is a load of weights and a multiplication, in fp32 (LOW and HIGH halves) two of each. A product
    with the weights of the one before it is a multiplication alone."""

    rows: tuple[KernelInstruction, ...]
    load: KernelInstruction | None = None
    """The load of the (first) weights of a product."""

    @property
    def head(self) -> KernelInstruction:
        """The instruction that names the operands: for a product, the first multiplication."""
        return next((row for row in self.rows if row is not self.load), self.rows[0])

    def of(self, opcode: str) -> list[KernelInstruction]:
        return [row for row in self.rows if row.opcode == opcode]


@dataclass(frozen=True)
class Replay:
    """A profile as a Program. Instruction i of the Program is steps[i]."""

    trace: Trace
    stream: tuple[KernelInstruction, ...]
    steps: tuple[Step, ...]
    program: _core.Program


def _product_steps(stream: tuple[KernelInstruction, ...]) -> list[Step]:
    """Multiplications with the loads of their weights, which come before them by pc. The array
    keeps its weights until the next load."""
    tensor = [i for i in stream if i.opcode in ("LDWEIGHTS", "MATMUL")]
    tensor.sort(key=lambda i: i.row.pc)
    steps: list[Step] = []
    load = None
    for previous, instruction in zip((None, *tensor), tensor, strict=False):
        if instruction.opcode == "LDWEIGHTS":
            if previous is not None and previous.opcode == "LDWEIGHTS":
                raise ValueError(f"{previous.where} is not followed by a MATMUL.")
            load = instruction
        elif load is None:
            raise ValueError(f"{instruction.where} has no LDWEIGHTS before it.")
        elif load is not previous:
            _check_reuse(load, instruction)
            steps.append(Step((instruction,), load))
        elif _is_half(load, "HIGH"):
            steps[-1] = replace(steps[-1], rows=(*steps[-1].rows, load, instruction))
        else:
            steps.append(Step((load, instruction), load))
    if tensor and tensor[-1].opcode == "LDWEIGHTS":
        raise ValueError(f"{tensor[-1].where} is not followed by a MATMUL.")
    return steps


def _check_reuse(load: KernelInstruction, multiply: KernelInstruction) -> None:
    """An fp32 product multiplies with both halves of its weights: one half of the next product
    alone does not say which halves belong together."""
    if any(_is_half(load, half) for half in ("LOW", "HIGH")):
        raise ValueError(f"{multiply.where} reuses one half of the fp32 weights of {load.where}.")


def _is_half(load: KernelInstruction, half: str) -> bool:
    return load.operands.settings.get("fp32_mode") == half


def program_steps(stream: tuple[KernelInstruction, ...]) -> tuple[Step, ...]:
    """The steps that become instructions of the Program, by start (a product: by its
    multiplication, when both operands are ready); waits and table loads follow from the others."""
    steps = _product_steps(stream)
    apart = ("LDWEIGHTS", "MATMUL", "ACT_TABLE_LOAD")
    steps += [Step((i,)) for i in stream if not i.waits_only and i.opcode not in apart]
    return tuple(sorted(steps, key=lambda step: (step.head.row.start, step.head.row.line)))


class _Emitter:
    """Emits the steps; one method per opcode."""

    def __init__(self, builder: _core.Builder, memory: Memory) -> None:
        self.builder = builder
        self.memory = memory
        self.methods: dict[str, Callable[[Step], None]] = {
            "MATMUL": self.product,
            "ACTIVATE": self.activate,
            "COPY": self.copy,
            "CAST": self.copy,
            "TENSOR_REDUCE": self.reduce,
            "RECIPROCAL": self.reciprocal,
            "TENSOR_SCALAR": self.tensor_scalar,
            "DMA_DIRECT2D": self.transfer,
        }

    def emit(self, step: Step) -> None:
        self.methods[step.head.opcode](step)

    def product(self, step: Step) -> None:
        load, multiply = _load_of(step), step.head.operands
        rows, columns = load.array()
        target, weights, moving = _product_operands(step)
        self.builder.nc_matmul(
            self.memory.view(target, columns),
            self.memory.view(weights, rows),
            self.memory.view(moving, rows),
            accumulate=not multiply.number("acc_flags") & _BEGINS,
            is_transpose=_transposes(load),
        )

    def _operand(self, step: Step, access: Access) -> _core.View:
        return self.memory.view(on_chip_of(access), step.head.operands.number("channels"))

    def _sides(self, step: Step) -> tuple[_core.View, _core.View]:
        operands = step.head.operands
        return (
            self._operand(step, operands.access("dst")),
            self._operand(step, operands.access("src")),
        )

    def activate(self, step: Step) -> None:
        operands = step.head.operands
        function = next((f for f in _FUNCTIONS if f in operands.text.split()), None)
        if function is None or float(operands.setting("imm")) != 0:
            raise ValueError(f"function or constant of '{operands.text}' is unknown")
        target, source = self._sides(step)
        bias = self._operand(step, _one(operands.access("bias_ptr")))
        scale = float(operands.setting("scale"))
        self.builder.activation(
            target, _FUNCTIONS[function], source, bias=bias, scale=scale, engine=step.head.engine
        )

    def copy(self, step: Step) -> None:
        self.builder.tensor_copy(*self._sides(step), engine=step.head.engine)

    def reduce(self, step: Step) -> None:
        """Over the innermost dimension, X."""
        operands = step.head.operands
        target, source = self._sides(step)
        if operands.setting("dim") != "X":
            raise ValueError(f"dimension '{operands.setting('dim')}' is not X")
        size = operands.access("src").sizes[0]
        self.builder.tensor_reduce(
            target,
            source.split(1, source.shape[1] // size, size),
            _known(_REDUCTIONS, operands.setting("op")),
            negate=operands.settings.get("negated") == "1",
            engine=step.head.engine,
        )

    def reciprocal(self, step: Step) -> None:
        self.builder.reciprocal(*self._sides(step), engine=step.head.engine)

    def tensor_scalar(self, step: Step) -> None:
        operands = step.head.operands
        target, source = self._sides(step)
        op0, op1 = (_known(_OPERATORS, op) for op in operands.setting("ops").split(","))
        if operands.setting("imm_src") != "PTR,INSTRUCTION" or op1:
            raise ValueError(f"operators of '{operands.text}' are unknown")
        address = int(operands.setting("imm").split(",")[0], 16)
        scalar = self._operand(step, _one(Access(address, "float32")))
        self.builder.tensor_scalar(target, source, op0, scalar, engine=step.head.engine)

    def transfer(self, step: Step) -> None:
        operands = step.head.operands
        source, target = operands.transfer_side("src"), operands.transfer_side("dst")
        dtype = self.memory.transfer_dtype(source, target)
        self.builder.dma_copy(
            self._side(target, dtype), self._side(source, dtype), engine=step.head.engine
        )

    def _side(self, side: TransferSide, dtype: str) -> _core.View:
        return self.memory.transfer_view(side, side.dtype or dtype)


def _load_of(product: Step) -> Operands:
    assert product.load is not None
    return product.load.operands


def _transposes(load: Operands) -> bool:
    return load.settings.get("transpose_mode") == "ENABLED"


def _product_operands(step: Step) -> tuple[OnChip, OnChip, OnChip]:
    """Target, weights and moving operand. The profile does not give the target's dtype: a
    transpose has its data's, every other product is fp32."""
    load, multiply = _load_of(step), step.head.operands
    weights = load.access("src")
    dtype = weights.dtype if _transposes(load) else "float32"
    target = on_chip_of(multiply.access("dst"), dtype)
    return target, on_chip_of(weights), on_chip_of(multiply.access("src"))


def _one(access: Access) -> Access:
    """One element per partition, fp32 like all pointer operands."""
    return Access(access.address, access.dtype or "float32", (1,), (1,))


def _known(names: dict[str, str], name: str) -> str:
    if name not in names:
        raise ValueError(f"operator '{name}' is unknown")
    return names[name]


def accesses(step: Step) -> list[OnChip]:
    """The on-chip operands of a step other than a transfer's, for the layout of the tiles."""
    if step.head.opcode == "DMA_DIRECT2D":
        return []
    if step.load is not None:
        return list(_product_operands(step))
    operands = step.head.operands
    result = [on_chip_of(operands.access(key)) for key in ("src", "dst")]
    if "bias_ptr" in operands.settings:
        result.append(on_chip_of(_one(operands.access("bias_ptr"))))
    if "imm_src" in operands.settings:
        address = int(operands.setting("imm").split(",")[0], 16)
        result.append(on_chip_of(_one(Access(address, "float32"))))
    return result


def _transfer_sides(step: Step) -> tuple[TransferSide, TransferSide] | None:
    """Source and target of a transfer."""
    if step.head.opcode != "DMA_DIRECT2D":
        return None
    operands = step.head.operands
    return operands.transfer_side("src"), operands.transfer_side("dst")


def _each(steps: tuple[Step, ...], work: Callable[[Step], Result]) -> list[Result]:
    """`work` of every step; its errors name the instruction."""
    results = []
    for step in steps:
        try:
            results.append(work(step))
        except ValueError as error:
            raise ValueError(f"{step.head.where}: {str(error).rstrip('.')}.") from None
    return results


def build_replay(trace: Trace, architecture: str = "trn2") -> Replay:
    """The Program of a profile. ValueError names what cannot be replayed."""
    stream = kernel_instructions(trace)
    builder = _core.Builder(trace.name, architecture)
    try:
        steps = program_steps(stream)
        computed = [access for each in _each(steps, accesses) for access in each]
        transfers = [sides for sides in _each(steps, _transfer_sides) if sides is not None]
        bank = int(_core.architecture_facts(architecture)["limits.psum_bank"]["value"])
        _each(steps, _Emitter(builder, Memory(builder, computed, transfers, bank)).emit)
    except ValueError as error:
        raise ValueError(f"trace '{trace.name}': {error}") from None
    return Replay(trace, stream, steps, builder.finish())
