#include "device/compiler/tiles/transfer_rows.h"

#include <algorithm>

#include "device/compiler/line/meetings.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// The runs of a row: elements without gaps, in row-major order.
struct Runs {
  int64_t elements = 1;          ///< of each
  std::vector<int64_t> offsets;  ///< bytes
};

/// Whether places in the dimensions may meet in one that is `reach` bytes long.
bool may_meet(std::vector<Dimension> dimensions, int64_t reach) {
  std::ranges::sort(dimensions, {}, &Dimension::stride);
  for (const Dimension& dimension : dimensions) {
    if (dimension.stride < reach) return true;
    reach += (dimension.size - 1) * dimension.stride;
  }
  return false;
}

/// Empty when the innermost elements are no neighbours, and for overlapping or too many runs.
std::optional<Runs> runs_of(const Operand& hbm) {
  std::vector<Dimension> outer = MergedPattern(hbm).dimensions;
  Runs runs{1, {0}};
  const int64_t size = itemsize(hbm.dtype);
  if (!outer.empty()) {
    if (outer.back().stride != size) return std::nullopt;
    runs.elements = outer.back().size;
    outer.pop_back();
  }
  if (may_meet(outer, runs.elements * size)) return std::nullopt;
  for (size_t i = outer.size(); i-- > 0;) {
    if (std::ssize(runs.offsets) * outer[i].size > kTransferRuns) return std::nullopt;
    std::vector<int64_t> offsets;
    for (int64_t index = 0; index < outer[i].size; ++index) {
      for (const int64_t inner : runs.offsets) offsets.push_back(index * outer[i].stride + inner);
    }
    runs.offsets = std::move(offsets);
  }
  return runs;
}

/// The operands of copy `i`, if it moves rows between a tile and a tensor.
bool moves_rows(const StraightLine& line, const StraightInstruction& instance, const Operand& chip,
                const Operand& hbm) {
  const auto operands = line.operands_of(instance);
  return chip.memory == MemoryKind::kSbuf && hbm.memory == MemoryKind::kHbm &&
         !has_operand(operands, 2) && !operands[0].reads() && chip.dtype == hbm.dtype &&
         !conflicts_with_peer(line, operands[chip.writes() ? 1 : 0]) &&
         !line.tile_of(chip).placed && !hbm.indirect && hbm.register_index < 0 &&
         chip.partitions == hbm.partitions && chip.partition_stride == 1 &&
         MergedPattern(hbm).elements() == MergedPattern(chip).elements();
}

/// The operand with one more dimension, `count` times at distance `step` from each other.
Operand repeated(const StraightLine& line, Operand operand, int64_t count, int64_t step) {
  std::vector<Dimension> dimensions = MergedPattern(operand).dimensions;
  dimensions.insert(dimensions.begin(), {count, step});
  operand.rank = 0;
  for (const Dimension& each : dimensions) operand.free[static_cast<size_t>(operand.rank++)] = each;
  dimensions = MergedPattern(operand).dimensions;
  std::copy(dimensions.begin(), dimensions.end(), operand.free.begin());
  operand.rank = static_cast<int8_t>(dimensions.size());
  renew_region(line, operand);
  return operand;
}

bool same_sizes(const Operand& a, const Operand& b) {
  const auto x = MergedPattern(a).dimensions, y = MergedPattern(b).dimensions;
  return a.tile == b.tile && a.start_partition == b.start_partition &&
         a.partitions == b.partitions &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& m, const auto& n) {
           return m.size == n.size && m.stride == n.stride;
         });
}

}  // namespace

int64_t MergedPattern::elements() const {
  int64_t product = 1;
  for (const Dimension& dimension : dimensions) product *= dimension.size;
  return product;
}

bool MergedPattern::is_run(int64_t itemsize) const {
  return dimensions.empty() || (dimensions.size() == 1 && dimensions[0].stride == itemsize);
}

