#include "device/check/operand_overlap.h"

#include <algorithm>

#include "device/analysis/access_runs.h"

namespace neuron_sim {
namespace {

/// The dimensions that have more than one element, merged where both patterns allow it.
bool same_pattern(const Operand& a, const Operand& b) {
  if (a.dtype != b.dtype && itemsize(a.dtype) != itemsize(b.dtype)) return false;
  if (a.partitions != b.partitions) return false;
  if (a.partitions > 1 && a.partition_stride != b.partition_stride) return false;
  std::vector<int64_t> starts;
  each_free_run(a, 0, [&](int64_t first, int64_t length) {
    for (int64_t at = 0; at < length; at += itemsize(a.dtype)) starts.push_back(first + at);
  });
  size_t i = 0;
  bool same = true;
  each_free_run(b, 0, [&](int64_t first, int64_t length) {
    for (int64_t at = 0; at < length; at += itemsize(b.dtype)) same &= starts[i++] == first + at;
  });
  return same;
}

}  // namespace

bool may_overlap(const Operand& dst, const Operand& src) {
  if (!dst.present() || !src.present() || dst.memory != src.memory) return false;
  if (!dst.writes() || src.direction != Direction::kRead) return false;
  if (dst.memory == MemoryKind::kAccumulator || dst.memory == MemoryKind::kRandomState) {
    return false;
  }
  const int64_t elements = elements_of(dst);
  return elements > 1 && elements == elements_of(src);
}

std::optional<ByteRange> repeated_bytes(const Operand& operand) {
  std::vector<Repetition> repetitions{{operand.partition_stride, operand.partitions}};
  for (int8_t i = 0; i < operand.rank; ++i) {
    const Dimension& dimension = operand.free[static_cast<size_t>(i)];
    repetitions.push_back({dimension.stride, dimension.size});
  }
  if (is_injective(itemsize(operand.dtype), repetitions)) return {};
  std::vector<ByteRange> runs;
  for (int64_t p = 0; p < operand.partitions; ++p) {
    each_free_run(operand, operand.offset + p * operand.partition_stride,
                  [&](int64_t first, int64_t length) {
                    runs.push_back({first, first + length});
                  });
  }
  std::sort(runs.begin(), runs.end(),
            [](const ByteRange& a, const ByteRange& b) { return a.begin < b.begin; });
  for (size_t i = 1; i < runs.size(); ++i) {
    if (runs[i].begin < runs[i - 1].end) {
      return ByteRange{runs[i].begin, std::min(runs[i].end, runs[i - 1].end)};
    }
  }
  return {};
}

std::optional<ByteRange> partial_overlap(const Program& program, const Operand& dst,
                                         const Location& at_dst, const Operand& src,
                                         const Location& at_src) {
  const Tile& a = program.tiles[static_cast<size_t>(at_dst.tile)];
  const Tile& b = program.tiles[static_cast<size_t>(at_src.tile)];
  if (at_dst.tile != at_src.tile && (!a.placed || !b.placed || a.core != b.core)) return {};
  if (!overlap(region_at(dst, at_dst), region_at(src, at_src))) return {};
  const bool same_place = at_dst.offset == at_src.offset && at_dst.partition == at_src.partition;
  if (same_place && same_pattern(dst, src)) return {};
  auto shared = shared_bytes(dst, at_dst, src, at_src);
  if (shared && dst.memory != MemoryKind::kHbm) {
    shared->begin -= a.address;
    shared->end -= a.address;
  }
  return shared;
}

}  // namespace neuron_sim
