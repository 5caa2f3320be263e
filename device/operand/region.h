#pragma once
// The bytes an access touches, in a form that lets two accesses be compared exactly and fast.

#include <cstdint>
#include <vector>

namespace neuron_sim {

/// A repetition: `size` times, `stride` bytes apart.
struct Repetition {
  int64_t stride = 0;
  int64_t size = 1;
};

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

/// The region of elements of `itemsize` bytes repeated that way from byte `low` (partitions: 0, 1).
Region region_of(int64_t low, int64_t itemsize, std::vector<Repetition> repetitions);
/// Whether no two elements of those repetitions share a byte (sufficient test: nested strides).
bool is_injective(int64_t itemsize, std::vector<Repetition> repetitions);

namespace detail {
/// Whether a and b overlap, or outer covers inner, for regions whose bounds do and of which one has
/// several runs.
bool overlap_runs(const Region& a, const Region& b);
bool covers_runs(const Region& outer, const Region& inner);
}  // namespace detail

/// Whether two regions may share a byte; exact when both are and their strides are equal or one
/// is contiguous, by a gcd test for different strides.
inline bool overlap(const Region& a, const Region& b) {
  if (a.partition >= b.partition + b.partitions || b.partition >= a.partition + a.partitions) {
    return false;
  }
  if (a.low >= b.high() || b.low >= a.high()) return false;
  return (a.count == 1 && b.count == 1) || detail::overlap_runs(a, b);
}

/// Whether `outer` contains every byte of `inner` (false when not known).
inline bool covers(const Region& outer, const Region& inner) {
  if (outer.low > inner.low || outer.high() < inner.high() || !outer.exact ||
      outer.partition > inner.partition ||
      outer.partition + outer.partitions < inner.partition + inner.partitions) {
    return false;
  }
  return outer.count == 1 || detail::covers_runs(outer, inner);
}

/// The smallest contiguous region that contains both.
Region bounding(const Region& a, const Region& b);

}  // namespace neuron_sim
