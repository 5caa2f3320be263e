#include "device/execute/strips.h"

#include <algorithm>

#include "device/isa/movement/tensor_copy_predicated.h"

namespace neuron_sim {
namespace {

/// Elements of an operand in a strip: a dozen operands of fp32 fit the second cache.
constexpr int64_t kStripElements = 4096;

bool is_row_wise(const Program& program, const Instruction& instruction) {
  const Unit unit = program.demands[instruction.demand].steps[0].unit;
  return instruction.type == &kTensorCopyPredicated ||
         (instruction.type->is_elementwise && unit == Unit::kElementwise);
}

/// The partitions that all operands of an instance have.
struct Rows {
  int32_t first = -1;  ///< on chip; -1: no operand is on chip
  int32_t count = 0;   ///< 0: the instance has to run as a whole
};

Rows rows_of(const Program& program, const InstanceGraph& graph, const PlannedInstance& instance) {
  const Instruction& instruction = program.instructions[instance.instruction];
  if (!is_row_wise(program, instruction)) return {};
  const ReplacedOperands replaced = graph.replaced_of(instance);
  const auto own = program.operands_of(instruction);
  Rows rows;
  int64_t elements = 1;
  for (size_t i = 0; i < own.size(); ++i) {
    const Operand& operand = replaced.at(i, own[i]);
    if (!operand.present()) continue;
    if (rows.count == 0) rows.count = operand.partitions;
    if (operand.indirect || operand.register_index >= 0 || operand.partitions != rows.count) {
      return {};
    }
    int64_t free = 1;
    for (int d = 0; d < operand.rank; ++d) free *= operand.free[static_cast<size_t>(d)].size;
    elements = std::max(elements, free);
    if (operand.memory == MemoryKind::kHbm) continue;
    const int32_t first = graph.locations[instance.first_location + i].partition;
    if (operand.partition_stride != 1 || (rows.first >= 0 && rows.first != first)) return {};
    rows.first = first;
  }
  return rows.count > strip_partitions(elements) ? rows : Rows{};
}

}  // namespace

int64_t strip_partitions(int64_t elements) {
  return std::max<int64_t>(1, kStripElements / std::max<int64_t>(elements, 1));
}

std::vector<uint32_t> find_nodes(const Program& program, const InstanceGraph& graph) {
  std::vector<uint32_t> nodes;
  Rows last;
  for (uint32_t i = 0; i < graph.instances.size(); ++i) {
    const Rows rows = rows_of(program, graph, graph.instances[i]);
    // In the next iteration the instructions start over.
    const bool joins = rows.count > 0 && rows.count == last.count && rows.first == last.first &&
                       graph.instances[i].instruction > graph.instances[i - 1].instruction;
    if (!joins) nodes.push_back(i);
    last = rows;
  }
  nodes.push_back(static_cast<uint32_t>(graph.instances.size()));
  return nodes;
}

}  // namespace neuron_sim
