#pragma once
// The elements of an operand of an instance as fp32.

#include "device/instruction/instruction_type.h"
#include "device/numerics/dtype.h"

namespace neuron_sim {

/// Calls visit(values, count, partition, first element) for the innermost rows of a float operand;
/// rows that an indirect operand skips are left out.
template <typename Visit>
void each_float_row(const Access& access, Visit&& visit) {
  std::vector<float> values;
  const auto rank = static_cast<size_t>(access.rank);
  const Dimension inner = rank == 0 ? Dimension{1, itemsize(access.dtype)} : access.free[rank - 1];
  values.resize(static_cast<size_t>(inner.size));
  for (int64_t p = 0; p < access.partitions; ++p) {
    if (access.rows != nullptr && access.rows[p] < 0) continue;
    const std::byte* start = access.partition(p);
    std::array<int64_t, kMaximumFreeDimensions> at{};
    int64_t element = 0;
    while (true) {
      int64_t offset = 0;
      for (size_t d = 0; d + 1 < rank; ++d) offset += at[d] * access.free[d].stride;
      load_floats(start + offset, access.dtype, inner.stride, values.data(), inner.size);
      visit(values.data(), inner.size, p, element);
      element += inner.size;
      size_t d = rank == 0 ? 0 : rank - 1;
      while (d > 0 && ++at[d - 1] == access.free[d - 1].size) at[--d] = 0;
      if (d == 0) break;
    }
  }
}

}  // namespace neuron_sim