int64_t MergedPattern::cut(int64_t first, int64_t count) {
  int64_t offset = 0, inner = elements();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (first == 0 && count == inner) return offset;
    inner /= dimensions[i].size;
    offset += first / inner * dimensions[i].stride;
    if (first % inner == 0 && count % inner == 0) {
      dimensions[i].size = count / inner;
      return offset;
    }
    if (first / inner != (first + count - 1) / inner) return -1;
    first %= inner;
    dimensions[i].size = 1;
  }
  return offset;
}

std::optional<Operand> cut(const StraightLine& line, const Operand& chip, int64_t first,
                           int64_t count, int32_t partitions) {
  MergedPattern pattern(chip);
  const int64_t bytes = pattern.cut(first, count);
  if (bytes < 0) return std::nullopt;
  Operand result = chip;
  result.partitions = partitions;
  result.offset += bytes;
  std::erase_if(pattern.dimensions, [](const Dimension& each) { return each.size == 1; });
  if (pattern.dimensions.empty()) pattern.dimensions.push_back({1, itemsize(chip.dtype)});
  result.rank = static_cast<int8_t>(pattern.dimensions.size());
  std::copy(pattern.dimensions.begin(), pattern.dimensions.end(), result.free.begin());
  renew_region(line, result);
  return result;
}

bool TransferRows::same_rows(const TransferRows& other) const {
  return hbm.dtype == other.hbm.dtype && chip.start_partition == other.chip.start_partition &&
         hbm.partitions >= other.hbm.partitions &&
         (hbm.partitions == 1 || other.hbm.partitions == 1 ||
          hbm.partition_stride == other.hbm.partition_stride);
}

std::vector<TransferRows> rows_of(const StraightLine& line, uint32_t i) {
  const StraightInstruction& instance = line.instructions[i];
  if (instance.instruction.type != &kDmaCopy) return {};
  const WholeOperands operands = line.whole_operands_of(instance);
  const bool loads = operands[1].memory == MemoryKind::kHbm;
  const Operand &chip = operands[loads ? 0 : 1], &hbm = operands[loads ? 1 : 0];
  if (!moves_rows(line, instance, chip, hbm)) return {};
  const std::optional<Runs> runs = runs_of(hbm);
  if (!runs) return {};
  const int64_t bytes = runs->elements * itemsize(hbm.dtype);
  if (hbm.partitions > 1 && hbm.partition_stride < bytes) return {};
  if (runs->offsets.size() == 1) return {{i, chip, hbm}};
  std::vector<TransferRows> rows;
  for (size_t run = 0; run < runs->offsets.size(); ++run) {
    const int64_t first = static_cast<int64_t>(run) * runs->elements;
    const auto part = cut(line, chip, first, runs->elements, chip.partitions);
    if (!part) return {};
    Operand row = hbm;
    row.offset += runs->offsets[run];
    row.rank = 1;
    row.free[0] = {runs->elements, itemsize(hbm.dtype)};
    renew_region(line, row);
    rows.push_back({i, *part, row});
  }
  return rows;
}

std::vector<StraightInstruction> merged_copies(StraightLine& line,
                                               std::vector<StraightInstruction> copies) {
  if (copies.size() < 2) return copies;
  const auto operand = [&](size_t copy, size_t which) {
    return line.whole(line.operands_of(copies[copy])[which]);
  };
  std::array<Operand, 2> merged;
  for (size_t which = 0; which < 2; ++which) {
    const Operand first = operand(0, which);
    const int64_t step = operand(1, which).offset - first.offset;
    for (size_t i = 1; i < copies.size(); ++i) {
      const Operand next = operand(i, which);
      const int64_t offset = first.offset + static_cast<int64_t>(i) * step;
      if (!same_sizes(first, next) || next.offset != offset || step <= 0) return copies;
    }
    if (MergedPattern(first).dimensions.size() >= first.free.size()) return copies;
    merged[which] = repeated(line, first, std::ssize(copies), step);
  }
  StraightInstruction copy = copies.front();
  set_operands(line, copy, merged);
  if (!is_legal(line, copy)) return copies;
  return {copy};
}

}  // namespace neuron_sim
