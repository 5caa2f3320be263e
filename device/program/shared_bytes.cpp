#include "device/program/shared_bytes.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// The bytes of an access in order: runs of `length` bytes from each start.
struct Runs {
  std::vector<int64_t> starts;
  int64_t length = 0;
};

Runs runs_of(const Operand& operand, const Location& location) {
  std::vector<Dimension> dimensions(operand.free.begin(), operand.free.begin() + operand.rank);
  if (operand.memory == MemoryKind::kHbm) {
    dimensions.push_back({operand.partitions, operand.partition_stride});
  }
  Runs runs{{location.offset}, itemsize(operand.dtype)};
  std::erase_if(dimensions, [](const Dimension& d) { return d.size <= 1 || d.stride == 0; });
  for (Dimension& dimension : dimensions) {
    if (dimension.stride > 0) continue;
    runs.starts[0] += (dimension.size - 1) * dimension.stride;
    dimension.stride = -dimension.stride;
  }
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
  for (const Dimension& dimension : dimensions) {
    if (runs.starts.size() == 1 && dimension.stride <= runs.length) {
      runs.length += (dimension.size - 1) * dimension.stride;
      continue;
    }
    const std::vector<int64_t> inner = std::move(runs.starts);
    runs.starts.clear();
    for (int64_t i = 0; i < dimension.size; ++i) {
      for (const int64_t start : inner) runs.starts.push_back(start + i * dimension.stride);
    }
  }
  std::sort(runs.starts.begin(), runs.starts.end());
  return runs;
}

bool share_partitions(const Operand& a, const Location& at_a, const Operand& b,
                      const Location& at_b) {
  if (a.memory == MemoryKind::kHbm) return true;
  const int32_t count_a = a.partition_stride == 0 ? 1 : a.partitions;
  const int32_t count_b = b.partition_stride == 0 ? 1 : b.partitions;
  return at_a.partition < at_b.partition + count_b && at_b.partition < at_a.partition + count_a;
}

}  // namespace

std::optional<ByteRange> shared_bytes(const Operand& a, const Location& at_a, const Operand& b,
                                      const Location& at_b) {
  if (!share_partitions(a, at_a, b, at_b)) return std::nullopt;
  const Runs first = runs_of(a, at_a), second = runs_of(b, at_b);
  for (size_t i = 0, j = 0; i < first.starts.size() && j < second.starts.size();) {
    const int64_t begin = std::max(first.starts[i], second.starts[j]);
    const int64_t end = std::min(first.starts[i] + first.length, second.starts[j] + second.length);
    if (begin < end) return ByteRange{begin, end};
    first.starts[i] < second.starts[j] ? ++i : ++j;
  }
  return std::nullopt;
}

}  // namespace neuron_sim
