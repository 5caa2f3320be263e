#include "device/compiler/batching/batch_transposes.h"

#include <algorithm>

#include "device/analysis/access_runs.h"
#include "device/compiler/batching/batch_narrow_operations.h"
#include "device/compiler/batching/batch_statements.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {
namespace {

bool is_transpose(const StraightLine& line, const StraightInstruction& instance) {
  const Instruction& instruction = instance.instruction;
  if (instruction.engine != EngineKind::kTensor) return false;
  if (instruction.type == &kNcTranspose) return true;
  static const int flag = attribute_index(kNcMatmul, "is_transpose");
  return instruction.type == &kNcMatmul &&
         line.attributes_of(instance)[static_cast<size_t>(flag)].flag();
}

/// PSUM tiles that one transpose writes and one copy reads.
std::vector<bool> transposed_tiles(const StraightLine& line) {
  struct Uses {
    int transposes = 0, copies = 0, others = 0;
  };
  std::vector<Uses> uses(line.tiles.size());
  for (const StraightInstruction& instance : line.instructions) {
    const bool transpose = is_transpose(line, instance);
    const bool copy = instance.instruction.type == &kTensorCopy;
    for (const StraightOperand& operand : line.operands_of(instance)) {
      if (operand.memory != MemoryKind::kPsum) continue;
      Uses& tile = uses[static_cast<size_t>(operand.tile)];
      const bool writes = operand.direction == Direction::kWrite;
      const bool reads = operand.direction == Direction::kRead;
      ++(transpose && writes ? tile.transposes : copy && reads ? tile.copies : tile.others);
    }
  }
  std::vector<bool> result(uses.size());
  std::transform(uses.begin(), uses.end(), result.begin(), [](const Uses& tile) {
    return tile.transposes == 1 && tile.copies == 1 && tile.others == 0;
  });
  return result;
}

}  // namespace

void batch_transposes(StraightLine& line) {
  const std::vector<bool> transposed = transposed_tiles(line);
  BatchRule rule;
  rule.joins_psum = true;
  rule.partly = true;
  rule.most = [&](const StraightLine& now, const StraightInstruction& instance) -> int64_t {
    if (instance.instruction.type != &kTensorCopy) return 0;
    const StraightOperand& source = now.operands_of(instance)[1];
    const auto tile = static_cast<size_t>(source.tile);
    if (tile >= transposed.size() || !transposed[tile]) return 0;
    const int64_t bank = now.architecture->limits.psum_bank.count;
    return std::min(kBatchElements / free_elements(now.pattern_of(source)),
                    bank / now.tiles[tile].bytes);
  };
  batch_statements(line, rule);
}

}  // namespace neuron_sim
