"""nki.isa: matrix products and transposes of the Tensor engine, and quantisation for it."""

from .constants import engine as engines
from .constants import named
from .declared import declared
from .instruction import MATMUL, builder, emitted
from .versions import nc_generation


@declared(
    "dst stationary moving is_stationary_onezero is_moving_onezero is_transpose accumulate "
    "tile_position=() tile_size=() perf_mode",
    plain=(MATMUL, 7),
)
def nc_matmul():
    """dst (+)= stationary.T @ moving on the Tensor engine, in fp32.

    stationary: SBUF [K, M], K and M at most 128; moving: SBUF [K, N], N at most 512 (Trn3: what
    PSUM holds); dst: PSUM [M, N]. fp8, fp16, bf16 and fp32 operands, fp32 only with fp32 (four
    passes, two when an operand is declared to be ones and zeros). accumulate: True adds to dst,
    False overwrites it, None adds to what matmuls wrote and overwrites otherwise. is_transpose:
    moving is an identity, the bits of stationary arrive unchanged (Trn2 and later). tile_position,
    tile_size: (row, column) and (rows, columns) of the part of the array that works, both or
    neither. perf_mode.double_row: fp8 operands [K, 2, M] and [K, 2, N].
    """


@declared()
def nc_matmul_mx():
    """dst (+)= the product of two microscaled operands, of four values per element (Trn3).

    stationary: SBUF [K, M], moving: SBUF [K, N], K a multiple of 32, of a packed dtype such as
    nl.float8_e4m3fn_x4; the scales are uint8, one for 8 partitions x 4 values, in the first
    partitions of each quadrant. dst: PSUM [M, N], fp32 or bf16. accumulate as in nc_matmul.
    """


def nc_transpose(dst, data, engine=engines.unknown, name=None):
    """dst[f, p] = data[p, f]; several free dimensions count as one.

    Tensor engine: data in SBUF up to [128, 128], dst in PSUM; Vector engine: up to [32, 32], SBUF
    or PSUM. dst has the dtype of data (Trn1, Tensor engine: fp32). unknown: by shape and memory.
    """
    if dst.dtype is not data.dtype and data.dtype.itemsize == 2 and nc_generation() > 2:
        raise TypeError(
            f"dtype {dst.dtype.name} of operand 'dst' of 'nc_transpose' is not supported; expected "
            f"{data.dtype.name}, the dtype of 'data'."
        )
    builder().nc_transpose(dst.access, data.access, named(engine, engines, "engine"))
    return emitted(name)
