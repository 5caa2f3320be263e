#include "device/program/region.h"

#include <algorithm>
#include <numeric>

namespace neuron_sim {
namespace {

/// Both regions seen as columns [low % stride, +run) of rows of `stride` bytes. Empty answer (-1)
/// when a run does not stay within one row.
int overlap_by_rows(const Region& a, const Region& b, int64_t stride) {
  const int64_t column_a = a.low % stride;
  const int64_t column_b = b.low % stride;
  if (column_a + a.run > stride || column_b + b.run > stride) return -1;
  if (column_a + a.run <= column_b || column_b + b.run <= column_a) return 0;
  const int64_t row_a = a.low / stride;
  const int64_t row_b = b.low / stride;
  return row_a < row_b + b.count && row_b < row_a + a.count ? 1 : 0;
}

}  // namespace

bool overlap(const Region& a, const Region& b) {
  if (a.partition >= b.partition + b.partitions || b.partition >= a.partition + a.partitions) {
    return false;
  }
  if (a.low >= b.high() || b.low >= a.high()) return false;
  if (a.count == 1 && b.count == 1) return true;
  if (a.stride == b.stride || a.count == 1 || b.count == 1) {
    const int answer = overlap_by_rows(a, b, a.count > 1 ? a.stride : b.stride);
    if (answer >= 0) return answer == 1;
    return true;
  }
  // Runs can only meet if their distance modulo gcd(strides) is shorter than a run.
  const int64_t gcd = std::gcd(a.stride, b.stride);
  const int64_t distance = ((b.low - a.low) % gcd + gcd) % gcd;
  return distance < a.run || gcd - distance < b.run;
}

bool covers(const Region& outer, const Region& inner) {
  if (!outer.exact) return false;
  if (outer.partition > inner.partition ||
      outer.partition + outer.partitions < inner.partition + inner.partitions) {
    return false;
  }
  if (outer.low > inner.low || outer.high() < inner.high()) return false;
  if (outer.count == 1) return true;
  const int64_t column_outer = outer.low % outer.stride;
  const int64_t column_inner = inner.low % outer.stride;
  const bool same_rows = inner.count == 1 || inner.stride == outer.stride;
  return same_rows && column_outer <= column_inner &&
         column_inner + inner.run <= column_outer + outer.run;
}

Region bounding(const Region& a, const Region& b) {
  Region result;
  result.partition = std::min(a.partition, b.partition);
  result.partitions =
      std::max(a.partition + a.partitions, b.partition + b.partitions) - result.partition;
  result.low = std::min(a.low, b.low);
  result.run = std::max(a.high(), b.high()) - result.low;
  result.exact = false;
  return result;
}

}  // namespace neuron_sim
