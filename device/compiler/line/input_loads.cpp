#include "device/compiler/line/input_loads.h"

#include <algorithm>
#include <array>

#include "device/compiler/line/meetings.h"
#include "device/compiler/settings/compiler_costs.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// Per tile: whether the line writes it; a meeting on it moves no bytes.
std::vector<bool> written_tiles(const StraightLine& line) {
  std::vector<bool> written(line.tiles.size());
  for (const StraightInstruction& instance : line.instructions) {
    if (is_meeting(instance)) continue;
    for (const StraightOperand& operand : line.operands_of(instance)) {
      if (operand.present() && operand.writes()) written[static_cast<size_t>(operand.tile)] = true;
    }
  }
  return written;
}

CompilerCost cost_of(const StraightLine& line, const StraightInstruction& instance) {
  return compiler_cost(compiler_costs(), line.demands[instance.instruction.demand],
                       instance.instruction.engine, line.architecture->vector.stride_factor);
}

}  // namespace

std::vector<uint32_t> input_loads(const StraightLine& line) {
  const std::vector<bool> written = written_tiles(line);
  std::vector<uint32_t> loads;
  for (uint32_t i = 0; i < line.instructions.size(); ++i) {
    if (line.instructions[i].instruction.type != &kDmaCopy) continue;
    const auto operands = line.operands_of(line.instructions[i]);
    const StraightOperand& dst = operands[DmaCopy::kDst];
    const StraightOperand& src = operands[DmaCopy::kSrc];
    if (src.memory != MemoryKind::kHbm || dst.memory != MemoryKind::kSbuf || dst.reads()) continue;
    if (has_operand(operands, DmaCopy::kIndex) || written[static_cast<size_t>(src.tile)]) continue;
    if (!conflicts_with_peer(line, src)) loads.push_back(i);
  }
  return loads;
}

IssuePositions::IssuePositions(const StraightLine& line) : line_(line) {
  std::array<Picoseconds, kEngineCount> engines{};
  Picoseconds pipe{}, longest{};
  elapsed_.reserve(line.instructions.size());
  for (const StraightInstruction& instance : line.instructions) {
    elapsed_.push_back(longest);
    const CompilerCost cost = cost_of(line, instance);
    Picoseconds& engine = engines[static_cast<size_t>(instance.instruction.engine)];
    // Triggers wait in queues of their own while the engine computes.
    if (!is_transfer(line, instance)) engine += cost.issue;
    pipe += cost.transfer;
    longest = std::max({longest, engine, pipe});
  }
}

uint32_t IssuePositions::of(uint32_t transfer) const {
  const CompilerCost cost = cost_of(line_, line_.instructions[transfer]);
  const Picoseconds due = elapsed_[transfer] - (cost.issue + cost.transfer + cost.latency);
  const auto after = std::upper_bound(elapsed_.begin(), elapsed_.begin() + transfer, due);
  return after == elapsed_.begin() ? 0 : static_cast<uint32_t>(after - elapsed_.begin() - 1);
}

}  // namespace neuron_sim
