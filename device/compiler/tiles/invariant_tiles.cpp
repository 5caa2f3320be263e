#include "device/compiler/tiles/invariant_tiles.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "device/base/interruption.h"
#include "device/compiler/line/meetings.h"
#include "device/compiler/tiles/kept_tiles.h"
#include "device/compiler/tiles/sbuf_lives.h"
#include "device/isa/dma/dma_copy.h"

namespace neuron_sim {
namespace {

/// How a tile is filled, when all of that happens before anything reads it.
struct Filling {
  int64_t contents = -1;               ///< equal for tiles of the same contents; -1: not known
  bool computes = false;               ///< not by loads alone
  TileId earlier = kNoTile;            ///< the tile that its readers may read instead
  std::vector<uint32_t> writers = {};  ///< instances
};

class InvariantTiles {
 public:
  explicit InvariantTiles(StraightLine& line)
      : line_(line),
        uses_(line),
        room_(line.architecture->limits.sbuf_usable.count - kDescriptorBytes),
        fillings_(line.tiles.size()),
        newest_(line.tiles.size(), kNoTile),
        readers_(line.tiles.size()),
        written_(line.tiles.size()),
        last_write_(line.tiles.size()),
        removed_(line.instructions.size()) {
    for (uint32_t i = 0; i < line.instructions.size(); ++i) {
      for (const StraightOperand& operand : line.operands_of(line.instructions[i])) {
        if (!operand.present()) continue;
        if (operand.reads()) ++readers_[index(operand.tile)];
        if (!operand.writes()) continue;
        written_[index(operand.tile)] = true;
        last_write_[index(operand.tile)] = i;
      }
    }
  }

  void run() {
    std::vector<TileId> order;
    for (size_t tile = 0; tile < line_.tiles.size(); ++tile) {
      const auto id = static_cast<TileId>(tile);
      if (is_on_chip(line_.tiles[tile]) && !uses_.of(id).empty()) order.push_back(id);
    }
    std::stable_sort(order.begin(), order.end(), [&](TileId a, TileId b) {
      return last_write_[index(a)] < last_write_[index(b)];
    });
    for (const TileId tile : order) {
      poll_interruption();
      compare(tile);
    }
    if (std::all_of(fillings_.begin(), fillings_.end(),
                    [](const Filling& filling) { return filling.earlier == kNoTile; })) {
      return;
    }
    lives_.emplace(line_, uses_);
    spills_ = lives_->bytes.largest(0, line_.instructions.size() - 1) > room_;
    // Readers first: a tile of which none is left needs no earlier one.
    for (auto tile = order.rbegin(); tile != order.rend(); ++tile) replace(*tile);
    remove_instances(line_, removed_);
  }

 private:
  static size_t index(TileId tile) { return static_cast<size_t>(tile); }
  uint32_t statement_of(const Filling& filling) const {
    return line_.instructions[filling.writers.front()].statement;
  }
  uint32_t first_use(TileId tile) const { return uses_.of(tile).front().instance; }

  /// Looks for an earlier tile of the same contents.
  void compare(TileId tile) {
    Filling& filling = fillings_[index(tile)];
    TileId& newest = newest_[index(line_.version_of[index(tile)])];
    ContentsKey key;
    if (!describe(tile, key, filling)) {
      filling.writers.clear();
      newest = tile;
      return;
    }
    const auto [entry, is_new] =
        known_.try_emplace(std::move(key), static_cast<int64_t>(known_.size()), tile);
    auto& [contents, earlier] = entry->second;
    filling.contents = contents;
    if (follows_other_core(filling)) newest = kNoTile;
    if (!is_new && newest_[index(line_.version_of[index(earlier)])] == earlier) {
      filling.earlier = earlier;
    } else {
      if (!is_new) bound_.insert(statement_of(filling));
      earlier = tile;
    }
    newest = earlier;
  }

  /// Whether the kernel filled the tile in between with what the other core computes.
  bool follows_other_core(const Filling& filling) const {
    return std::any_of(filling.writers.begin(), filling.writers.end(), [&](uint32_t writer) {
      return line_.instructions[writer].follows_other_core;
    });
  }

  /// Adds what fills the tile to its key; false when that is not known.
  bool describe(TileId tile, ContentsKey& key, Filling& filling) {
    if (line_.tiles[index(tile)].placed) return false;
    bool is_read = false;
    for (const TileUse& use : uses_.of(tile)) {
      const Direction direction = operand_at(line_, use).direction;
      if (direction == Direction::kRead) {
        is_read = true;
      } else if (is_read || use.operand != 0 || direction != Direction::kWrite ||
                 !describe_writer(use.instance, key, filling)) {
        return false;
      }
    }
    return !filling.writers.empty();
  }

