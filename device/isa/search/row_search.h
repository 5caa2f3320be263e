#pragma once
// The elements of a row that lie in a range, for instructions that search rows.

#include <algorithm>
#include <bit>
#include <cstdint>

namespace neuron_sim {

/// From `low` to `high`, both included. NaN lies in no range.
struct FloatRange {
  float low, high;
};

namespace row_search {

inline constexpr int64_t kBlock = 32;  ///< elements of a mask
inline constexpr int64_t kBlocks = 16;

/// Bit j of masks[i] says whether element kBlock * i + j lies in the range; of at most
/// kBlocks * kBlock elements.
void find(const float* row, int64_t count, const FloatRange& range, uint32_t* masks);

}  // namespace row_search

/// Calls visit(i) for the elements in the range, in order, until it returns false. `visit` may
/// narrow the range: later elements need not lie in the old one.
template <typename Visit>
void for_elements_within(const float* row, int64_t count, const FloatRange& range, Visit visit) {
  constexpr int64_t kSpan = row_search::kBlock * row_search::kBlocks;
  uint32_t masks[row_search::kBlocks];
  for (int64_t start = 0; start < count; start += kSpan) {
    const int64_t length = std::min(kSpan, count - start);
    row_search::find(row + start, length, range, masks);
    for (int64_t block = 0; block * row_search::kBlock < length; ++block) {
      for (uint32_t mask = masks[block]; mask != 0; mask &= mask - 1) {
        if (!visit(start + block * row_search::kBlock + std::countr_zero(mask))) return;
      }
    }
  }
}

}  // namespace neuron_sim
