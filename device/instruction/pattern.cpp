#include "device/instruction/pattern.h"

#include <cstdlib>

namespace neuron_sim {

int merge_dimensions(std::span<const Dimension> dimensions, std::span<Dimension> merged) {
  int count = 0;
  for (const Dimension& next : dimensions) {
    if (next.size == 1) continue;
    if (count > 0) {
      Dimension& last = merged[static_cast<size_t>(count - 1)];
      if (last.stride == next.stride * next.size) {
        last = {last.size * next.size, next.stride};
        continue;
      }
    }
    merged[static_cast<size_t>(count++)] = next;
  }
  return count;
}

int64_t Pattern::runs() const {
  int64_t count = 1;
  for (int i = 0; i < outer_rank; ++i) count *= outer[static_cast<size_t>(i)].size;
  return count;
}

int64_t Pattern::offset(int64_t run) const {
  int64_t sum = 0;
  for (int i = outer_rank - 1; i >= 0 && run > 0; --i) {
    const Dimension& dimension = outer[static_cast<size_t>(i)];
    sum += run % dimension.size * dimension.stride;
    run /= dimension.size;
  }
  return sum;
}

Pattern Pattern::in_units_of(int64_t divisor) const {
  Pattern result = *this;
  result.stride /= divisor;
  for (Dimension& dimension : result.outer) dimension.stride /= divisor;
  return result;
}

Pattern free_pattern(const Access& access) {
  Pattern pattern;
  const int count =
      merge_dimensions({access.free.data(), static_cast<size_t>(access.rank)}, pattern.outer);
  if (count == 0) {
    pattern.stride = itemsize(access.dtype);
    return pattern;
  }
  const Dimension inner = pattern.outer[static_cast<size_t>(count - 1)];
  pattern.length = inner.size;
  pattern.stride = inner.stride;
  pattern.outer_rank = count - 1;
  return pattern;
}

bool is_strided(const View& view) {
  for (int i = view.rank() - 1; i > 0; --i) {
    if (view.size(i) > 1) return std::abs(view.dimension(i).stride) > kWideStride;
  }
  return false;
}

}  // namespace neuron_sim
