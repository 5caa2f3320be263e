#include "device/observe/source_shares.h"

#include <unordered_map>

#include "device/observe/critical_path.h"
#include "device/observe/event_text.h"
#include "device/observe/program_counters.h"

namespace neuron_sim {

std::vector<SourceShare> shares_by_source(const Recording& recording) {
  const Program& program = *recording.program;
  std::vector<SourceShare> shares;
  std::unordered_map<int32_t, size_t> known;  // by Instruction::source_line
  const auto share_of = [&](const Instruction& instruction) -> SourceShare& {
    const auto [at, is_new] = known.try_emplace(instruction.source_line, shares.size());
    if (is_new) shares.push_back({source_of(program, instruction), {}});
    return shares[at->second];
  };
  for (const RecordedInstance& instance : recording.instances) {
    const Instruction& instruction = program.instructions[instance.instruction];
    SourceShare& share = share_of(instruction);
    ++share.instances;
    share.multiply_accumulates += product_multiply_accumulates(program.demands[instruction.demand]);
  }
  for (const RecordedEvent& event : recording.events) {
    // A collective moves its bytes between the ranks.
    if (event.step.kind != EventKind::kTransfer || event.step.unit == Unit::kCollective) continue;
    share_of(recording.instruction_of(event)).dma_bytes += event.step.bytes;
  }
  for (const PathSegment& segment : critical_path(recording)) {
    SourceShare& share = share_of(recording.instruction_of(recording.events[segment.event]));
    share.path[spent_on(recording, segment)] += segment.end - segment.start;
  }
  return shares;
}

}  // namespace neuron_sim
