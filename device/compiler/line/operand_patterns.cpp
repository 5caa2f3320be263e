#include "device/compiler/line/operand_patterns.h"

#include <algorithm>
#include <tuple>

#include "device/base/hash.h"

namespace neuron_sim {
namespace {

/// What a pattern consists of beside its free dimensions.
auto properties(const Operand& pattern) {
  const Region& region = pattern.region;
  return std::tuple(pattern.dtype, pattern.rank, pattern.indirect, pattern.register_index,
                    pattern.partitions, pattern.partition_stride, pattern.register_scale,
                    pattern.index_rows, region.partition, region.partitions, region.low, region.run,
                    region.stride, region.count, region.exact);
}

bool are_equal(const Operand& a, const Operand& b) {
  const auto same = [](const Dimension& x, const Dimension& y) {
    return x.size == y.size && x.stride == y.stride;
  };
  return properties(a) == properties(b) &&
         std::equal(a.free.begin(), a.free.begin() + a.rank, b.free.begin(), same);
}

uint64_t hash_of(const Operand& pattern) {
  uint64_t hash = 0;
  const auto add = [&](auto value) { mix(hash, static_cast<uint64_t>(value)); };
  std::apply([&](auto... property) { (add(property), ...); }, properties(pattern));
  for (size_t i = 0; i < static_cast<size_t>(pattern.rank); ++i) {
    add(pattern.free[i].size);
    add(pattern.free[i].stride);
  }
  return hash;
}

}  // namespace

StraightOperand OperandPatterns::straight(const Operand& operand) {
  if (!operand.present()) return {};
  Operand pattern = operand;
  pattern.tile = kNoTile;
  pattern.memory = MemoryKind::kNone;
  pattern.direction = Direction::kRead;
  pattern.ring = 1;
  pattern.ring_start = 0;
  pattern.ring_stride = 0;
  pattern.first_term = 0;
  pattern.term_count = 0;
  pattern.start_partition = 0;
  pattern.offset = 0;
  pattern.region.low -= operand.offset;
  pattern.region.partition -= operand.start_partition;
  return {operand.tile,   number(pattern),  operand.offset, operand.start_partition,
          operand.memory, operand.direction};
}

uint32_t OperandPatterns::number(Operand pattern) {
  const uint64_t hash = hash_of(pattern);
  const auto [first, last] = numbers_.equal_range(hash);
  for (auto entry = first; entry != last; ++entry) {
    if (are_equal(patterns_[entry->second], pattern)) return entry->second;
  }
  numbers_.emplace(hash, static_cast<uint32_t>(patterns_.size()));
  patterns_.push_back(pattern);
  return static_cast<uint32_t>(patterns_.size() - 1);
}

}  // namespace neuron_sim
