#include "device/builder/hazard_groups.h"

#include <algorithm>
#include <utility>

namespace neuron_sim {
namespace {

uint64_t place_of(const Tile& tile, int64_t address) {
  return uint64_t{tile.core} << 56 | static_cast<uint64_t>(tile.memory) << 48 |
         static_cast<uint64_t>(address);
}

/// Whether no byte is written twice.
bool are_apart(std::vector<TensorAccesses::Write> writes) {
  std::sort(writes.begin(), writes.end(),
            [](const auto& a, const auto& b) { return a.region.low < b.region.low; });
  for (size_t i = 0; i < writes.size(); ++i) {
    if (!writes[i].is_injective) return false;
    const int64_t end = writes[i].region.high();
    for (size_t j = i + 1; j < writes.size() && writes[j].region.low < end; ++j) {
      if (overlap(writes[i].region, writes[j].region)) return false;
    }
  }
  return true;
}

}  // namespace

void TensorAccesses::add_write(const Operand& operand, std::span<const Repetition> loops) {
  std::vector<Repetition> repetitions{{operand.partition_stride, operand.partitions}};
  for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
    repetitions.push_back({operand.free[i].stride, operand.free[i].size});
  }
  repetitions.insert(repetitions.end(), loops.begin(), loops.end());
  const int64_t element = itemsize(operand.dtype);
  const bool fixed = !operand.indirect && operand.register_index < 0;
  writes.push_back({region_of(operand.offset, element, repetitions),
                    fixed && is_injective(element, repetitions)});
  // Unrolled loops may write the same bytes again and again; no more writes are kept.
  is_rewritten = !writes.back().is_injective ||
                 (writes.size() > 1 && overlap(writes[0].region, writes.back().region));
}

bool TensorAccesses::need_order() const {
  if (writes.empty()) return false;
  return is_read || meets || is_rewritten || !are_apart(writes);
}

void PlaceGroups::add(const Tile& tile, int64_t address) {
  const uint64_t place = place_of(tile, address);
  uint64_t& end = ends_[place];
  end = std::max(end, place + static_cast<uint64_t>(tile.bytes));
}

int32_t PlaceGroups::number(int32_t first) {
  std::vector<std::pair<uint64_t, uint64_t>> order(ends_.begin(), ends_.end());
  std::sort(order.begin(), order.end());
  uint64_t end = 0;
  for (const auto& [place, last] : order) {
    if (place >= end) ++first;
    end = std::max(end, last);
    ends_[place] = static_cast<uint64_t>(first) - 1;
  }
  return first;
}

int32_t PlaceGroups::group_of(const Tile& tile, int64_t address) const {
  return static_cast<int32_t>(ends_.at(place_of(tile, address)));
}

}  // namespace neuron_sim
