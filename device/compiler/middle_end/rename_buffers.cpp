#include "device/compiler/middle_end/rename_buffers.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/compiler/tiles/tile_uses.h"

namespace neuron_sim {
namespace {

/// One use of a tile, with what versions depend on.
struct TileAccess {
  StraightOperand* operand = nullptr;
  uint32_t instance = 0;
  Direction direction{};
  Region region{};

  bool reads() const { return direction != Direction::kWrite; }
  bool writes() const { return direction != Direction::kRead; }
};

/// The uses of a tile in program order; within an instance reads come before writes.
void list_accesses(StraightLine& line, std::span<const TileUse> uses,
                   std::vector<TileAccess>& accesses) {
  accesses.clear();
  accesses.reserve(uses.size());
  for (const TileUse& use : uses) {
    StraightOperand& operand = operand_at(line, use);
    accesses.push_back({&operand, use.instance, operand.direction, line.region_of(operand)});
  }
  const auto before = [](const TileAccess& a, const TileAccess& b) {
    return std::pair(a.instance, !a.reads()) < std::pair(b.instance, !b.reads());
  };
  if (!std::is_sorted(accesses.begin(), accesses.end(), before)) {
    std::stable_sort(accesses.begin(), accesses.end(), before);
  }
}

/// A pending write: bytes that later reads may see.
struct Pending {
  Region region;
  int64_t high = 0;  ///< region.high()
  uint32_t web = 0;
  bool alone = true;  ///< no other pending write has bytes of it
};

/// Whether an access of a region can only see the last pending write: most accesses are of the
/// bytes that were written last.
bool meets_last_alone(const std::vector<Pending>& pending, const Region& region) {
  return !pending.empty() && pending.back().alone && pending.back().region == region;
}

/// Whether a read of a region, which ends at `high`, may see a pending write. Most writes of a tile
/// lie elsewhere: its ends decide that at once.
inline bool meets(const Pending& entry, const Region& region, int64_t high) {
  return entry.region.low < high && region.low < entry.high && overlap(entry.region, region);
}

/// Adds the parts of a contiguous region before and after the bytes of another.
void add_remainder(std::vector<Pending>& pending, const Pending& entry, const Region& hidden) {
  const auto add = [&](int64_t low, int64_t high) {
    if (low >= high) return;
    pending.push_back(entry);
    pending.back().region.low = low;
    pending.back().region.run = high - low;
    pending.back().high = high;
  };
  add(entry.region.low, hidden.low);
  add(hidden.high(), entry.high);
}

/// Adds a write, which hides the writes that it covers, and the covered part of a contiguous one,
/// so that a tile set as a whole and then written block by block is not held by its first value.
/// Returns one more than the newest web of the writes that it meets; 0 when it meets none.
uint32_t add_write(std::vector<Pending>& pending, const Region& region, uint32_t web) {
  if (region.exact && meets_last_alone(pending, region)) {
    return std::exchange(pending.back().web, web) + 1;
  }
  const int64_t high = region.high();
  uint32_t newest = 0;
  bool alone = true;
  std::vector<Pending> remainders;
  std::erase_if(pending, [&](const Pending& entry) {
    if (!meets(entry, region, high)) return false;
    newest = std::max(newest, entry.web + 1);
    if (covers(region, entry.region)) return true;
    const Region& old = entry.region;
    const bool cuts = region.exact && region.count == 1 && old.count == 1 &&
                      region.partition <= old.partition &&
                      old.partition + old.partitions <= region.partition + region.partitions;
    if (cuts) add_remainder(remainders, entry, region);
    alone = alone && cuts;
    return cuts;
  });
  for (Pending& entry : pending) {
    if (!alone && meets(entry, region, high)) entry.alone = false;
  }
  pending.insert(pending.end(), remainders.begin(), remainders.end());
  pending.push_back({region, high, web, alone});
  return newest;
}

/// The accesses of one tile, split into versions.
class Versions {
 public:
  explicit Versions(const std::vector<TileAccess>& accesses)
      : accesses_(accesses),
        parent_(accesses.size()),
        last_(accesses.size()),
        met_(accesses.size()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  /// Joins every read with the writes it may see, and every write with what its own instance
  /// reads of the same bytes.
  void join() {
    std::vector<Pending> pending;
    for (uint32_t i = 0; i < accesses_.size(); ++i) {
      const TileAccess& access = accesses_[i];
      if (access.reads() && meets_last_alone(pending, access.region)) {
        unite(pending.back().web, i);
      } else if (access.reads()) {
        const int64_t high = access.region.high();
        for (const Pending& entry : pending) {
          if (meets(entry, access.region, high)) unite(entry.web, i);
        }
      }
      if (!access.writes()) continue;
      for (uint32_t j = i; j-- > 0 && accesses_[j].instance == access.instance;) {
        if (overlap(accesses_[j].region, access.region)) unite(i, j);
      }
      met_[i] = add_write(pending, access.region, i);
    }
    for (uint32_t i = 0; i < accesses_.size(); ++i) last_[root(i)] = i;
  }

  /// Calls version(first, end) for each run of accesses that is one version, in order. One begins
  /// where bytes written since the last one are written again, and no value is read afterwards.
  template <typename Version>
  void each(Version&& version) {
    uint32_t first = 0, live_until = 0;
    for (uint32_t i = 0; i < accesses_.size(); ++i) {
      if (i > first && live_until < i && !accesses_[i].reads() && met_[i] > first) {
        version(first, i);
        first = i;
      }
      live_until = std::max(live_until, last_[root(i)]);
    }
    version(first, static_cast<uint32_t>(accesses_.size()));
  }

 private:
  uint32_t root(uint32_t access) {
    while (parent_[access] != access) {
      parent_[access] = parent_[parent_[access]];
      access = parent_[access];
    }
    return access;
  }
  void unite(uint32_t a, uint32_t b) { parent_[root(b)] = root(a); }

  const std::vector<TileAccess>& accesses_;
  std::vector<uint32_t> parent_;  ///< webs: writes and the reads that see them
  std::vector<uint32_t> last_;    ///< by root: last access of the web
  std::vector<uint32_t> met_;     ///< by write: what add_write() returned
};

/// Marks all tiles that share bytes with a fixed one; tiles far apart are compared once, in the
/// order of their addresses.
void fix_neighbours(StraightLine& line, const std::vector<bool>& fixed) {
  std::vector<size_t> order;
  for (size_t i = 0; i < line.tiles.size(); ++i) {
    if (is_on_chip(line.tiles[i])) order.push_back(i);
  }
  const auto key = [&](size_t i) { return std::pair(line.tiles[i].memory, line.tiles[i].address); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
  for (size_t at = 0; at < order.size(); ++at) {
    poll_interruption();
    const Tile& tile = line.tiles[order[at]];
    const int64_t end = tile.address + tile.bytes;
    for (size_t next = at + 1; next < order.size(); ++next) {
      const Tile& other = line.tiles[order[next]];
      if (other.memory != tile.memory || other.address >= end) break;
      if (fixed[order[at]]) line.tiles[order[next]].placed = true;
      if (fixed[order[next]]) line.tiles[order[at]].placed = true;
    }
  }
}

}  // namespace

void rename_buffers(StraightLine& line, const std::vector<TileId>& undefined, bool moves_all) {
  std::vector<bool> fixed(line.tiles.size()), whole(line.tiles.size());
  for (const TileId tile : undefined) {
    (moves_all ? whole : fixed)[static_cast<size_t>(tile)] = true;
  }
  for (size_t tile = 0; tile < fixed.size(); ++tile) {
    fixed[tile] = fixed[tile] || line.tiles[tile].placed;
    line.tiles[tile].placed = fixed[tile];
  }
  fix_neighbours(line, fixed);
  const TileUses uses(line);
  std::vector<TileAccess> accesses;  // of one tile
  for (size_t tile = 0; tile < fixed.size(); ++tile) {
    auto id = static_cast<TileId>(tile);
    if (line.tiles[tile].placed || whole[tile] || !is_on_chip(line.tiles[tile]) ||
        uses.of(id).empty())
      continue;
    list_accesses(line, uses.of(id), accesses);
    Versions versions(accesses);
    versions.join();
    versions.each([&](uint32_t first, uint32_t end) {
      if (first == 0) return;  // it keeps the tile
      id = add_version(line, static_cast<TileId>(tile));
      for (uint32_t i = first; i < end; ++i) accesses[i].operand->tile = id;
    });
  }
}

}  // namespace neuron_sim
