// An instance as its instruction sees it, for passes that change instances.

#include <algorithm>
#include <utility>

#include "device/base/errors.h"
#include "device/compiler/line/straight_line.h"

namespace neuron_sim {

bool may_keep_bytes(const Instruction& instruction, std::span<const Attribute> attributes) {
  const int index = instruction.type->oob_skip_attribute;
  return index >= 0 && attributes[static_cast<size_t>(index)].flag();
}

View view_of(const StraightLine& line, const Operand& operand) {
  if (!operand.present()) return {};
  const Tile& tile = line.tile_of(operand);
  std::vector<int64_t> shape{operand.partitions}, strides{operand.partition_stride};
  for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
    shape.push_back(operand.free[i].size);
    strides.push_back(operand.free[i].stride);
  }
  const View whole(operand.memory, operand.tile, operand.dtype, std::move(shape),
                   std::move(strides), tile.label);
  if (operand.memory == MemoryKind::kHbm) return whole.moved_by(0, operand.offset);
  return whole.moved_by(operand.start_partition - tile.start_partition,
                        operand.offset - tile.address);
}

Draft draft_of(const StraightLine& line, const StraightInstruction& instance) {
  Draft draft;
  draft.type = instance.instruction.type;
  draft.engine = instance.instruction.engine;
  draft.core = instance.instruction.core;
  for (const Operand& operand : line.whole_operands_of(instance)) {
    draft.operands.push_back(view_of(line, operand));
  }
  draft.operands.resize(draft.type->operands.size());
  const auto attributes = line.attributes_of(instance);
  draft.attributes.assign(attributes.begin(), attributes.end());
  return draft;
}

StraightLine pools_of(const Program& program) {
  StraightLine pools;
  pools.architecture = program.architecture;
  pools.operands.reserve(program.operands.size());
  for (const Operand& operand : program.operands) pools.operands.push_back(pools.straight(operand));
  pools.attributes = program.attributes;
  pools.tiles = program.tiles;
  pools.demands = program.demands;
  return pools;
}

bool is_legal(const StraightLine& line, const StraightInstruction& instance) {
  try {
    instance.instruction.type->check(draft_of(line, instance), *line.architecture);
  } catch (const KernelError&) {
    return false;
  }
  return true;
}

void renew_demand(StraightLine& line, StraightInstruction& instance) {
  const Draft draft = draft_of(line, instance);
  line.demands.push_back(draft.type->demand(draft, *line.architecture));
  instance.instruction.demand = static_cast<uint32_t>(line.demands.size() - 1);
}

bool renew_demand_if_legal(StraightLine& line, StraightInstruction& instance) {
  const Draft draft = draft_of(line, instance);
  try {
    draft.type->check(draft, *line.architecture);
  } catch (const KernelError&) {
    return false;
  }
  line.demands.push_back(draft.type->demand(draft, *line.architecture));
  instance.instruction.demand = static_cast<uint32_t>(line.demands.size() - 1);
  return true;
}

void renew_region(const StraightLine& line, Operand& operand) {
  std::vector<Repetition> repetitions;
  repetitions.reserve(kMaximumRank);
  for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
    repetitions.push_back({operand.free[i].stride, operand.free[i].size});
  }
  const bool on_chip = line.tile_of(operand).memory != MemoryKind::kHbm;
  if (!on_chip) repetitions.push_back({operand.partition_stride, operand.partitions});
  operand.region = region_of(operand.offset, itemsize(operand.dtype), std::move(repetitions));
  if (!on_chip) return;
  operand.region.partition = operand.start_partition;
  operand.region.partitions = operand.partition_stride == 0 ? 1 : operand.partitions;
}

void move_to_tile(const StraightLine& line, StraightOperand& operand, TileId tile) {
  const Tile& from = line.tile_of(operand);
  const Tile& to = line.tiles[static_cast<size_t>(tile)];
  operand.tile = tile;
  operand.offset += to.address - from.address;
  operand.start_partition += to.start_partition - from.start_partition;
}

void move_tiles(StraightLine& line, const std::vector<int64_t>& addresses) {
  require(addresses.size() == line.tiles.size(), "one address per tile");
  const bool stay = std::equal(
      addresses.begin(), addresses.end(), line.tiles.begin(),
      [](int64_t address, const Tile& tile) { return address < 0 || address == tile.address; });
  if (stay) return;
  for (StraightOperand& operand : line.operands) {
    if (!operand.present()) continue;
    const auto tile = static_cast<size_t>(operand.tile);
    if (addresses[tile] >= 0) operand.offset += addresses[tile] - line.tiles[tile].address;
  }
  for (size_t tile = 0; tile < addresses.size(); ++tile) {
    if (addresses[tile] >= 0) line.tiles[tile].address = addresses[tile];
  }
}

void compact_operands(StraightLine& line) {
  size_t used = 0;
  for (const StraightInstruction& each : line.instructions) used += each.instruction.operand_count;
  if (2 * used >= line.operands.size()) return;
  std::vector<StraightOperand> operands;
  operands.reserve(used);
  for (StraightInstruction& instance : line.instructions) {
    const auto own = line.operands_of(instance);
    instance.instruction.first_operand = static_cast<uint32_t>(operands.size());
    operands.insert(operands.end(), own.begin(), own.end());
  }
  line.operands = std::move(operands);
}

void set_operands(StraightLine& line, StraightInstruction& instance,
                  std::span<const Operand> operands) {
  instance.instruction.first_operand = static_cast<uint32_t>(line.operands.size());
  instance.instruction.operand_count = static_cast<uint8_t>(operands.size());
  for (const Operand& operand : operands) line.operands.push_back(line.straight(operand));
}

TileId add_version(StraightLine& line, TileId tile) {
  const auto source = static_cast<size_t>(tile);
  line.tiles.push_back(Tile(line.tiles[source]));
  line.version_of.push_back(line.version_of[source]);
  return static_cast<TileId>(line.tiles.size() - 1);
}

Attribute& own_attribute(StraightLine& line, StraightInstruction& instance, size_t index) {
  const auto shared = line.attributes_of(instance);
  require(index < shared.size(), "an instruction has the attribute that a pass changes");
  const std::vector<Attribute> own(shared.begin(), shared.end());
  instance.instruction.first_attribute = static_cast<uint32_t>(line.attributes.size());
  line.attributes.insert(line.attributes.end(), own.begin(), own.end());
  return line.attributes[instance.instruction.first_attribute + index];
}

int attribute_index(const InstructionType& type, std::string_view name) {
  for (size_t i = 0; i < type.attributes.size(); ++i) {
    if (name == type.attributes[i].name) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace neuron_sim
