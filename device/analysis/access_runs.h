#pragma once
// The bytes of an operand in the order of its elements.

#include <array>

#include "device/program/program.h"

namespace neuron_sim {

/// Calls run(first byte, length) for the innermost contiguous runs of the free dimensions of an
/// operand, in the order of its elements; `base`: where its first element lies.
template <typename Run>
void each_free_run(const Operand& operand, int64_t base, Run&& run) {
  const std::array<Dimension, kMaximumFreeDimensions>& free = operand.free;
  int64_t length = itemsize(operand.dtype);
  auto outer = static_cast<size_t>(operand.rank);
  while (outer > 0 && (free[outer - 1].stride == length || free[outer - 1].size == 1)) {
    length *= free[--outer].size;
  }
  std::array<int64_t, kMaximumFreeDimensions> at{};
  while (true) {
    int64_t offset = base;
    for (size_t d = 0; d < outer; ++d) offset += at[d] * free[d].stride;
    run(offset, length);
    size_t d = outer;
    while (d > 0 && ++at[d - 1] == free[d - 1].size) at[--d] = 0;
    if (d == 0) return;
  }
}

/// Elements of an operand in one partition.
inline int64_t free_elements(const Operand& operand) {
  int64_t count = 1;
  for (int8_t i = 0; i < operand.rank; ++i) count *= operand.free[static_cast<size_t>(i)].size;
  return count;
}

}  // namespace neuron_sim
