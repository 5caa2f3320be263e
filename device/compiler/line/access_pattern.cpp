#include "device/compiler/line/access_pattern.h"

#include <algorithm>

namespace neuron_sim {
namespace {

/// Whether dimensions, innermost first, visit those bytes.
bool visits(const std::vector<Dimension>& dimensions, std::span<const int64_t> bytes) {
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto rest = static_cast<int64_t>(i);
    int64_t byte = bytes.front();
    for (const Dimension& each : dimensions) {
      byte += rest % each.size * each.stride;
      rest /= each.size;
    }
    if (byte != bytes[i]) return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Dimension>> pattern_of(std::span<const int64_t> bytes) {
  std::vector<Dimension> dimensions;  // innermost first
  size_t block = 1;                   // elements that the dimensions so far cover
  for (size_t blocks = bytes.size(); blocks > 1;) {
    const int64_t stride = bytes[block] - bytes[0];
    size_t size = 2;
    while (size < blocks && bytes[size * block] - bytes[(size - 1) * block] == stride) ++size;
    if (stride < 0 || blocks % size != 0) return std::nullopt;
    dimensions.push_back({static_cast<int64_t>(size), stride});
    block *= size;
    blocks /= size;
  }
  if (dimensions.size() > kMaximumFreeDimensions || !visits(dimensions, bytes)) return std::nullopt;
  std::reverse(dimensions.begin(), dimensions.end());
  return dimensions;
}

std::vector<Dimension> merged_dimensions(const Operand& operand) {
  std::vector<Dimension> merged;
  for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
    const Dimension& next = operand.free[i];
    if (next.size == 1) continue;
    if (!merged.empty() && merged.back().stride == next.size * next.stride) {
      merged.back() = {merged.back().size * next.size, next.stride};
    } else {
      merged.push_back(next);
    }
  }
  return merged;
}

}  // namespace neuron_sim
