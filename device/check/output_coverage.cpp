#include "device/check/output_coverage.h"

#include "device/analysis/access_runs.h"

namespace neuron_sim {
namespace {

void add_bytes(const Program& program, const Block& block, int64_t times,
               std::vector<int64_t>& bytes) {
  for (const Node& node : block) {
    if (node.kind == Node::Kind::kLoop) {
      const Loop& loop = program.loops[node.index];
      add_bytes(program, loop.body, times * loop.trip_count, bytes);
      continue;
    }
    for (const Operand& operand : program.operands_of(program.instructions[node.index])) {
      if (!operand.present() || operand.memory != MemoryKind::kHbm || !operand.writes()) continue;
      bytes[static_cast<size_t>(operand.tile)] +=
          times * elements_of(operand) * itemsize(operand.dtype);
    }
  }
}

}  // namespace

std::vector<bool> complete_outputs(const Program& program) {
  std::vector<bool> complete(program.tiles.size());
  if (program.uses_registers) return complete;
  std::vector<int64_t> bytes(program.tiles.size());
  for (const Block& block : program.cores) add_bytes(program, block, 1, bytes);
  for (size_t i = 0; i < complete.size(); ++i) {
    const Tile& tile = program.tiles[i];
    complete[i] =
        tile.memory == MemoryKind::kHbm && tile.hazard_group < 0 && bytes[i] == tile.bytes;
  }
  return complete;
}

}  // namespace neuron_sim
