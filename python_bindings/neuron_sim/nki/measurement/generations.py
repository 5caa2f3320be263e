"""The vendor's stack and instance of a generation of NeuronCores, also for a user's file."""

from typing import NamedTuple

from neuron_sim import _core

STATIC_DESCRIPTORS = "--disable-dge"
"""The compiler's flag against descriptor generation: all DMA descriptors are prepared by the
compiler. The only public flag that a published stack differs in."""


class Generation(NamedTuple):
    """`compiler`: the stack whose passes its programs go through; `instance`: the smallest one
    of its first chip."""

    compiler: str
    instance: str

    def stack(self, direct: bool, flags: tuple[str, ...] = ()) -> str:
        """Name of the published stack that compiles a kernel, one of `_core.published_stacks()`.

        `direct`: the kernel skips the compiler's middle end. `flags` of its call: one that the
        generation's stacks do not differ in changes nothing.
        """
        suffix = " direct" if direct else ""
        with_flag = f"{self.compiler} {STATIC_DESCRIPTORS}{suffix}"
        if STATIC_DESCRIPTORS in flags and with_flag in _core.published_stacks():
            return with_flag
        return self.compiler + suffix


GENERATIONS = {
    2: Generation("neuronx-cc trn1", "trn1.2xlarge"),
    3: Generation("neuronx-cc trn2", "trn2.3xlarge"),
}
"""Those whose compiler has been measured."""

_OTHER_CHIPS = {"inf2": "inf2.xlarge"}


def instance_type(architecture: str, generation: int) -> str:
    """A profile's instance_type: the smallest instance with the chip. For a
    user's chip, the instance of its generation, or, failing both, the chip's own name."""
    known = GENERATIONS.get(generation)
    return _OTHER_CHIPS.get(architecture) or (known.instance if known else architecture)
