#include "device/compiler/middle_end/reuse_transposes.h"

#include <algorithm>
#include <map>

#include "device/base/interruption.h"
#include "device/compiler/middle_end/forward_stores.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/compiler/tiles/sbuf_lives.h"
#include "device/compiler/tiles/tile_uses.h"
#include "device/isa/movement/tensor_copy.h"
#include "device/isa/tensor/nc_transpose.h"

namespace neuron_sim {
namespace {

/// A tile in SBUF that holds transposes of other tiles and is only read afterwards.
struct TransposedTile {
  TileId tile = kNoTile;
  uint32_t first = 0;                 ///< instance that reads what it is made of
  ContentsKey key = {};               ///< equal for tiles of the same contents and layout
  std::vector<uint32_t> makers = {};  ///< transposes and copies
  std::vector<TileId> sources = {};
};

class Transposes {
 public:
  explicit Transposes(StraightLine& line)
      : line_(line),
        uses_(line),
        lives_(line, uses_),
        room_((line.architecture->limits.sbuf_usable.count - kDescriptorBytes) / kForwardingParts),
        removed_(line.instructions.size()) {}

  void run() {
    std::map<ContentsKey, TransposedTile> known;
    for (uint32_t i = 0; i < line_.instructions.size(); ++i) {
      poll_interruption();
      if (line_.instructions[i].instruction.type != &kTensorCopy) continue;
      const TileId tile = line_.operands_of(line_.instructions[i])[0].tile;
      if (uses_.of(tile).front().instance != i) continue;
      std::optional<TransposedTile> found = transposed(tile);
      if (!found) continue;
      const auto [same, is_new] = known.try_emplace(found->key, *found);
      if (is_new || replace(*found, same->second)) continue;
      same->second = std::move(*found);
    }
    remove_instances(line_, removed_);
  }

 private:
  /// The tile as one of transposes, if all that writes it copies them from PSUM before it is read.
  std::optional<TransposedTile> transposed(TileId tile) const {
    const Tile& filled = line_.tiles[static_cast<size_t>(tile)];
    if (filled.memory != MemoryKind::kSbuf || filled.placed) return std::nullopt;
    TransposedTile found{.tile = tile, .first = uses_.of(tile).front().instance};
    bool is_read = false;
    for (const TileUse& use : uses_.of(tile)) {
      const StraightOperand& operand = operand_at(line_, use);
      if (operand.direction == Direction::kRead) {
        is_read = true;
      } else if (is_read || use.operand != 0 || !add_copy(use.instance, found)) {
        return std::nullopt;
      }
    }
    std::sort(found.makers.begin(), found.makers.end());
    return found;
  }

  /// Adds a copy out of PSUM, and the transposes that alone fill what it reads.
  bool add_copy(uint32_t copy, TransposedTile& found) const {
    const StraightInstruction& instance = line_.instructions[copy];
    if (instance.instruction.type != &kTensorCopy) return false;
    const auto operands = line_.operands_of(instance);
    const StraightOperand& bank = operands[1];
    if (bank.memory != MemoryKind::kPsum || operands[0].direction != Direction::kWrite) {
      return false;
    }
    add_to(found.key, copy);
    found.makers.push_back(copy);
    for (const TileUse& use : uses_.of(bank.tile)) {
      if (use.instance == copy) continue;
      const bool fills =
          use.instance < copy && use.operand == 0 && add_transpose(use.instance, found);
      if (!fills) return false;
    }
    return !line_.tile_of(bank).placed;
  }

  bool add_transpose(uint32_t transpose, TransposedTile& found) const {
    const StraightInstruction& instance = line_.instructions[transpose];
    if (instance.instruction.type != &kNcTranspose) return false;
    const StraightOperand& source = line_.operands_of(instance)[1];
    if (source.memory != MemoryKind::kSbuf) return false;
    add_to(found.key, transpose);
    found.key.push_back(static_cast<int64_t>(instance.instruction.engine));
    found.key.push_back(source.tile);
    found.makers.push_back(transpose);
    found.sources.push_back(source.tile);
    found.first = std::min(found.first, transpose);
    return true;
  }

  /// What the instance does, and where within their tiles its operands lie.
  void add_to(ContentsKey& key, uint32_t index) const {
    const StraightInstruction& instance = line_.instructions[index];
    for (const Attribute& attribute : line_.attributes_of(instance)) key.push_back(attribute.bits);
    for (const StraightOperand& operand : line_.operands_of(instance)) {
      if (operand.present()) append(key, line_, operand);
    }
  }

  /// Lets the readers of `again` read `before`; false when something wrote to what they were made
  /// of in between, or SBUF has no room.
  bool replace(const TransposedTile& again, const TransposedTile& before) {
    const auto changes = [&](TileId source) {
      const auto uses = uses_.of(source);
      return std::any_of(uses.begin(), uses.end(), [&](const TileUse& use) {
        return operand_at(line_, use).writes() && use.instance > before.first &&
               use.instance < again.makers.back();
      });
    };
    if (std::any_of(again.sources.begin(), again.sources.end(), changes)) return false;
    uint32_t& kept = lives_.last_use[static_cast<size_t>(before.tile)];
    const uint32_t last = lives_.last_use[static_cast<size_t>(again.tile)];
    const uint32_t filled = uses_.of(again.tile).front().instance;
    const int64_t bytes = line_.tiles[static_cast<size_t>(before.tile)].bytes;
    lives_.bytes.add(filled, last, -bytes);
    if (last > kept) lives_.bytes.add(kept + 1, last, bytes);
    if (lives_.bytes.largest(std::min(kept + 1, last), last) > room_) {
      lives_.bytes.add(filled, last, bytes);
      if (last > kept) lives_.bytes.add(kept + 1, last, -bytes);
      return false;
    }
    kept = std::max(kept, last);
    for (const TileUse& use : uses_.of(again.tile)) {
      move_to_tile(line_, operand_at(line_, use), before.tile);
    }
    for (const uint32_t maker : again.makers) removed_[maker] = true;
    return true;
  }

  StraightLine& line_;
  const TileUses uses_;
  SbufLives lives_;
  const int64_t room_;
  std::vector<bool> removed_;
};

}  // namespace

void reuse_transposes(StraightLine& line) { Transposes(line).run(); }

}  // namespace neuron_sim
