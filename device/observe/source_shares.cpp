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
  std::unordered_map<uint32_t, Traffic> traffic;  // of an instance, by instruction
  for (const RecordedInstance& instance : recording.instances) {
    const Instruction& instruction = program.instructions[instance.instruction];
    const auto [counted, is_first] = traffic.try_emplace(instance.instruction);
    Traffic& hbm = counted->second;
    if (is_first) hbm = instruction_counters(program, instruction).hbm;
    SourceShare& share = share_of(instruction);
    ++share.instances;
    share.hbm_bytes += hbm.read + hbm.written;
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