  bool describe_writer(uint32_t writer, ContentsKey& key, Filling& filling) {
    const StraightInstruction& instance = line_.instructions[writer];
    const Instruction& instruction = instance.instruction;
    const Demand& demand = line_.demands[instruction.demand];
    if (demand.count == 0 || demand.steps[0].unit == Unit::kSequencer || is_meeting(instance)) {
      return false;
    }
    const bool loads = is_transfer(line_, instance);
    if (loads && (instruction.type != &kDmaCopy || conflicts_with_peer(line_, instance))) {
      return false;
    }
    if (!loads && reads_unknown(instance)) return false;
    const auto type = types_.try_emplace(instruction.type, static_cast<int64_t>(types_.size()));
    const int64_t place = instruction.source_line >= 0
                              ? int64_t{instruction.source_line}
                              : -1 - static_cast<int64_t>(instance.statement);
    key.insert(key.end(), {place, type.first->second, static_cast<int64_t>(instruction.engine)});
    for (const Attribute& attribute : line_.attributes_of(instance)) key.push_back(attribute.bits);
    const auto operands = line_.operands_of(instance);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].present() && !describe_operand(operands[i], i == 0, loads, key)) return false;
    }
    filling.computes = filling.computes || !loads;
    filling.writers.push_back(writer);
    return true;
  }

  /// Whether an instance reads a tile of contents that are not known, which most do: asked first,
  /// because a key takes memory.
  bool reads_unknown(const StraightInstruction& instance) const {
    const auto operands = line_.operands_of(instance);
    return std::any_of(operands.begin() + 1, operands.end(), [&](const StraightOperand& operand) {
      return operand.present() && fillings_[index(operand.tile)].contents < 0;
    });
  }

  bool describe_operand(const StraightOperand& operand, bool is_result, bool loads,
                        ContentsKey& key) {
    append(key, line_, operand);
    if (is_result) return true;
    const Operand& pattern = line_.pattern_of(operand);
    if (operand.direction != Direction::kRead || pattern.indirect || pattern.register_index >= 0) {
      return false;
    }
    if (loads) return operand.memory == MemoryKind::kHbm && !written_[index(operand.tile)];
    key.push_back(fillings_[index(operand.tile)].contents);
    return is_on_chip(line_.tile_of(operand)) && key.back() >= 0;
  }

  void replace(TileId tile) {
    const Filling& filling = fillings_[index(tile)];
    if (filling.earlier == kNoTile || !filling.computes || readers_[index(tile)] == 0 ||
        line_.tiles[index(tile)].memory != MemoryKind::kSbuf ||
        bound_.contains(statement_of(filling))) {
      return;
    }
    // An earlier tile whose own readers are gone is gone, too.
    if (removed_[fillings_[index(filling.earlier)].writers.front()]) return;
    std::vector<TileId> dead;
    const int64_t loaded = remove_writers(tile, dead);
    if (spills_ ? loaded >= line_.tiles[index(tile)].bytes * line_.tiles[index(tile)].partitions
                : keep_longer(filling.earlier, dead)) {
      for (const TileUse& use : uses_.of(tile)) {
        StraightOperand& operand = operand_at(line_, use);
        if (operand.direction == Direction::kRead) move_to_tile(line_, operand, filling.earlier);
      }
      readers_[index(filling.earlier)] += readers_[index(tile)];
    } else {
      restore_writers(dead);
    }
  }

  /// Removes what fills a tile, and tiles that nothing else reads; returns the bytes of the loads
  /// among that.
  int64_t remove_writers(TileId tile, std::vector<TileId>& dead) {
    int64_t loaded = 0;
    dead.push_back(tile);
    for (const uint32_t writer : fillings_[index(tile)].writers) {
      removed_[writer] = true;
      for (const StraightOperand& operand : line_.operands_of(line_.instructions[writer])) {
        if (!operand.present() || operand.writes()) continue;
        if (operand.memory == MemoryKind::kHbm) loaded += size_of(line_.region_of(operand));
        const bool was_last = --readers_[index(operand.tile)] == 0;
        if (was_last && is_on_chip(line_.tile_of(operand))) {
          loaded += remove_writers(operand.tile, dead);
        }
      }
    }
    return loaded;
  }

  void restore_writers(const std::vector<TileId>& dead) {
    for (const TileId tile : dead) {
      for (const uint32_t writer : fillings_[index(tile)].writers) {
        removed_[writer] = false;
        for (const StraightOperand& operand : line_.operands_of(line_.instructions[writer])) {
          if (operand.present() && !operand.writes()) ++readers_[index(operand.tile)];
        }
      }
    }
  }

  /// Lets an earlier tile live as long as the first of the `dead` ones; false without room.
  bool keep_longer(TileId earlier, const std::vector<TileId>& dead) {
    const uint32_t kept = lives_->last_use[index(earlier)];
    const uint32_t last = lives_->last_use[index(dead.front())];
    const auto change = [&](int64_t sign) {
      for (const TileId tile : dead) {
        const Tile& gone = line_.tiles[index(tile)];
        if (gone.memory != MemoryKind::kSbuf) continue;
        lives_->bytes.add(first_use(tile), lives_->last_use[index(tile)], -sign * gone.bytes);
      }
      if (last > kept) {
        lives_->bytes.add(kept + 1, last, sign * line_.tiles[index(earlier)].bytes);
      }
    };
    change(1);
    if (lives_->bytes.largest(std::min(kept + 1, last), last) > room_) {
      change(-1);
      return false;
    }
    lives_->last_use[index(earlier)] = std::max(kept, last);
    return true;
  }

  StraightLine& line_;
  const TileUses uses_;
  std::optional<SbufLives> lives_;  ///< once a tile has an earlier one
  const int64_t room_;
  bool spills_ = false;               ///< the line has no room in SBUF in its order
  std::vector<Filling> fillings_;     ///< per tile
  std::vector<TileId> newest_;        ///< per tile of the kernel: the one whose contents it has
  std::vector<uint32_t> readers_;     ///< per tile: operands that read it and are not removed
  std::vector<bool> written_;         ///< per tile: by any instance
  std::vector<uint32_t> last_write_;  ///< per tile: an instance
  /// Number of the contents, and the tile that holds them.
  std::unordered_map<ContentsKey, std::pair<int64_t, TileId>, ContentsHash> known_;
  std::set<uint32_t> bound_;  ///< statements that stay in their loops
  std::map<const InstructionType*, int64_t> types_;
  std::vector<bool> removed_;
};

}  // namespace

void keep_invariant_tiles(StraightLine& line) {
  if (!line.instructions.empty()) InvariantTiles(line).run();
}

}  // namespace neuron_sim
