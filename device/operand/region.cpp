#include "device/operand/region.h"

#include <algorithm>
#include <numeric>

namespace neuron_sim {
namespace {

/// Largest integer not above a / b, for b > 0.
int64_t floor_division(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

/// Runs of both regions are `stride` bytes apart (or there is one run only). Run j of b begins
/// distance + (j - i) * stride bytes after run i of a; they overlap where that is between -b.run
/// and a.run.
bool overlap_by_rows(const Region& a, const Region& b, int64_t stride) {
  const int64_t distance = b.low - a.low;
  const int64_t first = floor_division(-b.run - distance, stride) + 1;
  const int64_t last = floor_division(a.run - distance - 1, stride);
  return std::max<int64_t>(first, 1 - a.count) <= std::min<int64_t>(last, b.count - 1);
}

/// Drops repetitions that add no bytes, turns descending ones around (`low` moves to the first
/// byte) and sorts them by stride, smallest first.
std::vector<Repetition> normalised(std::vector<Repetition> repetitions, int64_t& low) {
  std::erase_if(repetitions, [](const Repetition& r) { return r.size <= 1 || r.stride == 0; });
  for (Repetition& r : repetitions) {
    if (r.stride > 0) continue;
    low += (r.size - 1) * r.stride;
    r.stride = -r.stride;
  }
  std::sort(repetitions.begin(), repetitions.end(),
            [](const Repetition& a, const Repetition& b) { return a.stride < b.stride; });
  return repetitions;
}

}  // namespace

Region region_of(int64_t low, int64_t itemsize, std::vector<Repetition> repetitions) {
  Region region;
  region.low = low;
  region.run = itemsize;
  std::vector<Repetition> levels = normalised(std::move(repetitions), region.low);
  size_t count = 0;  // of levels, which take the places of repetitions before `next`
  for (const Repetition next : levels) {
    if (count == 0 && next.stride <= region.run) {
      region.run += (next.size - 1) * next.stride;
    } else if (count > 0 && next.stride == levels[count - 1].stride * levels[count - 1].size) {
      levels[count - 1].size *= next.size;
    } else {
      levels[count++] = next;
    }
  }
  levels.resize(count);
  while (levels.size() > 1) {  // widen the innermost level to a contiguous run
    region.run += (levels.front().size - 1) * levels.front().stride;
    region.exact = false;
    levels.erase(levels.begin());
    while (!levels.empty() && levels.front().stride <= region.run) {
      region.run += (levels.front().size - 1) * levels.front().stride;
      levels.erase(levels.begin());
    }
  }
  if (!levels.empty()) {
    region.stride = levels.front().stride;
    region.count = static_cast<int32_t>(levels.front().size);
  }
  return region;
}

bool is_injective(int64_t itemsize, std::vector<Repetition> repetitions) {
  int64_t extent = itemsize;
  for (const Repetition& next : repetitions) {
    if (next.size > 1 && next.stride == 0) return false;
  }
  int64_t low = 0;
  for (const Repetition& next : normalised(std::move(repetitions), low)) {
    if (next.stride < extent) return false;
    extent += (next.size - 1) * next.stride;
  }
  return true;
}

bool detail::overlap_runs(const Region& a, const Region& b) {
  if (a.stride == b.stride || a.count == 1 || b.count == 1) {
    return overlap_by_rows(a, b, a.count > 1 ? a.stride : b.stride);
  }
  // Runs can only meet if their distance modulo gcd(strides) is shorter than a run.
  const int64_t gcd = std::gcd(a.stride, b.stride);
  const int64_t distance = ((b.low - a.low) % gcd + gcd) % gcd;
  return distance < a.run || gcd - distance < b.run;
}

bool detail::covers_runs(const Region& outer, const Region& inner) {
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
