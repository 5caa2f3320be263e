#include "device/compiler/middle_end/fold_casts.h"

#include "device/compiler/line/tile_uses.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/movement/tensor_copy.h"

namespace neuron_sim {
namespace {

constexpr size_t kDst = 0, kSrc = 1;

/// Strides of the same elements in a tile with another element size.
void narrow(const StraightLine& line, Operand& operand, const Tile& tile, Dtype dtype) {
  const int64_t before = itemsize(operand.dtype), after = itemsize(dtype);
  operand.offset = tile.address + (operand.offset - tile.address) / before * after;
  for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
    operand.free[i].stride = operand.free[i].stride / before * after;
  }
  operand.dtype = dtype;
  renew_region(line, operand);
}

/// Gives the tile the other dtype in both instances if their own checks accept it.
bool fold(StraightLine& line, const TileUse& filled, const TileUse& stored, Dtype dtype) {
  StraightInstruction& copy = line.instructions[filled.instance];
  StraightInstruction& store = line.instructions[stored.instance];
  const Operand target = line.operands_of(copy)[kDst], source = line.operands_of(store)[kSrc];
  const Tile tile = line.tile_of(target);
  narrow(line, line.operands_of(copy)[kDst], tile, dtype);
  narrow(line, line.operands_of(store)[kSrc], tile, dtype);
  Tile& narrowed = line.tile_of(target);
  narrowed.bytes = tile.bytes / itemsize(tile.dtype) * itemsize(dtype);
  narrowed.dtype = dtype;
  if (is_legal(line, copy) && is_legal(line, store)) {
    renew_demand(line, copy);
    renew_demand(line, store);
    return true;
  }
  line.operands_of(copy)[kDst] = target;
  line.operands_of(store)[kSrc] = source;
  narrowed = tile;
  return false;
}

}  // namespace

void fold_casts(StraightLine& line) {
  const TileUses uses(line);
  for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
    const Dtype dtype = line.tiles[tile].dtype;
    if (line.tiles[tile].memory != MemoryKind::kSbuf || line.tiles[tile].placed) continue;
    const std::span<const TileUse> all = uses.of(static_cast<TileId>(tile));
    if (all.size() != 2 || all[0].operand != kDst || all[1].operand != kSrc) continue;
    const StraightInstruction& copy = line.instructions[all[0].instance];
    const StraightInstruction& store = line.instructions[all[1].instance];
    if (copy.instruction.type != &kTensorCopy || store.instruction.type != &kDmaCopy) continue;
    const auto filled = line.operands_of(copy), stored = line.operands_of(store);
    const bool plain = filled[kSrc].memory == MemoryKind::kPsum && filled[kSrc].dtype == dtype &&
                       filled[kDst].dtype == dtype && stored[kSrc].dtype == dtype &&
                       stored[kDst].memory == MemoryKind::kHbm && !stored[kDst].reads() &&
                       !stored[2].present();
    if (!plain || stored[kDst].dtype == dtype ||
        !covers(filled[kDst].region, stored[kSrc].region)) {
      continue;
    }
    fold(line, all[0], all[1], stored[kDst].dtype);
  }
}

}  // namespace neuron_sim
