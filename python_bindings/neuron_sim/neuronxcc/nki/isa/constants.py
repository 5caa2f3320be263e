"""Enumerations of neuronxcc.nki.isa: those in nki.isa, as integers with their older values."""

from enum import IntEnum

from neuron_sim.nki.isa.constants import (
    DESCRIPTORS,
    dma_engine,
    later_generation,
    matmul_perf_mode,
    name_members,
)

__all__ = [
    "dge_mode",
    "dma_engine",
    "engine",
    "gpsimd_engine",
    "matmul_perf_mode",
    "nc_version",
    "oob_mode",
    "reduce_cmd",
    "scalar_engine",
    "tensor_engine",
    "unknown_engine",
    "vector_engine",
]


class engine(IntEnum):
    """Engines of a NeuronCore; `unknown` leaves the choice to the simulator."""

    tensor = 1
    vector = 5
    scalar = 2
    gpsimd = 3
    sync = 6
    unknown = 0


class reduce_cmd(IntEnum):
    """What an instruction does with the accumulator registers of its engine."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(IntEnum):
    """Who writes the descriptors of a DMA: GpSimd (swdge), hardware (hwdge), the runtime (none)."""

    none = 0
    swdge = 1
    hwdge = 2
    unknown = 3


class oob_mode(IntEnum):
    """What an indirect DMA does with an index out of bounds."""

    error = 0
    skip = 1


class nc_version(IntEnum):
    """Generations of NeuronCores: Trn1 and Inf2, Trn2, Trn3."""

    gen2 = 2
    gen3 = 3
    gen4 = 4

    @classmethod
    def _missing_(cls, value):
        is_number = isinstance(value, int)
        return later_generation(cls, value, int.__new__(cls, value)) if is_number else None


name_members(engine, {"unknown": "auto"})
name_members(dge_mode, DESCRIPTORS)
for _enumeration in (reduce_cmd, oob_mode):
    name_members(_enumeration)

tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown
