#pragma once
// The innermost loops of a product of tiles, one variant per instruction set of the host.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace neuron_sim {

struct TileProduct;

/// One block of a product: target[rows, columns] (+)= left[depth, rows].T @ right[depth, columns],
/// with the columns of the kernel. Rows of each are `pitch` floats apart.
struct BlockProduct {
  int64_t depth = 0;
  int64_t rows = 0;
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

/// Products of values of bf16, whose operands are always packed: by `left` for the rows of a block,
/// by `right` for its columns, in at most packed_rows() rows each.
struct Bf16Product {
  BlockShape blocks;  ///< depth counts rows of the operands, before they are packed
  BlockShape flat;    ///< for products of at most flat.rows() rows; may be empty
  void (*left)(const RowCopy&) = nullptr;
  void (*right)(const RowCopy&) = nullptr;
  void (*begin)() = nullptr;  ///< before the blocks of a product, on their thread; may be null
  void (*end)() = nullptr;    ///< after them
  /// Computes a product whose moving operand is turned, if it can; `pairs`: room for
  /// packed_rows() rows of all columns. Null where it never can.
  bool (*turned)(const TileProduct&, float* pairs) = nullptr;
};

/// Every variant gives the same bytes. An element of fp32 operands is a chain of fused
/// multiply-adds over the depth in ascending order that starts from +0. One of values of bf16 is a
/// sum in fp32, from +0, over each kBf16Depth of the depth, the last ones filled up with zeros; its
/// summands are the sums of two such chains, of the elements at even and at odd places; and numbers
/// below the normal ones count as zeros of their signs, be they operands or results. (That is the
/// order of AMX; nobody has published that of the PE array.) Then follows one fp32 addition when it
/// accumulates. Any NaN becomes kProductNanBits. So variants may be vectorised over rows and
/// columns, not over depth.
struct ProductKernel {
  std::string_view name;  ///< as in NEURON_SIM_PRODUCT_KERNEL
  bool (*runs_here)();    ///< whether this host has its instructions
  BlockShape blocks;      ///< for products of many rows
  BlockShape flat;        ///< for products of at most flat.rows() rows
  void (*copy)(const RowCopy&);
  void (*transpose)(const RowCopy&);  ///< the same, rows becoming columns; at most 16, no zeros
  BlockShape narrow;  ///< for the last columns: the rows of `blocks`, fewer columns; may be empty
  const Bf16Product* bf16;
};

inline constexpr int64_t kBf16Depth = 32;

/// Rows that have room for the packed operands of any kernel.
inline int64_t packed_rows(int64_t depth) { return depth + kBf16Depth; }

/// Packs rows for chains: of each kBf16Depth rows those at even places, then as many at odd ones. A
/// chain of chain_length() rows has zeros at its end. `copy` writes one of the two.
void pack_chains(const RowCopy& rows, void (*copy)(const RowCopy&));
/// Elements of both chains of the next kBf16Depth of the `left` ones: if these are fewer, the odd
/// chain ends with a zero, as in a block that is filled up.
inline int64_t chain_length(int64_t left) {
  return left < kBf16Depth ? left / 2 + 1 : kBf16Depth / 2;
}

void copy_whole_rows(const RowCopy& rows);  ///< ProductKernel::copy on any host
void transpose_rows(const RowCopy& rows);   ///< ProductKernel::transpose on any host
/// total[rows, columns] = the sums of bf16 of packed operands on any host, `columns` a multiple of
/// 16; slow.
void add_chains_exactly(const BlockProduct& product, int64_t rows, int64_t columns, float* total);

/// The bits of every NaN that a product holds.
inline constexpr uint32_t kProductNanBits = 0x7FC00000;

extern const ProductKernel kAmxProduct;       ///< AMX for bf16, else AVX-512F
extern const ProductKernel kAvx512Product;    ///< AVX-512F
extern const ProductKernel kAvx2Product;      ///< AVX2 with FMA
extern const ProductKernel kNeonProduct;      ///< arm64
extern const ProductKernel kPortableProduct;  ///< any host: each fused operation from five of fp64

/// All variants.
std::span<const ProductKernel* const> product_kernels();
/// Those that this host runs, but of kPortableProduct only where there is no other.
std::vector<const ProductKernel*> product_kernels_of_host();
/// The variant that this process uses: the fastest of product_kernels_of_host(), or the one that
/// NEURON_SIM_PRODUCT_KERNEL names (KernelError if there is no such variant or the host lacks its
/// instructions). Read and measured once.
const ProductKernel& product_kernel();
/// The variant of that name, as NEURON_SIM_PRODUCT_KERNEL gives it; empty means the fastest.
const ProductKernel& product_kernel_named(std::string_view wanted);

}  // namespace neuron_sim
