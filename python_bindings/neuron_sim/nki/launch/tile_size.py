"""nl.tile_size: limits of the architecture that a kernel is traced for."""

from ..isa.versions import target_architecture


class TileSize:
    """Numbers of elements, of banks, and of bytes per partition."""

    @property
    def architecture(self) -> str:
        return target_architecture().name

    @property
    def pmax(self) -> int:
        """Partitions of a tile."""
        return target_architecture().limits.partitions

    @property
    def psum_fmax(self) -> int:
        """fp32 elements per partition of a PSUM bank."""
        return target_architecture().psum_columns

    @property
    def gemm_stationary_fmax(self) -> int:
        """Columns of a stationary tile."""
        return target_architecture().limits.stationary_free

    @property
    def gemm_moving_fmax(self) -> int:
        """Columns of a moving tile."""
        return target_architecture().product_columns

    @property
    def bn_stats_fmax(self) -> int:
        """Elements per partition of one bn_stats."""
        return target_architecture().limits.bn_stats_elements

    @property
    def psum_num_banks(self) -> int:
        return target_architecture().limits.psum_banks

    @property
    def psum_bank_fmax_bytes(self) -> int:
        """Bytes per partition of a PSUM bank."""
        return target_architecture().limits.psum_bank

    @property
    def total_available_sbuf_size(self) -> int:
        """Bytes per partition."""
        return target_architecture().bytes_per_partition("sbuf")


tile_size = TileSize()
