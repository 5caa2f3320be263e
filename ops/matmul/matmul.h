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
// accumulate in PSUM while panels of K stream by. Where `b` takes several panels, all K of these
// row tiles stays in SBUF instead, if that moves less: a once, b once per four row tiles.
//
// The variants are the ladder of the vendor's NKI tutorial on matrix multiplication, with its tiles
// (128 x 128 stationary, 512 columns moving) and blocks, for any sizes:
//   tiled                 one tile of the output at a time; both operands of every product of tiles
//                         are loaded for it (matmul_tutorial.cpp);
//   hoist_load            all of K of a row tile of a is loaded once per row tile, all of K of a
//                         column tile of b once per output tile;
//   block_free_dimension  the same for blocks of 256 rows and 1024 columns: half of the traffic. A
//                         K that SBUF cannot hold streams by in panels, and a is loaded again for
//                         every block;
//   fully_optimized       blocks of 2048 rows, 1024 columns and 1024 of K; partial sums of a block
//                         of K are added up in SBUF, in fp32 (matmul_fully_optimized.cpp);
//   auto                  the two tile plans above.
// They differ in traffic and overlap, not in the work of TensorE.
//
// Roofline: TensorE, ceil(M / 128) * ceil(K / 128) * N columns at one column per cycle for 16-bit
// operands and four cycles for fp32, plus K / 128 * M columns of transposes; DMA below about
// 180 flops per byte (16-bit, trn2).

#include <array>
#include <string_view>

#include "device/builder/builder.h"
#include "ops/blocks/epilogue.h"
#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

enum class MatmulVariant { kAuto, kTiled, kHoistLoad, kBlockFreeDimension, kFullyOptimized };

/// "auto", "tiled", "hoist_load", "block_free_dimension" or "fully_optimized"; KernelError for
/// another name.
MatmulVariant parse_matmul_variant(std::string_view name);
inline void parse_option(std::string_view, std::string_view, std::string_view name,
                         MatmulVariant& value) {
  value = parse_matmul_variant(name);
}

struct MatmulOptions {
  MatmulVariant variant = MatmulVariant::kAuto;
  bool transpose_x = false;  ///< kMatmul: a is given as [K, M]
  /// auto: columns of `b` that are resident together, a multiple of 128; 0 takes as many as fit.
  int64_t panel_columns = 0;
  /// auto: rows of K per panel of the streamed plan, a multiple of 128; 0 keeps K resident if it
  /// fits.
  int64_t panel_rows = 0;
  /// auto: whether operands that are transposed on chip keep every bit where the Tensor engine's
  /// transpose is a product (see Transposer); NaN and infinities spread over a tile if not.
  bool exact_transposes = true;
  static constexpr std::array kFields{"variant", "transpose_x", "", "", ""};
};

/// out = epilogue(a @ b) for HBM views a [M, K], b [K, N], out [M, N] of one dtype, none empty.
/// The bias of `epilogue`, if any, is a column bias.
void emit_matmul(Builder& builder, const View& a, const View& b, const View& out,
                 const Epilogue& epilogue = {}, const MatmulOptions& options = {});

/// 2-D a [M, K] ([K, M] with transpose_x) and b [K, N] of equal dtype (fp32, fp16, bf16), any
/// strides; the output is dense, of the same dtype. K = 0 gives zeros. KernelError for other ranks,
/// sizes that do not match and other dtypes.
extern const KernelDefinition<MatmulOptions> kMatmul;

}  // namespace neuron_sim
