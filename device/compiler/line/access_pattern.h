#pragma once
// Access patterns of operands as sequences of bytes, to compose two of them.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/compiler/line/operand_patterns.h"

namespace neuron_sim {

/// Whether two operands are the same elements of one tile in the same order.
inline bool is_same_access(const StraightOperand& a, const StraightOperand& b) {
  return a.tile == b.tile && a.offset == b.offset && a.pattern == b.pattern &&
         a.start_partition == b.start_partition;
}

/// Calls element(byte) for the elements of the free dimensions of an operand in their order; bytes
/// are those of `operand.offset`.
template <typename Element>
void each_element(const Operand& operand, Element&& element) {
  std::array<int64_t, kMaximumFreeDimensions> at{};
  const auto rank = static_cast<size_t>(operand.rank);
  while (true) {
    int64_t offset = operand.offset;
    for (size_t d = 0; d < rank; ++d) offset += at[d] * operand.free[d].stride;
    element(offset);
    size_t d = rank;
    while (d > 0 && ++at[d - 1] == operand.free[d - 1].size) at[--d] = 0;
    if (d == 0) return;
  }
}

/// The free dimensions, outermost first, that visit those bytes in that order, as few as possible;
/// empty when no access pattern does: strides are not negative, and there are at most
/// kMaximumFreeDimensions.
std::optional<std::vector<Dimension>> pattern_of(std::span<const int64_t> bytes);

/// The dimensions of an operand with those that are contiguous to each other merged, and without
/// those of size 1.
std::vector<Dimension> merged_dimensions(const Operand& operand);

}  // namespace neuron_sim
