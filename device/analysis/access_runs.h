#pragma once
// The bytes of an operand in the order of its elements.

#include <algorithm>
#include <array>

#include "device/program/program.h"

namespace neuron_sim {

/// The contiguous run that the innermost free dimensions form.
struct InnermostRun {
  size_t outer = 0;   ///< dimensions around it
  int64_t bytes = 0;  ///< its length
};
inline InnermostRun innermost_run(const Operand& operand) {
  InnermostRun run{static_cast<size_t>(operand.rank), itemsize(operand.dtype)};
  while (run.outer > 0) {
    const Dimension& next = operand.free[run.outer - 1];
    if (next.stride != run.bytes && next.size != 1) break;
    run.bytes *= next.size;
    --run.outer;
  }
  return run;
}

/// Calls run(first byte, length) for the innermost contiguous runs of the free dimensions of an
/// operand, in the order of its elements; `base`: where its first element lies.
template <typename Run>
void each_free_run(const Operand& operand, int64_t base, Run&& run) {
  const std::array<Dimension, kMaximumFreeDimensions>& free = operand.free;
  const auto [outer, length] = innermost_run(operand);
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
/// Elements of an operand in all its partitions.
inline int64_t elements_of(const Operand& operand) {
  return operand.partitions * free_elements(operand);
}

}  // namespace neuron_sim
