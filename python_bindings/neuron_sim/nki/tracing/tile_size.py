"""nl.tile_size: limits of the architecture that a kernel is traced for."""

from .launch import architecture_of
from .trace import _stack

_SBUF_BYTES = {"trn1": 180224, "trn2": 212984, "trn3": 245752}  # the vendor's tables of tile sizes


class TileSize:
    """Numbers of elements, of banks, and of bytes per partition."""

    pmax = 128
    psum_fmax = 512
    gemm_stationary_fmax = 128
    gemm_moving_fmax = 512
    bn_stats_fmax = 512
    psum_num_banks = 8
    psum_bank_fmax_bytes = 2048

    @property
    def architecture(self) -> str:
        return _stack[-1].architecture if _stack else architecture_of()

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes per partition."""
        return _SBUF_BYTES[self.architecture.split("-")[0]]


tile_size = TileSize()
