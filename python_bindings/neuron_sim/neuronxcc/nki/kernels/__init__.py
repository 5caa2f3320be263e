"""neuronxcc.nki.kernels: the documented kernels of the older package, written for the simulator.

Signatures, layouts and limits follow the vendor's documentation (SDK 2.21, "NKI Kernels"). The code
is ours, so instructions and times may differ from the vendor's kernels.
"""

from . import attention, normalization, vision
from .attention import (
    FlashConfig,
    allocated_fused_self_attn_for_SD_small_head_size,
    flash_attn_bwd,
    flash_fwd,
    fused_self_attn_for_SD_small_head_size,
)
from .normalization import allocated_fused_rms_norm_qkv
from .vision import resize_nearest_fixed_dma_kernel, select_and_scatter_kernel

__all__ = [
    "FlashConfig",
    "allocated_fused_rms_norm_qkv",
    "allocated_fused_self_attn_for_SD_small_head_size",
    "attention",
    "flash_attn_bwd",
    "flash_fwd",
    "fused_self_attn_for_SD_small_head_size",
    "normalization",
    "resize_nearest_fixed_dma_kernel",
    "select_and_scatter_kernel",
    "vision",
]
