"""Instructions of the builder, the handle that one of nki.isa returns, and the builder itself."""

from neuron_sim import _core


@_core.register_class
class NkiInstruction(_core.InstructionHandle):
    """Handle of an emitted instruction: its `number` in the program of `trace`."""

    __slots__ = ()

    def depends_on(self, *producers):
        """This instruction starts after `producers` are complete; returns itself.

        A wait for a semaphore, in every iteration of the loops around both. TypeError when a
        producer is not an instruction of this kernel; ValueError when it depends on this one, or is
        inside a loop on chip that this one is not in.
        """
        for producer in producers:
            if not isinstance(producer, NkiInstruction) or producer.trace is not self.trace:
                raise TypeError(
                    f"depends_on takes instructions of nki.isa in this kernel, got {producer!r}."
                )
            self.trace.builder.add_edge(self.number, producer.number)
        return self

    def __repr__(self):
        return f"NkiInstruction({self.number})"


class NkiValidationError(Exception):
    """The vendor's exception for violated limits of the hardware."""


#: emitted(name): the handle of the instruction that was emitted last.
emitted = _core.emitted
#: builder(): the `_core.Builder` of the kernel that is being traced.
builder = _core.current_builder

# These emit a result (TraceState.result). They take the operands of the builder's method in its
# order, with tensors in place of Views.
ACTIVATION = _core.Instruction(_core.Builder.activation)
DMA_COPY = _core.Instruction(_core.Builder.dma_copy)
MATMUL = _core.Instruction(_core.Builder.nc_matmul, 3)
MEMSET = _core.Instruction(_core.Builder.memset)
RECIPROCAL = _core.Instruction(_core.Builder.reciprocal)
SCALAR_TENSOR_TENSOR = _core.Instruction(_core.Builder.scalar_tensor_tensor)
TENSOR_COPY = _core.Instruction(_core.Builder.tensor_copy)
TENSOR_REDUCE = _core.Instruction(_core.Builder.tensor_reduce)
TENSOR_SCALAR = _core.Instruction(_core.Builder.tensor_scalar)
TENSOR_TENSOR = _core.Instruction(_core.Builder.tensor_tensor)
