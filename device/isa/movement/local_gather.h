#pragma once
// local_gather: elements that all partitions of a GpSimd core take from the same places.

#include <optional>

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[p, i * num_elem_per_idx + j] = src_buffer[p, index_of_core(i) + j], bit by bit, where entry
/// i of the index slice [16, n] of the 16 partitions that one GpSimd core serves is counted
/// partition first: index_of_core(i) = index[first + i % 16, i / 16]. Free dimensions are
/// flattened; an index counts elements of a partition and must leave room for num_elem_per_idx of
/// them (the vendor leaves indices out of bounds undefined; here they are an IndexError).
///
/// src_buffer and index have the same partitions, a multiple of limits.gpsimd_core_partitions; dst
/// has num_valid_indices * num_elem_per_idx elements in as many partitions. index is uint16, dst
/// has the dtype of src_buffer. num_elem_per_idx is 1, 2, 4, 8, 16 or 32. num_valid_indices, per
/// core, defaults to all entries of a slice, at most limits.local_gather_indices. GpSimd; SBUF.
struct LocalGather {
  View dst, src_buffer, index;
  int64_t num_elem_per_idx = 1;
  std::optional<int64_t> num_valid_indices{};

  enum OperandIndex { kDst, kSrcBuffer, kIndex };
  enum AttributeIndex { kElements, kValid };
  static constexpr auto fields() {
    using T = LocalGather;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kSrcBuffer>("src_buffer", Direction::kRead, &T::src_buffer),
                      operand<kIndex>("index", Direction::kRead, &T::index),
                      attribute<kElements>("num_elem_per_idx", &T::num_elem_per_idx),
                      parameter("num_valid_indices", &T::num_valid_indices),
                      hidden_attribute<kValid>("num_valid_indices", AttributeKind::kInteger)};
  }
  Draft draft() const;
};

extern const InstructionType kLocalGather;

}  // namespace neuron_sim
