#include "device/compiler/back_end/spill_copies.h"

#include <algorithm>
#include <array>

#include "device/base/errors.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

/// A box of a tile as an operand.
Operand operand_of(const StraightLine& line, TileId id, const TileBox& box, Direction direction) {
  const Tile& tile = line.tiles[static_cast<size_t>(id)];
  const int64_t size = itemsize(tile.dtype);
  Operand operand;
  operand.tile = id;
  operand.memory = tile.memory;
  operand.dtype = tile.dtype;
  operand.direction = direction;
  operand.rank = 1;
  operand.free[0] = {(box.high - box.low) / size, size};
  operand.partitions = box.partitions;
  if (tile.memory == MemoryKind::kHbm) {
    operand.partition_stride = tile.bytes / tile.partitions;
    operand.offset = box.partition * operand.partition_stride + box.low;
  } else {
    operand.partition_stride = 1;
    operand.start_partition = tile.start_partition + box.partition;
    operand.offset = tile.address + box.low;
  }
  renew_region(line, operand);
  return operand;
}

}  // namespace

TileBox bounding(const TileBox& a, const TileBox& b) {
  if (a.is_empty()) return b;
  if (b.is_empty()) return a;
  TileBox result;
  result.partition = std::min(a.partition, b.partition);
  result.partitions =
      std::max(a.partition + a.partitions, b.partition + b.partitions) - result.partition;
  result.low = std::min(a.low, b.low);
  result.high = std::max(a.high, b.high);
  return result;
}

TileBox box_of(const StraightLine& line, const Operand& operand) {
  const Tile& tile = line.tile_of(operand);
  const Region& region = operand.region;
  const int64_t size = itemsize(tile.dtype);
  TileBox box{region.partition - tile.start_partition, region.partitions,
              (region.low - tile.address) / size * size,
              (region.high() - tile.address + size - 1) / size * size};
  if (tile.memory == MemoryKind::kPsum) {
    box.partition = 0;
    box.partitions = tile.partitions;
  }
  return box;
}

TileId add_slot(StraightLine& line, TileId tile) {
  const TileId id = add_version(line, tile);
  Tile& slot = line.tiles.back();
  slot.label = text("spilled ", slot.label);
  if (slot.memory == MemoryKind::kPsum) {
    slot.memory = MemoryKind::kSbuf;
    return id;
  }
  slot.memory = MemoryKind::kHbm;
  slot.bytes *= slot.partitions;
  slot.start_partition = 0;
  slot.address = 0;
  slot.scratch =
      static_cast<int32_t>(std::count_if(line.tiles.begin(), line.tiles.end() - 1,
                                         [](const Tile& each) { return each.scratch >= 0; }));
  return id;
}

StraightInstruction copy_of_tile(StraightLine& line, TileId target, TileId source,
                                 const TileBox& box, const StraightInstruction& neighbour) {
  const bool by_dma = line.tiles[static_cast<size_t>(target)].memory == MemoryKind::kHbm ||
                      line.tiles[static_cast<size_t>(source)].memory == MemoryKind::kHbm;
  const Draft form = by_dma ? DmaCopy{}.draft() : TensorCopy{}.draft();
  StraightInstruction copy = neighbour;
  Instruction& instruction = copy.instruction;
  instruction.type = form.type;
  instruction.engine_given = false;
  const std::array operands{operand_of(line, target, box, Direction::kWrite),
                            operand_of(line, source, box, Direction::kRead)};
  set_operands(line, copy, operands);
  instruction.attribute_count = static_cast<uint8_t>(form.attributes.size());
  instruction.first_attribute = static_cast<uint32_t>(line.attributes.size());
  line.attributes.insert(line.attributes.end(), form.attributes.begin(), form.attributes.end());
  instruction.engine = form.type->choose_engine(draft_of(line, copy), *line.architecture);
  require(is_legal(line, copy), "a tile can be copied to a place of its layout");
  renew_demand(line, copy);
  return copy;
}

}  // namespace neuron_sim
