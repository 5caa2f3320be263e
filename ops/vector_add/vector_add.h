#pragma once
// vector_add: out = a + b, element by element.
//
// Algorithm: load, add on Vector (int32: exact on GpSimd), store. Variants, as in the course
// handout:
//   naive   one tile of [elements, 1]; at most 128 elements;
//   tiled   a loop over tiles of [row_chunk, 1]: every partition moves one element per DMA;
//   stream  a loop over tiles of [128, free_dim], so that a descriptor moves a long run;
//   direct  stream with direct allocation: each tensor has num_free_tiles physical tiles from its
//           base address on, and its tile i is physical tile i mod num_free_tiles;
//   direct_bad  direct with base addresses one tile apart, so that the rings of the three tensors
//           overlap. The tiles of one turn do not, so the sums are right; tiles of different turns
//           do, so a load waits for the addition and the store of the previous turn. The handout's
//           vector_add_direct_allocation_bad puts all three at offset 0: there b[i] overwrites a[i]
//           before it is added, whatever the waits, and such base addresses are an error here.
// All variants keep rings of tiles, so that loads (queue of Sync), additions and stores (queue of
// Scalar) of different tiles overlap. Tensors that are not contiguous are walked with the strided
// plan of strided_add.cpp (stream only): a suffix of dimensions is free, the longest other
// dimension lies on partitions, the rest are loops; dimensions of stride 0 are loaded once and
// repeated by the access pattern of the addition.
//
// Roofline: DMA, 3 * elements * itemsize bytes at the bandwidth of the 16 engines; Vector needs 2
// cycles per 128 fp32 elements, less than their 1.5 KiB of traffic.

#include <array>
#include <string_view>
#include <vector>

#include "ops/contract/kernel_definition.h"

namespace neuron_sim {

enum class VectorAddVariant { kNaive, kTiled, kStream, kDirect, kDirectBad };

/// "naive", "tiled", "stream", "direct" or "direct_bad"; KernelError for another name.
VectorAddVariant parse_vector_add_variant(std::string_view name);
inline void parse_option(std::string_view, std::string_view, std::string_view name,
                         VectorAddVariant& value) {
  value = parse_vector_add_variant(name);
}

struct VectorAddOptions {
  VectorAddVariant variant = VectorAddVariant::kStream;
  int64_t row_chunk = 128;     ///< tiled: partitions per tile, at most limits.partitions
  int64_t free_dim = 0;        ///< stream, direct: elements per partition and tile; 0 chooses
  int64_t num_free_tiles = 4;  ///< direct: physical tiles of each tensor, at least 1
  /// direct: first byte in every partition of the tiles of a, b and the sum, multiples of the
  /// itemsize; empty: one tensor after the other from byte 0.
  std::vector<int64_t> base_addresses{};
  static constexpr std::array kFields{"variant", "row_chunk", "free_dim", "num_free_tiles",
                                      "base_addresses"};
};

/// Equal shapes (the caller broadcasts by strides of 0) and dtypes: fp32, fp16, bf16 (computed in
/// fp32, rounded once), int32, int16, int8, uint8 (exact modulo 2^bits). The output is dense.
/// KernelError for other dtypes, different shapes, more partitions than a variant takes, operands
/// that are not contiguous (except for stream), and direct placements that do not fit SBUF or
/// overlap within a turn.
extern const KernelDefinition<VectorAddOptions> kVectorAdd;

}  // namespace neuron_sim
