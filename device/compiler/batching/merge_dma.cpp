#include "device/compiler/batching/merge_dma.h"

#include <algorithm>

#include "device/analysis/access_runs.h"
#include "device/compiler/batching/batch_statements.h"
#include "device/compiler/line/meetings.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {

void merge_dma(StraightLine& line, const PassSettings& settings) {
  const bool inputs = settings["merge_input_loads"] != 0;
  BatchRule rule;
  rule.partly = true;
  rule.most = [&](const StraightLine& now, const StraightInstruction& instance) -> int64_t {
    if (instance.instruction.type != &kDmaCopy) return 0;
    const auto operands = now.operands_of(instance);
    const StraightOperand& dst = operands[0];
    const StraightOperand& src = operands[1];
    const bool load = src.memory == MemoryKind::kHbm;
    if (load == (dst.memory == MemoryKind::kHbm)) return 0;
    if (conflicts_with_peer(now, instance)) return 0;
    if (load && now.tile_of(src).argument >= 0 && !inputs) return 0;
    const Operand &to = now.pattern_of(dst), &from = now.pattern_of(src);
    if (innermost_run(load ? from : to).bytes < kMergedRow) return 0;
    const Operand& chip = load ? to : from;
    const int64_t bytes = free_elements(chip) * std::max(itemsize(to.dtype), itemsize(from.dtype));
    if (bytes == 0 || chip.partitions == 0) return 0;
    return std::min(kMergedBytesPerPartition / bytes, kMergedBytes / (bytes * chip.partitions));
  };
  batch_statements(line, rule);
}

}  // namespace neuron_sim
