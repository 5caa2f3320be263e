#include "device/compiler/middle_end/merge_dma.h"

#include <algorithm>

#include "device/compiler/middle_end/batch_statements.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {

namespace {

/// Bytes that lie side by side in HBM in every row of a transfer.
int64_t contiguous_bytes(const Operand& operand) {
  int64_t bytes = itemsize(operand.dtype);
  for (size_t i = static_cast<size_t>(operand.rank); i-- > 0;) {
    if (operand.free[i].size == 1) continue;
    if (operand.free[i].stride != bytes) break;
    bytes *= operand.free[i].size;
  }
  return bytes;
}

}  // namespace

void merge_dma(StraightLine& line, const PassSettings& settings) {
  const int64_t row = settings.dma_bytes_per_partition;
  const int64_t row_bound = row == 0 ? kMergedBytesPerPartition : row;
  const int64_t bound = settings.dma_bytes == 0 ? kMergedBytes : settings.dma_bytes;
  BatchRule rule;
  rule.partly = true;
  rule.most = [&](const StraightLine& now, const StraightInstruction& instance) -> int64_t {
    if (instance.instruction.type != &kDmaCopy) return 0;
    const auto operands = now.operands_of(instance);
    const Operand& dst = operands[0];
    const Operand& src = operands[1];
    const bool load = src.memory == MemoryKind::kHbm;
    if (load == (dst.memory == MemoryKind::kHbm)) return 0;
    if (load && now.tile_of(src).argument >= 0 && !settings.merge_input_loads) return 0;
    if (contiguous_bytes(load ? src : dst) < kMergedRow) return 0;
    const View view = view_of(now, load ? dst : src);
    const int64_t bytes = view.free_elements() * std::max(itemsize(dst.dtype), itemsize(src.dtype));
    if (bytes == 0 || view.partitions() == 0) return 0;
    return std::min(row_bound / bytes, bound / (bytes * view.partitions()));
  };
  batch_statements(line, rule);
}

}  // namespace neuron_sim
