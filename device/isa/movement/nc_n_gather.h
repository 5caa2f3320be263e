#pragma once
// nc_n_gather: elements that each partition gathers by its own indices.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[p, i] = data[p, indices[p, i]], bit by bit, with all free dimensions flattened. indices is
/// uint32, each below the elements per partition of data (else an IndexError); dst has the dtype of
/// data and the partitions and elements of indices. GpSimd; SBUF. The call becomes one ISA
/// instruction per 512 elements of dst.
struct NcNGather {
  View dst, data, indices;

  enum OperandIndex { kDst, kData, kIndices };
  static constexpr auto fields() {
    using T = NcNGather;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kData>("data", Direction::kRead, &T::data),
                      operand<kIndices>("indices", Direction::kRead, &T::indices)};
  }
  Draft draft() const;
};

extern const InstructionType kNcNGather;

}  // namespace neuron_sim
