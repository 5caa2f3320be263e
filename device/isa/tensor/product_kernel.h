#pragma once
// The innermost loops of a product of tiles, one variant per instruction set of the host.

#include <cstdint>
#include <span>
#include <string_view>

namespace neuron_sim {

/// One block of a product: target[rows, columns] (+)= left[depth, rows].T @ right[depth, columns],
/// with the columns of the kernel. Rows of each are `pitch` floats apart.
struct BlockProduct {
  int64_t depth = 0;
  const float* left = nullptr;
  int64_t left_pitch = 0;
  const float* right = nullptr;
  int64_t right_pitch = 0;
  float* target = nullptr;
  int64_t target_pitch = 0;
  bool accumulate = false;  ///< add to target with one fp32 addition, else overwrite it unread
  /// Where BlockShape::packing copies the columns of right, row after row; aligned to cache lines.
  float* packed = nullptr;
};

using BlockMultiply = void (*)(const BlockProduct&);

/// multiply[rows - 1] multiplies a block of `rows` rows and `columns` columns; packing[rows - 1],
/// where there is one, writes BlockProduct::packed on the way.
struct BlockShape {
  int64_t columns = 0;  ///< a multiple of 16
  std::span<const BlockMultiply> multiply;
  std::span<const BlockMultiply> packing{};

  int64_t rows() const { return static_cast<int64_t>(multiply.size()); }
};

/// Rows of floats that are copied: `length` of each, then zeros up to `padded`.
struct RowCopy {
  int64_t depth = 0;  ///< rows
  int64_t length = 0;
  const float* from = nullptr;
  int64_t from_pitch = 0;
  float* to = nullptr;
  int64_t to_pitch = 0;
  int64_t padded = 0;
};

/// Products of values of bf16, for which some hosts have an operation that makes two fused
/// multiply-adds per lane, but counts numbers below the normal ones as zeros.
struct PairedProduct {
  /// Makes one row of two: row 2 k in the high halves of words, row 2 k + 1 (zeros after the last
  /// row) in the low ones. Returns the bits of the smallest nonzero magnitude, or 0 when all values
  /// are zero.
  uint32_t (*pack)(const RowCopy&) = nullptr;
  BlockShape blocks;  ///< of packed rows: their depth is the number of pairs
};

/// Every variant gives the same bytes: an element is a chain of fused multiply-adds over the depth
/// in ascending order that starts from +0, then one fp32 addition when it accumulates; any NaN
/// becomes kProductNanBits. So variants may be vectorised over rows and columns, never over depth.
struct ProductKernel {
  std::string_view name;  ///< as in NEURON_SIM_PRODUCT_KERNEL
  bool (*runs_here)();    ///< whether this host has its instructions
  BlockShape blocks;      ///< for products of many rows
  BlockShape flat;        ///< for products of at most flat.rows() rows
  void (*copy)(const RowCopy&);
  BlockShape narrow{};  ///< for the last columns: the rows of `blocks`, fewer columns; may be empty
  PairedProduct paired{};  ///< empty where the host has no such operation
};

/// The bits of every NaN that a product holds.
inline constexpr uint32_t kProductNanBits = 0x7FC00000;

extern const ProductKernel kAvx512Bf16Product;  ///< AVX-512F and AVX512_BF16
extern const ProductKernel kAvx512Product;      ///< AVX-512F
extern const ProductKernel kAvx2Product;        ///< AVX2 with FMA
extern const ProductKernel kPortableProduct;  ///< any host: each fused operation from five of fp64

/// All variants, the fastest first.
std::span<const ProductKernel* const> product_kernels();
/// The variant that this process uses: the fastest that the host runs, or the one that
/// NEURON_SIM_PRODUCT_KERNEL names (KernelError if there is no such variant or the host lacks its
/// instructions). Read once.
const ProductKernel& product_kernel();
/// The variant of that name, as NEURON_SIM_PRODUCT_KERNEL gives it; empty means the fastest.
const ProductKernel& product_kernel_named(std::string_view wanted);

}  // namespace neuron_sim
