#pragma once
// The bytes an access touches, in a form that two accesses can be compared exactly and fast.

#include <cstdint>

namespace neuron_sim {

/// `count` runs of `run` bytes, `stride` bytes apart, from byte `low`, in partitions
/// [partition, partition + partitions). Patterns with more levels are widened to the next
/// coarser region (`exact` false): conservative, never missing a byte.
struct Region {
  int32_t partition = 0;
  int32_t partitions = 1;
  int64_t low = 0;
  int64_t run = 0;
  int64_t stride = 0;
  int32_t count = 1;
  bool exact = true;

  int64_t high() const { return low + (count - 1) * stride + run; }
  bool operator==(const Region&) const = default;
};

/// Whether two regions may share a byte; exact when both are and their strides are equal or one
/// is contiguous, by a gcd test for different strides.
bool overlap(const Region& a, const Region& b);
/// Whether `outer` contains every byte of `inner` (false when not known).
bool covers(const Region& outer, const Region& inner);
/// The smallest contiguous region that contains both.
Region bounding(const Region& a, const Region& b);

}  // namespace neuron_sim
