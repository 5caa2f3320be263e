#pragma once
// sequence_bounds: where the run of equal segment ids around each element starts and ends.

#include "device/instruction/fields.h"

namespace neuron_sim {

/// dst[0, 0, i], dst[0, 1, i] = first element and one past the last element of the run of equal
/// segment_ids that element i belongs to; an id of zero is padding and gives n and -1. segment_ids:
/// one partition of n elements, fp32 or int32; dst: [1, 2, n], fp32 or int32. Each NaN is a
/// separate segment; 0 and -0 are both padding. GpSimd; SBUF.
struct SequenceBounds {
  View dst, segment_ids;

  enum OperandIndex { kDst, kSegmentIds };
  static constexpr auto fields() {
    using T = SequenceBounds;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kSegmentIds>("segment_ids", Direction::kRead, &T::segment_ids)};
  }
  Draft draft() const;
};

extern const InstructionType kSequenceBounds;

}  // namespace neuron_sim
