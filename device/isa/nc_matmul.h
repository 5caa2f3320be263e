#pragma once
// nc_matmul: one multiplication of a tile on the PE array.

#include "device/isa/instruction_type.h"

namespace neuron_sim {

/// dst[M, N] (+)= stationary[K, M].T @ moving[K, N].
///
/// dst: PSUM, fp32, M partitions, N elements per partition in one bank. stationary, moving: SBUF,
/// fp8, fp16, bf16, tf32 or fp32; tf32 and fp32 only with each other. K <= limits.partitions,
/// M <= limits.stationary_free, N <= limits.moving_free; N may spread over several free dimensions
/// (of moving and, differently, of dst), which count in row-major order.
///
/// Value: one fp32 GEMM over the K rows per contiguous run of `moving` (design.md 3.4); with
/// `accumulate` one fp32 addition per element of dst, else dst is overwritten and not read.
///
/// `is_transpose` on an architecture with features.exact_transpose: moving holds exactly one 1 per
/// column (an identity or a permutation), and dst, of the dtype of stationary, gets
/// dst[m, n] = stationary[k(n), m] bit by bit, NaN and infinities included. A moving column that is
/// not one-hot is a KernelError at run time. Elsewhere the flag changes nothing but the name in the
/// profiler (nki.isa.nc_matmul, "Transpose mode").
struct NcMatmul {
  View dst, stationary, moving;
  bool accumulate = false;
  bool is_transpose = false;

  Draft draft() const;
};

extern const InstructionType kNcMatmul;

}  // namespace neuron_sim
