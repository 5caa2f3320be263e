#pragma once
// matmul: out[M, N] = a[M, K] @ b[K, N].
//
// Algorithm. TensorE contracts over partitions, so both operands are brought to [K on partitions]:
// `a` as the stationary operand in tiles of 128 rows of the output, `b` as the moving operand in
// tiles of 512 columns. An operand that is contiguous along K (a row-major `a`, the transposed
// weight of a linear layer as `b`) is loaded by rows and transposed on chip, the other kind is
// loaded straight to its place. K is accumulated in PSUM in fp32; the result is rounded once.
//
// Tile plan, K resident (matmul_resident.cpp): all K of a panel of columns of `b` stays in SBUF
// (all of `b` if it fits), row tiles of `a` stream past it, the next one loaded and transposed
// while TensorE multiplies the current one. HBM traffic: b once, a once per panel. Tile plan, K
// streamed (matmul_streamed.cpp): for a K that does not fit; four row tiles times 512 columns
// accumulate in PSUM while panels of K stream by.
//
// Roofline: TensorE, ceil(M / 128) * ceil(K / 128) * N columns at one column per cycle for 16-bit
// operands and four cycles for fp32, plus K / 128 * M columns of transposes; DMA below about
// 180 flops per byte (16-bit, trn2).

#include "device/program/builder.h"
#include "ops/epilogue.h"
#include "ops/tensor_spec.h"

namespace neuron_sim {

struct MatmulOptions {
  /// Columns of `b` that are resident together, a multiple of 128; 0 takes what fits.
  int64_t panel_columns = 0;
  /// Rows of K per panel of the streamed plan, a multiple of 128; 0 keeps K resident if it fits.
  int64_t panel_rows = 0;
};

/// out = epilogue(a @ b) for HBM views a [M, K], b [K, N], out [M, N] of one dtype, none empty.
/// The bias of `epilogue`, if any, is a column bias.
void emit_matmul(Builder& builder, const View& a, const View& b, const View& out,
                 const Epilogue& epilogue = {}, const MatmulOptions& options = {});

/// 2-D a [M, K] and b [K, N] of equal dtype (fp32, fp16, bf16), any strides; the output is dense,
/// of the same dtype. K = 0 gives zeros. KernelError for other ranks, sizes that do not match and
/// other dtypes.
BuiltOp build_matmul(const Architecture& architecture, const TensorSpec& a, const TensorSpec& b,
                     const MatmulOptions& options = {});

}  // namespace neuron_sim
