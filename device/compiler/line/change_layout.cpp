#include "device/compiler/line/change_layout.h"

#include <algorithm>

#include "device/analysis/access_runs.h"
#include "device/compiler/line/straight_line.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

int64_t bytes_per_partition(const Operand& operand) {
  int64_t bytes = itemsize(operand.dtype);
  for (int8_t i = 0; i < operand.rank; ++i) bytes *= operand.free[static_cast<size_t>(i)].size;
  return bytes;
}

/// Whether the operand reads a tensor in HBM at known places, in runs that are shorter
/// than what a partition gets. One that repeats elements has no denser order.
bool is_scattered(const Operand& operand) {
  if (operand.memory != MemoryKind::kHbm || operand.indirect || operand.register_index >= 0) {
    return false;
  }
  const auto end = operand.free.begin() + operand.rank;
  const bool repeats = operand.partition_stride <= 0 ||
                       std::any_of(operand.free.begin(), end,
                                   [](const Dimension& each) { return each.stride <= 0; });
  return !repeats && innermost_run(operand).bytes < bytes_per_partition(operand);
}

void make_dense(const StraightLine& pools, Operand& operand) {
  int64_t stride = itemsize(operand.dtype);
  for (auto i = static_cast<size_t>(operand.rank); i-- > 0;) {
    operand.free[i].stride = stride;
    stride *= operand.free[i].size;
  }
  operand.partition_stride = stride;
  renew_region(pools, operand);
}

}  // namespace

std::shared_ptr<const Program> with_dense_loads(const Program& program,
                                                std::string_view source_line) {
  StraightLine pools = pools_of(program);
  auto changed = std::make_shared<Program>(program);
  bool denser = false;
  for (Instruction& instruction : changed->instructions) {
    if (instruction.type != &kDmaCopy || instruction.source_line < 0) continue;
    const auto line = static_cast<size_t>(instruction.source_line);
    StraightInstruction candidate{instruction};
    const auto operands = pools.operands_of(candidate);
    Operand source = program.operands_of(instruction)[DmaCopy::kSrc];
    if (program.source_lines[line] != source_line || !is_scattered(source)) continue;
    if (operands[DmaCopy::kDst].memory != MemoryKind::kSbuf) continue;
    make_dense(pools, source);
    operands[DmaCopy::kSrc] = pools.straight(source);
    if (!renew_demand_if_legal(pools, candidate)) continue;
    instruction = candidate.instruction;
    changed->operands[instruction.first_operand + DmaCopy::kSrc] = source;
    denser = true;
  }
  if (!denser) return nullptr;
  changed->demands = std::move(pools.demands);
  return changed;
}

}  // namespace neuron_sim
