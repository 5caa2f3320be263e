"""Enumerations of nki.isa: engines, modes, commands, versions.

Members carry `builder_name`, `_core.Builder`'s name for them, so that emitting an
instruction needs no table.
"""

from enum import Enum


def named(value, enumeration, parameter):
    """The builder's name for a member of `enumeration`.

    A number or a word stands for the member of that value, as in kernels of the vendor's library
    (aws-neuron/nki-library at d2ad3a57: mlp_cte_projection.py, perf_mode). TypeError for anything
    else.
    """
    try:
        return value.builder_name
    except AttributeError:
        if type(value) in (int, str) and value in enumeration._value2member_map_:
            return enumeration(value).builder_name
        allowed = ", ".join(f"{enumeration.__name__}.{member.name}" for member in enumeration)
        raise TypeError(
            f"{parameter} is {value!r}, not a member of nki.isa.{enumeration.__name__}; "
            f"allowed: {allowed}."
        ) from None


class engine(Enum):
    """Engines of a NeuronCore; `unknown` leaves the choice to the simulator."""

    tensor = 1
    vector = 5
    scalar = 2
    gpsimd = 3
    dma = 4
    sync = 6
    unknown = 0


class reduce_cmd(Enum):
    """What an instruction does with the accumulator registers of its engine."""

    idle = 0
    reset = 1
    reduce = 2
    reset_reduce = 3
    load_reduce = 4


class dge_mode(Enum):
    """Who writes the descriptors of a DMA: GpSimd (swdge), hardware (hwdge), the runtime (none)."""

    unknown = 0
    swdge = 1
    hwdge = 2
    none = 3


class oob_mode(Enum):
    """What an indirect DMA does with an index out of bounds."""

    error = 0
    skip = 1


class matmul_perf_mode(Enum):
    """Modes of nc_matmul; double_row takes two fp8 values per cell of the array."""

    none = "none"
    double_row = "double_row"


def later_generation(enumeration, value, member):
    """Names `member` of `enumeration` for a generation after the vendor's last one, which only an
    architecture file has; None when `value` is not such a number."""
    if type(value) is not int or value <= max(each.value for each in enumeration):
        return None
    member._name_, member._value_ = f"gen{value}", value
    return enumeration._value2member_map_.setdefault(value, member)


class nc_version(Enum):
    """Generations of NeuronCores, which can be compared: Trn1 and Inf2, Trn2, Trn3."""

    gen2 = 2
    gen3 = 3
    gen4 = 4

    @classmethod
    def _missing_(cls, value):
        return later_generation(cls, value, object.__new__(cls))

    def __lt__(self, other):
        return self.value < _number(other)

    def __le__(self, other):
        return self.value <= _number(other)

    def __gt__(self, other):
        return self.value > _number(other)

    def __ge__(self, other):
        return self.value >= _number(other)


def _number(version):
    if isinstance(version, nc_version):
        return version.value
    raise TypeError(f"a nc_version is compared with {version!r}, which is not an nc_version.")


class dma_engine(Enum):
    """Who moves the bytes of sendrecv: the DMA engines of the core, or the DMA of GpSimd."""

    dma = 1
    gpsimd_dma = 2


DESCRIPTORS = {"unknown": "auto", "none": "static", "hwdge": "hardware", "swdge": "software"}


def name_members(enumeration, names=None):
    """Gives every member of an enumeration its `builder_name` (its own name, unless listed)."""
    for member in enumeration:
        member.builder_name = (names or {}).get(member.name, member.name)


name_members(engine, {"unknown": "auto"})
name_members(dge_mode, DESCRIPTORS)
for _enumeration in (reduce_cmd, oob_mode, matmul_perf_mode, dma_engine):
    name_members(_enumeration)

# Deprecated names of the vendor.
tensor_engine = engine.tensor
vector_engine = engine.vector
scalar_engine = engine.scalar
gpsimd_engine = engine.gpsimd
unknown_engine = engine.unknown
