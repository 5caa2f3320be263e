#include "device/compiler/tiles/kept_tiles.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "device/base/hash.h"
#include "device/base/interruption.h"
#include "device/compiler/line/input_loads.h"
#include "device/compiler/tiles/live_bytes.h"

namespace neuron_sim {
namespace {

/// Tiles of the same contents for which the variables of some outer loops are equal.
struct Group {
  size_t contents = 0;
  std::array<int32_t, kMaximumLoopDepth> iteration{};  ///< 0 in the other loops
  bool operator==(const Group&) const = default;
};

struct GroupHash {
  size_t operator()(const Group& group) const {
    uint64_t hash = group.contents * kHashFactor;
    for (const int32_t variable : group.iteration) mix(hash, static_cast<uint32_t>(variable));
    return hash;
  }
};

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
    }
  }

  /// Lets the tiles live from where their loads are issued.
  void fill_in_time(const std::vector<FilledTile>& filled) {
    const IssuePositions issue(line_);
    for (const FilledTile& each : filled) {
      spans_[static_cast<size_t>(each.tile)].first = issue.of(each.instance);
    }
  }

  void run(const std::vector<FilledTile>& filled) {
    for (size_t tile = 0; tile < spans_.size(); ++tile) {
      const auto [first, last] = spans_[tile];
      if (line_.tiles[tile].memory != MemoryKind::kSbuf || first > last) continue;
      live_.add(first, last, line_.tiles[tile].bytes);
    }
    std::map<uint32_t, Tiles> statements;
    int depth = 1;
    for (const FilledTile& each : filled) {
      const StraightInstruction& instance = line_.instructions[each.instance];
      statements[instance.statement].push_back(&each);
      depth = std::max<int>(depth, line_.nest_of(instance).depth);
    }
    for (int prefix = depth - 1; prefix >= 0; --prefix) {
      Known all;  // tiles of any statement
      for (auto& [statement, tiles] : statements) {
        poll_interruption();
        Known own;
        tiles = keep(tiles, prefix, prefix == 0 ? all : own);
      }
    }
    for (StraightOperand& operand : line_.operands) {
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
  using Tiles = std::vector<const FilledTile*>;
  using Known = std::unordered_map<Group, const FilledTile*, GroupHash>;

  /// Lets tiles with the same contents whose first `prefix` loop variables are equal be one, as far
  /// as SBUF holds them. Returns those that remain, in the order of their loads.
  Tiles keep(const Tiles& tiles, int prefix, Known& known) {
    std::unordered_map<Group, size_t, GroupHash> numbers;
    std::vector<std::pair<Group, Tiles>> groups;  // in the order of their first loads
    for (const FilledTile* filled : tiles) {
      Group group{.contents = filled->contents};
      const auto& iteration = line_.nest_of(line_.instructions[filled->instance]).iteration;
      std::copy_n(iteration.begin(), prefix, group.iteration.begin());
      const auto [number, fresh] = numbers.try_emplace(group, groups.size());
      if (fresh) groups.emplace_back(group, Tiles{});
      groups[number->second].second.push_back(filled);
    }
    Tiles rest;
    for (const auto& [group, members] : groups) {
      const FilledTile*& holder = known.try_emplace(group, members.front()).first->second;
      if (join(members, holder)) {
        rest.push_back(holder);
      } else {
        rest.insert(rest.end(), members.begin(), members.end());
      }
    }
    std::sort(rest.begin(), rest.end(),
              [](const FilledTile* a, const FilledTile* b) { return a->instance < b->instance; });
    return rest;
  }

  /// Lets tiles be one with `holder`, or with the one of them that is loaded before; none of them
  /// when SBUF cannot hold it as long.
  bool join(const Tiles& tiles, const FilledTile*& holder) {
    const FilledTile* before = holder;
    std::vector<Replaced> replaced;
    for (const FilledTile* filled : tiles) {
      if (filled == holder) continue;
      // The statement that comes first may fill a tile later: loops run both in turn.
      const FilledTile* later = filled;
      if (later->instance < holder->instance) std::swap(later, holder);
      if (share(*later, holder->tile, replaced)) continue;
      for (auto undone = replaced.rbegin(); undone != replaced.rend(); ++undone) undo(*undone);
      holder = before;
      return false;
    }
    for (const Replaced& each : replaced) removed_[each.filled->instance] = true;
    return true;
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

size_t ContentsHash::operator()(const ContentsKey& key) const {
  uint64_t hash = key.size();
  for (const int64_t value : key) mix(hash, static_cast<uint64_t>(value));
  return hash;
}

void append(ContentsKey& key, const StraightLine& line, const StraightOperand& operand) {
  const Tile& tile = line.tile_of(operand);
  const bool on_chip = operand.memory != MemoryKind::kHbm;
  key.insert(key.end(), {operand.pattern, operand.start_partition,
                         on_chip ? operand.offset - tile.address : operand.offset});
  if (!on_chip) {
    key.push_back(operand.tile);
    return;
  }
  key.insert(key.end(),
             {static_cast<int64_t>(tile.dtype), tile.bytes, tile.partitions, tile.start_partition});
}

void keep_tiles(StraightLine& line, const TileUses& uses, const std::vector<FilledTile>& filled,
                int64_t room, bool loads_in_time) {
  KeptTiles kept(line, uses, room);
  if (loads_in_time) kept.fill_in_time(filled);
  kept.run(filled);
}

}  // namespace neuron_sim
