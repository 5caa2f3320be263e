#pragma once
// Access patterns of the same size, to run an instruction over every combination of them.

#include <string>
#include <vector>

#include "tests/device/isa/run_instruction.h"

namespace neuron_sim {

inline constexpr int64_t kPatternPartitions = 3;
inline constexpr int64_t kPatternElements = 24;
inline constexpr int64_t kPatternValues = kPatternPartitions * kPatternElements;

enum class Pattern { kDense, kEveryOther, kPermuted, kGaps, kPartitionOffset, kBroadcast };

inline const std::vector<Pattern>& target_patterns() {
  static const std::vector<Pattern> patterns = {Pattern::kDense, Pattern::kEveryOther,
                                                Pattern::kPermuted, Pattern::kGaps,
                                                Pattern::kPartitionOffset};
  return patterns;
}
inline const std::vector<Pattern>& source_patterns() {
  static const std::vector<Pattern> patterns = [] {
    std::vector<Pattern> all = target_patterns();
    all.push_back(Pattern::kBroadcast);
    return all;
  }();
  return patterns;
}

/// A view of 3 partitions and 24 elements per partition (in up to four dimensions) of a new tile.
inline View pattern_view(InstructionBench& bench, Pattern pattern, Dtype dtype,
                         const std::string& label, MemoryKind memory = kSbuf) {
  const int64_t p = kPatternPartitions;
  switch (pattern) {
    case Pattern::kDense: return bench.tile(memory, dtype, {p, 24}, label);
    case Pattern::kEveryOther: return bench.tile(memory, dtype, {p, 50}, label).slice(1, 1, 24, 2);
    case Pattern::kPermuted: return bench.tile(memory, dtype, {p, 6, 4}, label).permute({0, 2, 1});
    case Pattern::kGaps:
      return bench.tile(memory, dtype, {p, 2, 3, 3, 4}, label).slice(3, 1, 2).slice(4, 1, 2);
    case Pattern::kPartitionOffset:
      return bench.tile(memory, dtype, {128, 24}, label).slice(0, 96, p);
    case Pattern::kBroadcast: return bench.tile(memory, dtype, {p, 1}, label).broadcast(1, 24);
  }
  return {};
}

/// Fills a view with random values of its dtype and returns what it then holds.
inline std::vector<double> fill_random(InstructionBench& bench, const View& view, unsigned seed,
                                       double low = -4, double high = 4) {
  const int64_t count = view.partitions() * view.free_elements();
  std::vector<double> values = random_values(count, low, high, seed);
  for (double& value : values) value = round_to(view.dtype(), value);
  bench.set(view, values);
  return bench.get(view);
}

/// All dtypes that instructions compute with: not scales, not packed ones.
inline const std::vector<Dtype>& all_dtypes() {
  static const std::vector<Dtype> dtypes = [] {
    std::vector<Dtype> all;
    for (int i = 0; i < kDtypeCount; ++i) {
      const Dtype dtype = static_cast<Dtype>(i);
      if (!is_packed(dtype) && dtype != Dtype::kFloat8E8m0fnu) all.push_back(dtype);
    }
    return all;
  }();
  return dtypes;
}

/// What an fp32 result becomes in `dtype`; bool keeps NaN as true.
inline double stored(Dtype dtype, double value) {
  if (dtype == Dtype::kBool && std::isnan(value)) return 1;
  return round_to(dtype, round_to(kFp32, value));
}

}  // namespace neuron_sim
