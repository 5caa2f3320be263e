#include "device/compiler/line/kept_tiles.h"

#include <algorithm>

#include "device/base/interruption.h"
#include "device/compiler/line/live_bytes.h"

namespace neuron_sim {
namespace {

class KeptTiles {
 public:
  KeptTiles(StraightLine& line, const TileUses& uses, int64_t room)
      : line_(line),
        live_(line.instructions.size()),
        room_(room),
        removed_(line.instructions.size()) {
    for (size_t tile = 0; tile < line.tiles.size(); ++tile) {
      const std::span<const TileUse> all = uses.of(static_cast<TileId>(tile));
      spans_.push_back(all.empty() ? Span{1, 0} : Span{all.front().instance, all.back().instance});
      holder_.push_back(static_cast<TileId>(tile));
      if (line.tiles[tile].memory != MemoryKind::kSbuf || all.empty()) continue;
      live_.add(spans_[tile].first, spans_[tile].last, line.tiles[tile].bytes);
    }
  }

  void run(const std::vector<FilledTile>& filled) {
    std::map<uint32_t, std::vector<FilledTile>> statements;
    for (const FilledTile& each : filled) {
      statements[line_.instructions[each.instance].statement].push_back(each);
    }
    Known all;  // tiles of any statement
    for (const auto& [statement, tiles] : statements) {
      poll_interruption();
      const int depth = line_.nest_of(line_.instructions[tiles.front().instance]).depth;
      bool done = keep(tiles, 0, all);
      for (int prefix = 0; !done && prefix < depth; ++prefix) {
        Known own;
        done = keep(tiles, prefix, own);
      }
    }
    for (Operand& operand : line_.operands) {
      if (!operand.present()) continue;
      TileId tile = operand.tile;
      while (holder_[static_cast<size_t>(tile)] != tile) tile = holder_[static_cast<size_t>(tile)];
      if (tile != operand.tile) move_to_tile(line_, operand, tile);
    }
    remove_instances(line_, removed_);
  }

 private:
  struct Span {
    uint32_t first, last;
  };
  /// A tile that an earlier one replaces, and the previous span of that one.
  struct Replaced {
    const FilledTile* filled;
    TileId holder;
    Span before;
  };
  using Known = std::map<ContentsKey, const FilledTile*>;

  /// Lets tiles whose first `prefix` loop variables are equal be one; none when SBUF cannot hold
  /// them all.
  bool keep(const std::vector<FilledTile>& tiles, int prefix, Known& known) {
    const Known before = known;
    std::vector<Replaced> replaced;
    for (const FilledTile& filled : tiles) {
      ContentsKey key = filled.key;
      const auto& iteration = line_.nest_of(line_.instructions[filled.instance]).iteration;
      key.insert(key.end(), iteration.begin(), iteration.begin() + prefix);
      const auto [entry, fresh] = known.try_emplace(key, &filled);
      if (fresh) continue;
      // The statement that comes first may fill a tile later: loops run both in turn.
      const FilledTile* later = &filled;
      if (later->instance < entry->second->instance) std::swap(later, entry->second);
      if (share(*later, entry->second->tile, replaced)) continue;
      for (auto undone = replaced.rbegin(); undone != replaced.rend(); ++undone) undo(*undone);
      known = before;
      return false;
    }
    for (const Replaced& entry : replaced) {
      removed_[entry.filled->instance] = true;
    }
    return !replaced.empty();
  }

  bool share(const FilledTile& filled, TileId holder, std::vector<Replaced>& replaced) {
    Span& kept = spans_[static_cast<size_t>(holder)];
    const Span& joined = spans_[static_cast<size_t>(filled.tile)];
    const int64_t bytes = line_.tiles[static_cast<size_t>(holder)].bytes;
    replaced.push_back({&filled, holder, kept});
    holder_[static_cast<size_t>(filled.tile)] = holder;
    // Both tiles count where they overlap: the excess is subtracted.
    live_.add(joined.first, joined.last, -bytes);
    if (joined.last > kept.last) {
      live_.add(kept.last + 1, joined.last, bytes);
      kept.last = joined.last;
    }
    return live_.largest(replaced.back().before.last + 1, kept.last) <= room_;
  }

  void undo(const Replaced& entry) {
    Span& kept = spans_[static_cast<size_t>(entry.holder)];
    const Span& joined = spans_[static_cast<size_t>(entry.filled->tile)];
    const int64_t bytes = line_.tiles[static_cast<size_t>(entry.holder)].bytes;
    if (kept.last > entry.before.last) live_.add(entry.before.last + 1, kept.last, -bytes);
    live_.add(joined.first, joined.last, bytes);
    kept = entry.before;
    holder_[static_cast<size_t>(entry.filled->tile)] = entry.filled->tile;
  }

  StraightLine& line_;
  LiveBytes live_;
  int64_t room_;
  std::vector<Span> spans_;     ///< per tile: first and last instance that use it
  std::vector<TileId> holder_;  ///< per tile: the one that replaces it
  std::vector<bool> removed_;
};

}  // namespace

void append(ContentsKey& key, const Operand& operand, const Tile& tile) {
  const bool on_chip = operand.memory != MemoryKind::kHbm;
  key.insert(key.end(), {static_cast<int64_t>(operand.dtype), operand.partitions,
                         operand.partition_stride, operand.rank, operand.start_partition,
                         on_chip ? operand.offset - tile.address : operand.offset});
  for (size_t i = 0; i < static_cast<size_t>(operand.rank); ++i) {
    key.insert(key.end(), {operand.free[i].size, operand.free[i].stride});
  }
  if (!on_chip) {
    key.push_back(operand.tile);
    return;
  }
  key.insert(key.end(),
             {static_cast<int64_t>(tile.dtype), tile.bytes, tile.partitions, tile.start_partition});
}

bool fills_alone(const StraightLine& line, const TileUses& uses, TileId tile, uint32_t instance) {
  const std::span<const TileUse> all = uses.of(tile);
  const auto reads = [&](const TileUse& use) {
    return operand_at(line, use).direction == Direction::kRead;
  };
  return !line.tiles[static_cast<size_t>(tile)].placed && all.front().instance == instance &&
         std::all_of(all.begin() + 1, all.end(), reads);
}

void keep_tiles(StraightLine& line, const TileUses& uses, const std::vector<FilledTile>& filled,
                int64_t room) {
  KeptTiles(line, uses, room).run(filled);
}

}  // namespace neuron_sim
