#include "ops/graph/embedded_program.h"

#include <algorithm>
#include <array>
#include <utility>

#include "device/analysis/definedness.h"
#include "device/base/errors.h"
#include "device/check/output_coverage.h"
#include "device/observe/program_counters.h"
#include "device/operand/engine_state.h"

namespace neuron_sim {
namespace {

/// Whether it reads the state of an engine as the program before it left it.
bool reads_earlier_state(const Program& program) {
  std::array<int32_t, kEngineStateCount> written{};  // partitions, from the first one on
  for (const Instruction& instruction : program.instructions) {
    const auto operands = program.operands_of(instruction);
    for (const bool writes : {false, true}) {
      for (const Operand& operand : operands) {
        const bool is_state = operand.memory == MemoryKind::kAccumulator ||
                              operand.memory == MemoryKind::kRandomState;
        if (!is_state || (writes ? !operand.writes() : !operand.reads())) continue;
        int32_t& partitions = written[static_cast<size_t>(operand.tile)];
        const int32_t end = operand.start_partition + operand.partitions;
        if (!writes && end > partitions) return true;
        if (writes && operand.start_partition <= partitions) partitions = std::max(partitions, end);
      }
    }
  }
  return false;
}

/// Per argument: whether results depend on its contents.
std::vector<bool> needs_contents(const Program& program) {
  std::vector<bool> needs = written_whole(program);
  for (size_t i = 0; i < needs.size(); ++i) {
    const Argument& argument = program.arguments[i];
    needs[i] = argument.read || (argument.written && !needs[i]);
  }
  return needs;
}

}  // namespace

std::string embedding_objection(const Program& program) {
  if (program.has_collectives) return "meets other ranks";
  if (program.cores.size() > 1) return text("runs on ", program.cores.size(), " cores");
  if (!program.overflow.empty()) return "does not fit SBUF and PSUM without spills";
  if (has_dynamic_loops(program)) return "loops as often as its data says";
  if (reads_earlier_state(program)) return "reads the state of an engine before it sets it";
  const std::vector<TileId> undefined = possibly_undefined_tiles(program);
  if (undefined.empty()) return "";
  const Tile& tile = program.tiles[static_cast<size_t>(undefined.front())];
  return text("may read bytes of tile '", tile.label, "' that it did not write");
}

bool addresses_arguments_by_register(const Program& program) {
  return std::any_of(program.operands.begin(), program.operands.end(), [&](const Operand& operand) {
    return operand.memory == MemoryKind::kHbm && operand.register_index >= 0 &&
           program.tiles[static_cast<size_t>(operand.tile)].argument >= 0;
  });
}

std::vector<bool> written_whole(const Program& program) {
  const std::vector<bool> complete = complete_outputs(program);
  std::vector<bool> whole(program.arguments.size());
  for (size_t i = 0; i < program.tiles.size(); ++i) {
    const int32_t argument = program.tiles[i].argument;
    if (argument >= 0) whole[static_cast<size_t>(argument)] = complete[i];
  }
  return whole;
}

GraphKernel embedded_kernel(std::shared_ptr<const Program> program,
                            const std::vector<GraphTensor>& tensors) {
  GraphKernel kernel{program->kernel, {}, {}, {}};
  const std::vector<bool> needs = needs_contents(*program);
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (needs[i]) kernel.operands.push_back(tensors[i]);
    if (program->arguments[i].written) kernel.results.push_back(tensors[i]);
  }
  kernel.program = std::move(program);
  return kernel;
}

std::vector<std::optional<GraphTensor>> argument_tensors(const GraphKernel& kernel) {
  std::vector<std::optional<GraphTensor>> tensors;
  auto operand = kernel.operands.begin();
  auto result = kernel.results.begin();
  const std::vector<bool> needs = needs_contents(*kernel.program);
  for (size_t i = 0; i < needs.size(); ++i) {
    std::optional<GraphTensor>& tensor = tensors.emplace_back();
    if (needs[i]) tensor = *operand++;
    if (kernel.program->arguments[i].written) tensor = *result++;
  }
  return tensors;
}

}  // namespace neuron_sim
