#pragma once
// transpose: out[C, R] = x[R, C], bit-exact (except engine tensor of generation 2).
//
// Algorithm. Row blocks are loaded unchanged, [128 rows, columns]; 128x128 blocks are transposed
// on chip; blocks that are neighbours in the output share a PSUM bank and leave with one copy,
// alternating between Vector and Scalar, and one store of 2 KiB runs. A matrix whose columns are
// contiguous is already transposed: it is copied.
//
// Tile plan: 2 KiB of one column of the output (512 fp32, 1024 16-bit, 2048 8-bit elements) times
// 512 columns of x per step: 8 KiB per partition in, 2 KiB out, in rings.
//
// Engines:
//   tensor  TensorE in 128x128 blocks, through PSUM. On generation 2 it multiplies by an identity,
//           so x must be floating, a NaN or infinity spoils a row of its block, and -0 becomes +0;
//   vector  Vector in 32x32 blocks, SBUF to SBUF;
//   dma     no compute engine: dma_transpose on the way to SBUF, at nearly the bandwidth of a copy
//           for 2- and 4-byte elements of generations 3 and 4; element by element otherwise. A copy
//           if x is already transposed;
//   auto    tensor where it is bit-exact, else vector; a copy if x is already transposed.
//
// Roofline: DMA, 2 * elements * itemsize; TensorE needs 2 cycles per 128 fp32 elements (1 for
// 16 bit) and the copies out of PSUM about as much as the DMA of the same bytes.

#include <array>
#include <string_view>

#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

enum class TransposeEngine { kAuto, kTensor, kVector, kDma };

/// "auto", "tensor", "vector" or "dma"; KernelError for another name.
TransposeEngine parse_transpose_engine(std::string_view name);
inline void parse_option(std::string_view, std::string_view, std::string_view name,
                         TransposeEngine& value) {
  value = parse_transpose_engine(name);
}

/// out = x transposed, for HBM views [R, C] and [C, R] of one dtype, not empty.
void emit_transpose(Builder& builder, const View& x, const View& out,
                    TransposeEngine engine = TransposeEngine::kAuto);

struct TransposeOptions {
  TransposeEngine engine = TransposeEngine::kAuto;
  static constexpr std::array kFields{"engine"};
};

/// 2-D x of any dtype and strides; the output is dense. KernelError for other ranks, and for
/// integers on engine tensor of generation 2.
extern const KernelDefinition<TransposeOptions> kTranspose;

}  // namespace neuron_sim
