#include <algorithm>
#include <optional>

#include "device/compiler/back_end/allocate.h"

#include "device/base/interruption.h"

namespace neuron_sim {
namespace {

constexpr int64_t kUnit = 64;  // tiles start at multiples of it

/// Space reserved for a large tile before the others are placed.
struct Reserved {
  int64_t begin, end;  ///< units
  Lifetime lifetime;

  bool meets(const Lifetime& other) const {
    return lifetime.first <= other.last && other.first <= lifetime.last;
  }
};

/// Units up to the next run that one tile had.
struct Run {
  int64_t begin;
  int64_t last;  ///< position of that tile; -1: none had them
};

/// Places for the tiles of a program, in units of SBUF.
class Rotation {
 public:
  Rotation(const StraightLine& line, const std::vector<Lifetime>& lives)
      : line_(line), lives_(lives), units_(line.architecture->limits.sbuf_usable.count / kUnit) {
    for (size_t i = 0; i < line.tiles.size(); ++i) {
      const Tile& tile = line.tiles[i];
      if (tile.memory != MemoryKind::kSbuf || !lives[i].used()) continue;
      if (!tile.placed) order_.push_back(i);
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return lives[a].first < lives[b].first; });
  }

  /// Addresses per tile when those of at least `large` units are placed first; empty when not all
  /// fit.
  std::optional<std::vector<int64_t>> places(int64_t large) {
    addresses_.assign(line_.tiles.size(), -1);
    if (!reserve(large)) return std::nullopt;
    runs_ = {{0, -1}};
    for (const size_t tile : order_) {
      poll_interruption();
      if (addresses_[tile] < 0) addresses_[tile] = oldest(tile);
      if (addresses_[tile] < 0) return std::nullopt;
      occupy(addresses_[tile], addresses_[tile] + units(tile), lives_[tile].last);
    }
    for (int64_t& address : addresses_) {
      if (address >= 0) address *= kUnit;
    }
    return addresses_;
  }

 private:
  int64_t units(size_t tile) const {
    return SlotAllocator::rounded(line_.tiles[tile].bytes) / kUnit;
  }

  /// Places the large tiles, the largest first, each as low as possible, clear of live ones.
  bool reserve(int64_t large) {
    reserved_.clear();
    for (size_t i = 0; i < line_.tiles.size(); ++i) {
      const Tile& tile = line_.tiles[i];
      if (tile.memory != MemoryKind::kSbuf || !tile.placed) continue;
      const auto end = static_cast<uint32_t>(line_.instructions.size());
      reserved_.push_back({tile.address / kUnit, tile.address / kUnit + units(i), {0, end}});
    }
    std::vector<size_t> tiles;
    std::copy_if(order_.begin(), order_.end(), std::back_inserter(tiles),
                 [&](size_t tile) { return units(tile) >= large; });
    std::stable_sort(tiles.begin(), tiles.end(),
                     [&](size_t a, size_t b) { return units(a) > units(b); });
    for (const size_t tile : tiles) {
      addresses_[tile] = lowest(tile);
      if (addresses_[tile] < 0) return false;
      reserved_.push_back({addresses_[tile], addresses_[tile] + units(tile), lives_[tile]});
    }
    return true;
  }

  /// The first unit of the lowest space clear of places reserved in the tile's live range, or -1.
  int64_t lowest(size_t tile) const {
    std::vector<std::pair<int64_t, int64_t>> taken;
    for (const Reserved& place : reserved_) {
      if (place.meets(lives_[tile])) taken.emplace_back(place.begin, place.end);
    }
    std::sort(taken.begin(), taken.end());
    int64_t unit = 0;
    for (const auto& [begin, end] : taken) {
      if (unit + units(tile) <= begin) break;
      unit = std::max(unit, end);
    }
    return unit + units(tile) <= units_ ? unit : -1;
  }

  /// First unit of the space that was freed first and that no place reserved in the tile's live
  /// range overlaps, or -1 if no space is large enough; ties go to the lowest address. Starts of
  /// runs and ends of reserved places suffice as candidates: any later start within a run covers
  /// the same runs or more.
  int64_t oldest(size_t tile) const {
    std::vector<std::pair<int64_t, int64_t>> reserved;
    for (const Reserved& place : reserved_) {
      if (place.meets(lives_[tile])) reserved.emplace_back(place.begin, place.end);
    }
    std::pair<int64_t, int64_t> best{lives_[tile].first, -1};  // last position, first unit
    const auto consider = [&](size_t run, int64_t begin) {
      const int64_t end = begin + units(tile);
      const bool clear = std::none_of(reserved.begin(), reserved.end(), [&](const auto& taken) {
        return taken.first < end && begin < taken.second;
      });
      if (!clear || end > units_) return;
      int64_t last = -1;
      for (; run < runs_.size() && runs_[run].begin < end && last <= best.first; ++run) {
        last = std::max(last, runs_[run].last);
      }
      if (last < best.first || (last == best.first && begin < best.second)) best = {last, begin};
    };
    for (size_t run = 0; run < runs_.size(); ++run) consider(run, runs_[run].begin);
    for (const auto& [begin, end] : reserved) {
      if (end < units_) consider(run_at(end), end);
    }
    return best.second;
  }

  /// The run that has a unit.
  size_t run_at(int64_t unit) const {
    const auto after = std::partition_point(runs_.begin(), runs_.end(),
                                            [&](const Run& run) { return run.begin <= unit; });
    return static_cast<size_t>(after - runs_.begin()) - 1;
  }

  /// Notes that a tile has those units until its last position.
  void occupy(int64_t begin, int64_t end, int64_t last) {
    const size_t before = run_at(begin), after = run_at(end - 1);
    std::vector<Run> now;
    if (runs_[before].begin < begin) now.push_back(runs_[before]);
    now.push_back({begin, last});
    const int64_t next = after + 1 < runs_.size() ? runs_[after + 1].begin : units_;
    if (end < next) now.push_back({end, runs_[after].last});
    const auto from = runs_.begin() + static_cast<std::ptrdiff_t>(before);
    const auto to = runs_.begin() + static_cast<std::ptrdiff_t>(after) + 1;
    runs_.insert(runs_.erase(from, to), now.begin(), now.end());
  }

  const StraightLine& line_;
  const std::vector<Lifetime>& lives_;
  const int64_t units_;
  std::vector<size_t> order_;  ///< tiles by their first positions
  std::vector<Reserved> reserved_;
  std::vector<Run> runs_;  ///< all units, in order
  std::vector<int64_t> addresses_;
};

}  // namespace

bool rotate_sbuf(StraightLine& line) {
  const std::vector<Lifetime> lives = lifetimes(line);
  Rotation rotation(line, lives);
  const int64_t units = line.architecture->limits.sbuf_usable.count / kUnit;
  for (int64_t large = units / 4; large > 0; large /= 4) {
    if (const auto addresses = rotation.places(large)) {
      move_tiles(line, *addresses);
      return true;
    }
  }
  return false;
}

}  // namespace neuron_sim
