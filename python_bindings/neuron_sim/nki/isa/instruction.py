"""What an instruction of nki.isa gives back, and the builder that takes it."""

from neuron_sim import _core


class NkiInstruction:
    """Handle of an emitted instruction."""

    __slots__ = ()

    def depends_on(self, *producers):
        """Asks that this instruction runs after `producers`; gives itself back.

        Instructions here follow their data: whatever touches the same bytes keeps the order of
        the program. An edge between instructions that share no bytes changes no result, and its
        waiting is not part of the simulated time. TypeError when a producer is no instruction.
        """
        for producer in producers:
            if not isinstance(producer, NkiInstruction):
                raise TypeError(f"depends_on takes instructions of nki.isa, got {producer!r}.")
        return self

    def __repr__(self):
        return "NkiInstruction()"


class NkiValidationError(Exception):
    """The vendor's exception for violated limits of the hardware."""


#: All instructions give back the same handle: it has nothing of its own.
EMITTED = NkiInstruction()


#: builder(): the `_core.Builder` of the kernel that is being traced.
builder = _core.current_builder
